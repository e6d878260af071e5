import { useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { useMemo } from 'react';
import { useReadPages } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { SelectField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { dateOf, timeOf } from '#console/lib/format.ts';
import { type Search, useSearchChange } from '#console/lib/search.ts';
import { SignedInAdmin } from './access.tsx';
import { ACTIONS, actorName, channelName, type Entry, OPTIONS, targetName } from './audit-actions.ts';
import { EntryDrawer } from './audit-entry.tsx';

const DAY_MS = 86_400_000;
const NO_FILTERS = { action: '', channel: '', targetType: '', targetId: '', actorId: '', period: '' };
const FILTERS = ['action', 'channel', 'targetType', 'period'] as const;
const LABELS = { action: 'Action', channel: 'Via', targetType: 'Changed', period: 'Time' };

/** Who changed what in the workspace. */
export const AuditLog = () => (
  <SignedInAdmin what="The audit log can be read">
    <Log endpoint="GET /api/audit-log" />
  </SignedInAdmin>
);

/** The log of the workspace that is shown, or of the agency. */
export function Log({ endpoint }: { endpoint: 'GET /api/audit-log' | 'GET /api/agency/audit-log' }) {
  const search: Search = useSearch({ strict: false });
  const change = useSearchChange();
  const log = useReadPages(endpoint, { query: useQueryOf(search) }, { keep: true });
  const entries = useMemo(() => log.data?.pages.flatMap((page) => page.entries), [log.data]);
  const columns = useColumns();
  const selected = search['entry'];
  const isFiltered = Object.keys(NO_FILTERS).some((name) => (search[name] ?? '') !== '');

  return (
    <Card className="overflow-hidden">
      <div
        role="group"
        aria-label="Filters"
        className="grid grid-cols-2 gap-3 border-b border-line p-4 md:grid-cols-4"
      >
        {FILTERS.map((name) => (
          <SelectField
            key={name}
            label={LABELS[name]}
            value={search[name] ?? ''}
            options={OPTIONS[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        ))}
        {isFiltered && (
          <div className="col-span-full flex flex-wrap items-center gap-3 text-muted">
            {search['actorId'] && <span>Of one person or key</span>}
            {search['targetId'] && <span>Of one object</span>}
            <Button small onClick={() => change(NO_FILTERS)}>
              Clear the filters
            </Button>
          </div>
        )}
      </div>
      <div className="h-[60vh] min-h-80">
        <ReadTable
          label="Audit log"
          rowHeight={48}
          columns={columns}
          read={log}
          rows={entries}
          rowKey={({ _id }) => _id}
          selected={selected}
          onOpen={({ _id }) => change({ entry: _id })}
          empty={
            <EmptyState
              icon={<ScrollText className="size-5" aria-hidden="true" />}
              title={isFiltered ? 'No changes match the filters' : 'No changes yet'}
            >
              Changes of settings, keys, lines and campaigns are recorded here and kept for 400 days.
            </EmptyState>
          }
        />
      </div>
      <EntryDrawer
        entry={entries?.find(({ _id }) => _id === selected)}
        close={() => change({ entry: '' })}
        filter={(filters) => change({ ...NO_FILTERS, ...filters, entry: '' })}
      />
    </Card>
  );
}

/** The filters as the API takes them. */
function useQueryOf({ action, channel, targetType, targetId, actorId, period }: Search) {
  // Stays the same for as long as the filter does, so that pages belong to one query.
  const since = useMemo(
    () => (period ? new Date(Date.now() - Number(period) * DAY_MS).toISOString() : undefined),
    [period],
  );
  return {
    action: (action || undefined) as Entry['action'] | undefined,
    channel: (channel || undefined) as Entry['channel'] | undefined,
    targetType: (targetType || undefined) as Entry['target']['type'] | undefined,
    targetId,
    actorId,
    since,
  };
}

function useColumns(): readonly Column<Entry>[] {
  const zone = useTimeZone();
  return [
    {
      header: 'Time',
      width: '8.5rem',
      cell: ({ at }) => `${dateOf(at, zone)}, ${timeOf(at, zone)}`,
    },
    { header: 'Who', width: 'minmax(7rem, 1fr)', cell: ({ actor }) => actorName(actor) },
    { header: 'Action', width: 'minmax(8rem, 1.5fr)', cell: ({ action }) => ACTIONS[action] },
    { header: 'Changed', width: '8rem', wide: true, cell: ({ target }) => targetName(target.type) },
    { header: 'Via', width: '9rem', wide: true, cell: ({ channel }) => channelName(channel) },
  ];
}
