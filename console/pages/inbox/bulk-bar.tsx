import { Trans, useLingui } from '@lingui/react/macro';
import { X } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '#console/components/button.tsx';
import { type BulkChange, changeAll } from './change.ts';
import { AssignMenu, SnoozeMenu } from './conversation-menus.tsx';
import { useUserId } from './team.ts';

/** What is done with all selected conversations. */
export default function BulkBar({ selected, clear }: { selected: ReadonlySet<string>; clear: () => void }) {
  const { t } = useLingui();
  const userId = useUserId();
  const [busy, setBusy] = useState(false);
  const count = selected.size;
  const act = async (change: BulkChange, done: string): Promise<void> => {
    setBusy(true);
    if (await changeAll([...selected], change, done)) clear();
    setBusy(false);
  };
  return (
    <div
      role="group"
      aria-label={t`Selected conversations`}
      className="flex shrink-0 flex-wrap items-center gap-1.5 border-b border-line bg-accent-soft p-2"
    >
      <span role="status" className="mr-auto font-medium">
        <Trans>{count} selected</Trans>
      </span>
      <IconButton label={t`Clear the selection`} onClick={clear}>
        <X className="size-4" aria-hidden="true" />
      </IconButton>
      <div className="flex w-full flex-wrap gap-1.5">
        <Button small busy={busy} onClick={() => void act({ status: 'closed' }, t`Closed`)}>
          <Trans>Close</Trans>
        </Button>
        <SnoozeMenu
          choose={(change, done) => void act(change, done)}
          trigger={
            <Button small disabled={busy}>
              <Trans>Snooze</Trans>
            </Button>
          }
        />
        <AssignMenu
          choose={(change, done) => void act(change, done)}
          trigger={
            <Button small disabled={busy}>
              <Trans>Assign</Trans>
            </Button>
          }
        />
        {userId !== null && (
          <Button small disabled={busy} onClick={() => void act({ read: true }, t`Marked as read`)}>
            <Trans>Mark as read</Trans>
          </Button>
        )}
      </div>
    </div>
  );
}
