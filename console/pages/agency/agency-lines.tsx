import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { type Line, stopOfWorkspace } from '#console/lib/line.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { lineColumns } from '#console/pages/lines/line-columns.tsx';
import { useLineFilter } from '#console/pages/lines/line-filter.tsx';
import { TransferLine } from './transfer-line.tsx';

/** A line, and the name of the client that it belongs to. */
type ClientLine = Line & { client: string };

function columns(): readonly Column<ClientLine>[] {
  const { line, channel, state, today } = lineColumns();
  const client: Column<ClientLine> = {
    header: t`Client`,
    width: 'minmax(7rem, 1.5fr)',
    cell: ({ client }) => client,
  };
  return [{ ...line, width: 'minmax(9rem, 2fr)' }, client, channel, { ...state, wide: true }, today];
}

/** The lines of all clients; a row opens its transfer to another client. */
export default function AgencyLines() {
  const { t } = useLingui();
  const lines = useRead('GET /api/agency/lines', {});
  const clients = useRead('GET /api/agency/subaccounts', {});
  const [selected, select] = useSearchParam('line');
  const subAccounts = clients.data?.subAccounts ?? [];
  const owners = new Map(subAccounts.map((client) => [client.idpOrgId, client]));
  const rows = lines.data?.lines.map((line) => {
    const owner = owners.get(line.workspaceId);
    return { ...line, client: owner?.name ?? line.workspaceId, stop: owner ? stopOfWorkspace(owner) : null };
  });
  const { shown, isFiltered, filter } = useLineFilter(rows, ({ client }) => client);
  return (
    <Card title={t`Lines of all clients`} className="overflow-hidden">
      <div className="pt-3 empty:hidden">{filter}</div>
      <div className="h-[60vh] min-h-80">
        <ReadTable
          label={t`Lines of all clients`}
          columns={columns()}
          read={lines}
          rows={shown}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => select(_id)}
          empty={
            isFiltered ? (
              <EmptyState title={t`No line is like that`} />
            ) : (
              <EmptyState title={t`No lines yet`}>
                <Trans>Lines are requested in the workspace of a client.</Trans>
              </EmptyState>
            )
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
