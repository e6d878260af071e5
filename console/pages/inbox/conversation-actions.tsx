import { useLingui } from '@lingui/react/macro';
import { Check, Clock, RotateCcw, UserRound } from 'lucide-react';
import { useRef } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { shortTimeOf } from '#console/lib/format.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { useChange } from './change.ts';
import { AssignMenu, SnoozeMenu } from './conversation-menus.tsx';
import type { Conversation } from './conversations.ts';
import { useColleagues } from './team.ts';

/** Assigns, snoozes, closes or opens a conversation. */
export function ConversationActions({
  conversation: { address, status, snoozedUntil, assigneeId },
}: {
  conversation: Conversation;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const change = useChange();
  const assign = useRef<HTMLButtonElement>(null);
  const snooze = useRef<HTMLButtonElement>(null);
  const assignee = useColleagues().find(({ userId }) => userId === assigneeId)?.name;
  const isOpen = status === 'open';
  const toggle = (): void =>
    isOpen
      ? change(address, { status: 'closed' }, t`Closed`, { status: 'open' })
      : change(address, { status: 'open' }, t`Opened again`);
  const snoozedTime = snoozedUntil === null ? null : shortTimeOf(snoozedUntil, zone);
  useShortcuts({
    c: toggle,
    i: () => assign.current?.click(),
    s: () => snooze.current?.click(),
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
        choose={(next, done) => change(address, next, done, { status: 'open' })}
        trigger={
          <Button small ref={snooze} title="s" icon={<Clock className="size-3.5" aria-hidden="true" />}>
            {snoozedTime === null ? t`Snooze` : t`Until ${snoozedTime}`}
          </Button>
        }
      />
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
