import { Trans, useLingui } from '@lingui/react/macro';
import { CornerUpLeft, MoreHorizontal, Pencil, Undo2 } from 'lucide-react';
import type { ReactNode, RefObject } from 'react';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { IconButton } from '#console/components/button.tsx';
import { classes } from '#console/components/class-names.ts';
import { Menu } from '#console/components/menu.tsx';
import { EFFECTS } from '#console/lib/effects.ts';
import { shortTimeOf } from '#console/lib/format.ts';
import { signOf, type Tapback, TAPBACKS } from '#console/lib/reactions.ts';

export type PhoneMessage = ResponseOf<'GET /api/conversations/{address}'>['messages'][number];

/** What the person does with a message. */
export interface PhoneActs {
  react: (item: PhoneMessage, reaction: Tapback, remove: boolean) => void;
  answer: (item: PhoneMessage) => void;
  edit: (item: PhoneMessage) => void;
  unsend: (item: PhoneMessage) => void;
}

/** What a message says, on the phone of the contact. */
export function Said({ item, workspaceName }: { item: PhoneMessage; workspaceName: string }) {
  if (item.unsentAt === null) return item.message || item.attachments.map(({ name }) => name).join(', ');
  return item.direction === 'in' ? (
    <Trans>You unsent a message</Trans>
  ) : (
    <Trans>{workspaceName} unsent a message</Trans>
  );
}

/** A message on the phone of a contact, with what both sides did with it. */
export function PhoneBubble({
  item,
  answered,
  workspaceName,
  capabilities,
  acts,
  focusAfter,
  receipt,
}: {
  item: PhoneMessage;
  /** The message that it answers; undefined: none, or it is not loaded. */
  answered: PhoneMessage | undefined;
  workspaceName: string;
  /** Of the line of the message. */
  capabilities: readonly string[];
  acts: PhoneActs;
  /** What gets the focus after something was done. */
  focusAfter: RefObject<HTMLElement | null>;
  /** Of a message of the contact: what has become of it. */
  receipt: ReactNode;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { direction, at, readAt, editedAt, unsentAt, effect } = item;
  const isMine = direction === 'in';
  const isThere = unsentAt === null;
  const effectName = effect !== null && isThere ? t(EFFECTS[effect]) : null;
  const reactions = isThere ? item.reactions.filter(({ status }) => status === 'sent') : [];
  return (
    <div
      className={classes(
        'group/item flex max-w-[85%] flex-col',
        isMine ? 'items-end self-end' : 'self-start',
      )}
    >
      {answered && isThere && (
        <p className="mb-0.5 flex max-w-full items-center gap-1 rounded-xl border border-line px-2 py-0.5 text-xs text-muted">
          <CornerUpLeft className="size-3 shrink-0" aria-hidden="true" />
          <span className="sr-only">
            <Trans>Answers</Trans>
          </span>
          <span className="truncate">
            <Said item={answered} workspaceName={workspaceName} />
          </span>
        </p>
      )}
      <div className={classes('flex max-w-full items-center gap-0.5', isMine && 'flex-row-reverse')}>
        <p
          className={classes(
            'min-w-0 rounded-2xl px-3 py-1.5 break-words whitespace-pre-wrap',
            !isThere && 'border border-dashed border-edge text-muted italic',
            isThere && isMine && 'rounded-br-md bg-bubble text-white',
            isThere && !isMine && 'rounded-bl-md bg-hover',
          )}
        >
          <Said item={item} workspaceName={workspaceName} />
        </p>
        {isThere && <ActMenu item={item} capabilities={capabilities} acts={acts} focusAfter={focusAfter} />}
      </div>
      {reactions.length > 0 && (
        <ul aria-label={t`Reactions on the phone`} className="z-1 -mt-1.5 flex flex-wrap gap-1 px-2">
          {reactions.map(({ by, from, reaction, emoji }) => (
            <li
              key={`${by}${from}${reaction}${emoji ?? ''}`}
              className="flex items-center gap-1 rounded-full border border-line bg-raised px-1.5 text-xs text-muted shadow-card"
            >
              {signOf({ reaction, emoji })}
              <span className="max-w-28 truncate">{by === 'us' ? workspaceName : t`You`}</span>
            </li>
          ))}
        </ul>
      )}
      <span className="flex flex-wrap gap-x-1 px-1 text-xs text-muted">
        {shortTimeOf(at, zone)}
        {editedAt !== null && isThere && (
          <span>
            · <Trans>Edited</Trans>
          </span>
        )}
        {effectName !== null && <span>· {t`Sent with ${effectName}`}</span>}
        {!isMine && readAt !== null && (
          <span>
            · <Trans>read</Trans>
          </span>
        )}
        {receipt && <span>· {receipt}</span>}
      </span>
    </div>
  );
}

/** What a phone offers when one holds a message. */
function ActMenu({
  item,
  capabilities,
  acts,
  focusAfter,
}: Pick<Parameters<typeof PhoneBubble>[0], 'item' | 'capabilities' | 'acts' | 'focusAfter'>) {
  const { t } = useLingui();
  const isMine = item.direction === 'in';
  const own = item.reactions.find(({ by }) => by === 'contact')?.reaction;
  const icon = 'size-4';
  const items = [
    ...(capabilities.includes('replies')
      ? [
          {
            label: t`Answer this message`,
            icon: <CornerUpLeft className={icon} aria-hidden="true" />,
            onSelect: () => acts.answer(item),
          },
        ]
      : []),
    ...(isMine && item.message !== '' && capabilities.includes('edit')
      ? [
          {
            label: t`Edit`,
            icon: <Pencil className={icon} aria-hidden="true" />,
            onSelect: () => acts.edit(item),
          },
        ]
      : []),
    ...(isMine && capabilities.includes('unsend')
      ? [
          {
            label: t`Unsend`,
            icon: <Undo2 className={icon} aria-hidden="true" />,
            onSelect: () => acts.unsend(item),
          },
        ]
      : []),
  ];
  const groups = [
    ...(isMine
      ? []
      : [
          {
            title: t`React`,
            items: TAPBACKS.map(({ reaction, sign, name }) => ({
              label: t(name),
              icon: <span aria-hidden="true">{sign}</span>,
              checked: own === reaction,
              onSelect: () => acts.react(item, reaction, own === reaction),
            })),
          },
        ]),
    ...(items.length > 0 ? [{ items }] : []),
  ];
  if (groups.length === 0) return null;
  return (
    <Menu
      focusAfter={focusAfter}
      trigger={
        <IconButton
          label={t`Hold this message`}
          className="size-6 shrink-0 opacity-0 group-hover/item:opacity-100 focus-visible:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
        >
          <MoreHorizontal className="size-4" aria-hidden="true" />
        </IconButton>
      }
      groups={groups}
    />
  );
}
