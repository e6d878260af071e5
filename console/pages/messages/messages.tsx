import { t } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { MessageSquare } from 'lucide-react';
import { useMemo } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Page } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { addressName, fullTimeOf, relativeTimeOf, shortTimeOf } from '#console/lib/format.ts';
import { CHANNELS, type Line, lineName } from '#console/lib/line.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { Filters, useFilters } from './filters.tsx';
import { addressOf, isWaiting, type Listed, type Message, reasonOf } from './message.ts';
import { MessageDrawer } from './message-drawer.tsx';

export default function Messages() {
  const { t } = useLingui();
  const filters = useFilters();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines;
  const messages = useReadPages(
    'GET /api/messages',
    { query: filters.query },
    { refetchInterval: useLiveInterval(), keep: true },
  );
  const [selected, select] = useSearchParam('message');
  const rows = useMemo(() => messages.data?.pages.flatMap((page) => page.messages), [messages.data]);
  const columns = useMemo(() => columnsWith(lines ?? []), [lines]);
  return (
    <Page title={t`Messages`} description={t`What has been sent, and what waits to be sent`} fill>
      <Filters filters={filters} lines={lines ?? []} />
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        <ReadTable
          label={t`Messages`}
          columns={columns}
          read={messages}
          rows={rows}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => select(_id)}
          empty={<Empty filtered={filters.isSet} />}
        />
      </div>
      <MessageDrawer id={selected} lines={lines ?? []} close={() => select('')} />
    </Page>
  );
}

const Empty = ({ filtered }: { filtered: boolean }) => (
  <EmptyState
    icon={<MessageSquare className="size-5" aria-hidden="true" />}
    title={filtered ? t`No message matches` : t`Nothing has been sent yet`}
  >
    {filtered
      ? t`Change or clear the filters to see other messages.`
      : t`Messages of campaigns, the inbox and the API appear here once they are sent. The status shows those that wait.`}
  </EmptyState>
);

function columnsWith(lines: readonly Line[]): readonly Column<Listed>[] {
  const names = new Map(lines.map((line) => [line._id, lineName(line)]));
  return [
    {
      header: t`Message`,
      width: 'minmax(0, 3fr)',
      cell: (message) => (
        <>
          <p className="truncate font-medium">
            {message.contactName ?? addressName(addressOf(message))}
            {message.contactName !== null && (
              <span className="ml-2 font-normal text-muted">{addressName(addressOf(message))}</span>
            )}
          </p>
          <p className="truncate text-muted">{message.subject ?? message.message}</p>
        </>
      ),
    },
    {
      header: t`Line`,
      width: 'minmax(7rem, 1fr)',
      wide: true,
      cell: ({ fromLineId, messageType }) => (
        <>
          <p className="truncate">{names.get(fromLineId ?? '') ?? t`No line`}</p>
          <p className="truncate text-xs text-muted">{CHANNELS[messageType]}</p>
        </>
      ),
    },
    {
      header: t`Status`,
      width: 'minmax(6.5rem, 1.2fr)',
      cell: (message) => (
        <>
          <Status status={message.status} />
          {reasonOf(message) && <p className="truncate text-xs text-muted">{reasonOf(message)}</p>}
        </>
      ),
    },
    { header: t`Time`, width: '8.5rem', right: true, wide: true, cell: (row) => <When message={row} /> },
  ];
}

/** When it was sent or ended; for what waits, when it is to be sent. */
function When({ message }: { message: Message }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { scheduledDate, sentAt, updatedAt } = message;
  const at = isWaiting(message) ? (scheduledDate ?? updatedAt) : (sentAt ?? updatedAt);
  const isAhead = isWaiting(message) && new Date(at) > workspaceNow();
  return (
    <time dateTime={at} title={fullTimeOf(at, zone)} className="text-muted">
      {isAhead ? relativeTimeOf(at) : isWaiting(message) ? t`Due` : shortTimeOf(at, zone)}
    </time>
  );
}
