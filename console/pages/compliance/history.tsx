import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMemo } from 'react';
import { addressOf } from '#console/api/client.ts';
import { useReadPages } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { ExportButton } from '#console/components/export-button.tsx';
import { SelectField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { addressName } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { CUSTOM, PERIODS, periodOf } from '#console/pages/analytics/period.ts';
import { SOURCES } from '#console/pages/contacts/opt-outs.tsx';
import { workspaceNow } from '#console/lib/workspace-time.ts';

type Change = ResponseOf<'GET /api/opt-outs/history'>['changes'][number];

const changes = () => [
  { value: '', label: t`Both` },
  { value: 'opted_out', label: t`Opt-outs` },
  { value: 'opted_in', label: t`Opt-ins` },
];

const columns = (): readonly Column<Change>[] => [
  { header: t`When`, width: '5.5rem', cell: ({ at }) => <ShortTime at={at} /> },
  {
    header: t`Contact`,
    width: 'minmax(8.5rem, 1fr)',
    cell: ({ address }) => <span className="font-medium">{addressName(address)}</span>,
  },
  {
    header: t`Change`,
    width: '6rem',
    cell: ({ change }) => (
      <Badge tone={change === 'opted_out' ? 'warn' : 'good'}>
        {change === 'opted_out' ? t`Opted out` : t`Opted in`}
      </Badge>
    ),
  },
  {
    header: t`By`,
    width: 'minmax(7rem, 0.8fr)',
    wide: true,
    cell: ({ source }) => SOURCES[source] ?? source,
  },
  {
    header: t`In these words`,
    width: 'minmax(10rem, 2fr)',
    wide: true,
    cell: ({ message }) => message !== null && <span title={message}>“{message}”</span>,
  },
];

/** Each opt-out and opt-in of a period. What is chosen stays in the address. */
export function History() {
  const { t } = useLingui();
  const zone = useTimeZone();
  const [period, setPeriod] = useSearchParam('period');
  const [change, setChange] = useSearchParam('change');
  const chosen = period || '30';
  const { dateFrom, dateTo } = periodOf({ period: chosen }, zone, workspaceNow());
  const query = { dateFrom, dateTo, ...(change !== '' && { change: change as Change['change'] }) };
  const read = useReadPages('GET /api/opt-outs/history', { query }, { keep: true });
  const rows = useMemo(() => read.data?.pages.flatMap((page) => page.changes), [read.data]);
  return (
    <Card
      title={t`Opt-outs and opt-ins`}
      className="overflow-hidden"
      actions={
        <ExportButton
          address={addressOf('/api/opt-outs/history/export', {}, query)}
          fileName={`opt-outs-${dateFrom}-to-${dateTo}.csv`}
        />
      }
    >
      <div className="grid grid-cols-2 gap-3 border-b border-line px-4 py-3 md:grid-cols-4">
        <SelectField
          label={t`Period`}
          value={chosen}
          options={PERIODS.filter(({ value }) => value !== CUSTOM).map(({ value, label }) => ({
            value,
            label: t(label),
          }))}
          onChange={({ target }) => setPeriod(target.value)}
        />
        <SelectField
          label={t`Show`}
          value={change}
          options={changes()}
          onChange={({ target }) => setChange(target.value)}
        />
      </div>
      <div className="h-96">
        <ReadTable
          label={t`Opt-outs and opt-ins`}
          rowHeight={44}
          columns={columns()}
          read={read}
          rows={rows}
          rowKey={({ _id }) => _id}
          empty={
            <EmptyState title={t`None in this period`}>
              <Trans>Choose a longer period.</Trans>
            </EmptyState>
          }
        />
      </div>
    </Card>
  );
}
