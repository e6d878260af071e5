import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { request } from '#console/api/client.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { BulkBar } from '#console/components/bulk-bar.tsx';
import { Button } from '#console/components/button.tsx';
import { changeMany } from '#console/lib/bulk-change.ts';
import { AssignMenu, SnoozeMenu } from './conversation-menus.tsx';
import { REFRESH } from './conversations.ts';
import { useUserId } from './team.ts';

type Change = RequestTo<'POST /api/conversations/bulk'>['body']['change'];

/** What is done with all selected conversations. */
export default function ConversationsBar({
  selected,
  clear,
}: {
  selected: ReadonlySet<string>;
  clear: () => void;
}) {
  const { t } = useLingui();
  const userId = useUserId();
  const [busy, setBusy] = useState(false);
  const count = selected.size;
  const act = async (change: Change, done: string): Promise<void> => {
    setBusy(true);
    if (await changeAll([...selected], change, done)) clear();
    setBusy(false);
  };
  return (
    <BulkBar label={t`Selected conversations`} count={<Trans>{count} selected</Trans>} clear={clear}>
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
    </BulkBar>
  );
}

/** Makes one change to several conversations, which can be undone. @returns whether it was made. */
const changeAll = (addresses: readonly string[], change: Change, done: string): Promise<boolean> =>
  changeMany({
    change: () => request('POST /api/conversations/bulk', { body: { addresses: [...addresses], change } }),
    undo: (id) => request('POST /api/conversations/bulk/{id}/undo', { params: { id } }),
    done,
    undone: (changed) => t`Undone: ${changed}`,
    describe({ skipped }) {
      const left = skipped.filter(({ reason }) => reason !== 'unchanged').length;
      return left > 0 ? t`Left as they were: ${left}` : '';
    },
    refresh: REFRESH,
  });
