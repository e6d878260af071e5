import { useLingui } from '@lingui/react/macro';
import { Check, Clock, MailOpen, RotateCcw, UserRound } from 'lucide-react';
import { useRef } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { useWrite } from '#console/api/queries.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { shortTimeOf } from '#console/lib/format.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { useChange } from './change.ts';
import { AssignMenu, SnoozeMenu } from './conversation-menus.tsx';
import { type Conversation, REFRESH } from './conversations.ts';
import { useColleagues, useUserId } from './team.ts';

/** Assigns, snoozes, closes or opens a conversation. */
export function ConversationActions({
  conversation: { address, status, snoozedUntil, assigneeId, lastInboundAt },
  onUnread,
  onDone,
}: {
  conversation: Conversation;
  /** Called when it is to be read again later. */
  onUnread: () => void;
  /** Called when it is closed or snoozed. */
  onDone: () => void;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const change = useChange();
  const assign = useRef<HTMLButtonElement>(null);
  const snooze = useRef<HTMLButtonElement>(null);
  const assignee = useColleagues().find(({ userId }) => userId === assigneeId)?.name;
  const userId = useUserId();
  const unread = useWrite('DELETE /api/conversations/{address}/read', { refresh: REFRESH });
  const markUnread = (): void =>
    unread.mutate(
      { params: { address } },
      { onSuccess: () => toast(t`Marked as unread`), whileShown: onUnread, onError: toastError },
    );
  const isOpen = status === 'open';
  const toggle = (): void =>
    isOpen
      ? change(address, { status: 'closed' }, t`Closed`, { undo: { status: 'open' }, onDone })
      : change(address, { status: 'open' }, t`Opened again`);
  const snoozedTime = snoozedUntil === null ? null : shortTimeOf(snoozedUntil, zone);
  useShortcuts({
    c: toggle,
    i: () => assign.current?.click(),
    s: () => snooze.current?.click(),
    u: () => userId !== null && lastInboundAt !== null && markUnread(),
    m: () =>
      userId !== null &&
      change(address, { assigneeId: userId }, t`Assigned to you`, { undo: { assigneeId } }),
  });
  return (
    <div role="group" aria-label={t`Conversation`} className="flex flex-wrap items-center gap-1.5">
      <AssignMenu
        assigneeId={assigneeId}
        choose={(next, done) => change(address, next, done)}
        trigger={
          <Button small ref={assign} title="i" icon={<UserRound className="size-3.5" aria-hidden="true" />}>
            {assigneeId === null ? t`Assign` : (assignee ?? t`Assigned`)}
          </Button>
        }
      />
      <SnoozeMenu
        choose={(next, done) => change(address, next, done, { undo: { status: 'open' }, onDone })}
        trigger={
          <Button small ref={snooze} title="s" icon={<Clock className="size-3.5" aria-hidden="true" />}>
            {snoozedTime === null ? t`Snooze` : t`Until ${snoozedTime}`}
          </Button>
        }
      />
      {userId !== null && lastInboundAt !== null && (
        <IconButton label={t`Mark as unread`} title="u" onClick={markUnread}>
          <MailOpen className="size-4" aria-hidden="true" />
        </IconButton>
      )}
      <Button
        small
        title="c"
        onClick={toggle}
        icon={
          isOpen ? (
            <Check className="size-3.5" aria-hidden="true" />
          ) : (
            <RotateCcw className="size-3.5" aria-hidden="true" />
          )
        }
      >
        {isOpen ? t`Close` : t`Open again`}
      </Button>
    </div>
  );
}
