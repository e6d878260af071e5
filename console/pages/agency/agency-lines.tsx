import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { Status } from '#console/components/badge.tsx';
import { Meter } from '#console/components/meter.tsx';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { CHANNELS, type Line, lineAddress, lineName, lineState } from '#console/lib/line.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { TransferLine } from './transfer-line.tsx';

/** A line, and the name of the client that it belongs to. */
type ClientLine = Line & { client: string };

const columns = (): readonly Column<ClientLine>[] => [
  {
    header: t`Line`,
    width: 'minmax(9rem, 2fr)',
    cell: (line) => (
      <>
        <p className="truncate font-medium">{lineName(line)}</p>
        <p className="truncate text-xs text-muted">{lineAddress(line) ?? t`No address yet`}</p>
      </>
    ),
  },
  { header: t`Client`, width: 'minmax(7rem, 1.5fr)', cell: ({ client }) => client },
  { header: t`Channel`, width: '6rem', wide: true, cell: (line) => CHANNELS[line.requestedChannelType] },
  { header: t`State`, width: '9rem', wide: true, cell: (line) => <Status status={lineState(line)} /> },
  {
    header: t`Today`,
    width: 'minmax(8rem, 1fr)',
    wide: true,
    cell: (line) => (
      <Meter label={t`Messages`} used={line.usage.totalMessages} limit={line.dailyTotalMessagesLimit} />
    ),
  },
];

/** The lines of all clients; a row opens its transfer to another client. */
export default function AgencyLines() {
  const { t } = useLingui();
  const lines = useRead('GET /api/agency/lines', {});
  const clients = useRead('GET /api/agency/subaccounts', {});
  const [selected, select] = useSearchParam('line');
  const subAccounts = clients.data?.subAccounts ?? [];
  const names = new Map(subAccounts.map(({ idpOrgId, name }) => [idpOrgId, name]));
  const rows = lines.data?.lines.map((line) => ({
    ...line,
    client: names.get(line.workspaceId) ?? line.workspaceId,
  }));
  return (
    <Card title={t`Lines of all clients`} className="overflow-hidden">
      <div className="h-[60vh] min-h-80">
        <ReadTable
          label={t`Lines of all clients`}
          columns={columns()}
          read={lines}
          rows={rows}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => select(_id)}
          empty={
            <EmptyState title={t`No lines yet`}>
              <Trans>Lines are requested in the workspace of a client.</Trans>
            </EmptyState>
          }
        />
      </div>
      <TransferLine
        key={selected}
        line={rows?.find(({ _id }) => _id === selected)}
        clients={subAccounts}
        close={() => select('')}
      />
    </Card>
  );
}
