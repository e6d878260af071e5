import { useLingui } from '@lingui/react/macro';
import { CornerUpLeft, MoreHorizontal, Pencil, RotateCcw, Undo2 } from 'lucide-react';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { IconButton } from '#console/components/button.tsx';
import { loadMenu, Menu } from '#console/components/menu.tsx';
import { toastError } from '#console/components/toast.tsx';
import { TAPBACKS } from '#console/lib/reactions.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { type Contact, recipientOf, REFRESH, type ThreadItem } from './conversations.ts';
import { sendAfterUndo, toastWithUndo } from './send-with-undo.ts';

const MessageDialogs = lazy(() => import('./message-dialogs.tsx'));

/** What iMessage allows, counted from when it was sent. */
const EDIT_MS = 15 * 60_000;
const UNSEND_MS = 2 * 60_000;

/** What can be done with a message, as far as its line can: nothing is shown that would be refused. */
export function MessageMenu({
  item,
  contact,
  capabilities,
  takesKey,
  onReply,
}: {
  item: ThreadItem;
  contact: Contact;
  /** Of the line of the message. */
  capabilities: readonly string[];
  /** Whether the keys of reactions and replies are for this message. */
  takesKey: boolean;
  /** Has the reply answer it. @returns its field. Absent: the line cannot show that. */
  onReply: (() => HTMLElement | null) | undefined;
}) {
  const { t } = useLingui();
  const button = useRef<HTMLButtonElement>(null);
  /** undefined: it has asked nothing yet. */
  const [asks, setAsks] = useState<'edit' | 'unsend' | null>();
  const react = useWrite('POST /api/messages/{id}/reactions', { refresh: REFRESH });
  const send = useWrite('POST /api/inbox/send-reply', { refresh: REFRESH });
  const { messageId, direction, status, unsentAt, message, at } = item;
  const params = { id: messageId };
  const ageMs = workspaceNow().getTime() - Date.parse(at);
  const isThere = unsentAt === null && (direction === 'in' || status === 'sent' || status === 'delivered');
  const isOurs = isThere && direction === 'out';
  const canReact = isThere && capabilities.includes('reactions');
  const canEdit =
    message !== '' &&
    (status === 'scheduled' ||
      status === 'pending' ||
      (isOurs && capabilities.includes('edit') && ageMs < EDIT_MS));
  const canUnsend = isOurs && capabilities.includes('unsend') && ageMs < UNSEND_MS;
  const canTryAgain = direction === 'out' && status === 'failed' && message !== '';
  const hasKey = takesKey && canReact;
  useShortcuts(hasKey ? { t: () => button.current?.click() } : {});
  useEffect(() => {
    if (hasKey) void loadMenu();
  }, [hasKey]);
  const reply = isThere ? onReply : undefined;
  useShortcuts(takesKey && reply ? { q: () => reply()?.focus() } : {});
  /** What gets the focus once the menu is closed. */
  const goesOn = useRef<HTMLElement>(null);
  if (!canReact && !canEdit && !canUnsend && !canTryAgain && !reply) return null;

  const own = item.reactions.find(({ by }) => by === 'us')?.reaction;
  const tryAgain = (): void => {
    const { address } = contact;
    send.mutate(
      {
        body: {
          ...recipientOf(address),
          message,
          scheduledDate: sendAfterUndo(),
        },
      },
      { onSuccess: ({ _id }) => toastWithUndo(_id, undefined), onError: toastError },
    );
  };
  const icon = 'size-4';
  const others = [
    ...(reply
      ? [
          {
            label: t`Reply to this message`,
            icon: <CornerUpLeft className={icon} aria-hidden="true" />,
            onSelect: () => {
              goesOn.current = reply();
            },
          },
        ]
      : []),
    ...(canTryAgain
      ? [
          {
            label: t`Try again`,
            icon: <RotateCcw className={icon} aria-hidden="true" />,
            onSelect: tryAgain,
          },
        ]
      : []),
    ...(canEdit
      ? [
          {
            label: t`Edit`,
            icon: <Pencil className={icon} aria-hidden="true" />,
            onSelect: () => setAsks('edit'),
          },
        ]
      : []),
    ...(canUnsend
      ? [
          {
            label: t`Take back`,
            icon: <Undo2 className={icon} aria-hidden="true" />,
            onSelect: () => setAsks('unsend'),
          },
        ]
      : []),
  ];
  return (
    <>
      {/* Before an item is chosen, which may say otherwise. */}
      <span
        className="contents"
        onClickCapture={() => {
          goesOn.current = button.current;
        }}
      >
        <Menu
          focusAfter={goesOn}
          trigger={
            <IconButton
              ref={button}
              label={t`Act on this message`}
              className="size-6 shrink-0 self-center opacity-0 group-hover/item:opacity-100 focus-visible:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
            >
              <MoreHorizontal className="size-4" aria-hidden="true" />
            </IconButton>
          }
          groups={[
            ...(canReact
              ? [
                  {
                    title: t`React`,
                    items: TAPBACKS.map(({ reaction, sign, name }) => ({
                      label: t(name),
                      icon: <span aria-hidden="true">{sign}</span>,
                      checked: own === reaction,
                      onSelect: () =>
                        react.mutate(
                          { params, body: { reaction, ...(own === reaction && { remove: true }) } },
                          { onError: toastError },
                        ),
                    })),
                  },
                ]
              : []),
            ...(reply || canTryAgain || canEdit || canUnsend ? [{ items: others }] : []),
          ]}
        />
      </span>
      {asks !== undefined && (
        <Suspense fallback={null}>
          <MessageDialogs asks={asks} messageId={messageId} message={message} close={() => setAsks(null)} />
        </Suspense>
      )}
    </>
  );
}
