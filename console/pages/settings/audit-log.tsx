import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { useMemo } from 'react';
import { useRead, useReadPages } from '#console/api/queries.ts';
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
import { actionName, actorName, channelName, type Entry, options, targetName } from './audit-actions.ts';
import { EntryDrawer } from './audit-entry.tsx';

const DAY_MS = 86_400_000;
const NO_FILTERS = { action: '', channel: '', targetType: '', targetId: '', actorId: '', period: '' };
const FILTERS = ['action', 'channel', 'targetType', 'period'] as const;
const LABELS = { action: msg`Action`, channel: msg`Via`, targetType: msg`Changed`, period: msg`Time` };

/** Who changed what in the workspace. */
export default function AuditLog() {
  return (
    <SignedInAdmin what="auditLog">
      <Log endpoint="GET /api/audit-log" />
    </SignedInAdmin>
  );
}

/** The log of the workspace that is shown, or of the agency. */
export function Log({ endpoint }: { endpoint: 'GET /api/audit-log' | 'GET /api/agency/audit-log' }) {
  const { t } = useLingui();
  const search: Search = useSearch({ strict: false });
  const change = useSearchChange();
  const log = useReadPages(endpoint, { query: useQueryOf(search) }, { keep: true });
  const entries = useMemo(() => log.data?.pages.flatMap((page) => page.entries), [log.data]);
  const clients = useRead(
    'GET /api/agency/subaccounts',
    {},
    { enabled: endpoint === 'GET /api/agency/audit-log' },
  ).data?.subAccounts;
  const names = useMemo(() => new Map(clients?.map(({ idpOrgId, name }) => [idpOrgId, name])), [clients]);
  const columns = useColumns(names);
  const choices = options();
  const selected = search['entry'];
  const entry = entries?.find(({ _id }) => _id === selected);
  const isFiltered = Object.keys(NO_FILTERS).some((name) => (search[name] ?? '') !== '');

  return (
    <Card className="overflow-hidden">
      <div
        role="group"
        aria-label={t`Filters`}
        className="grid grid-cols-2 gap-3 border-b border-line p-4 md:grid-cols-4"
      >
        {FILTERS.map((name) => (
          <SelectField
            key={name}
            label={t(LABELS[name])}
            value={search[name] ?? ''}
            options={choices[name]}
            onChange={(event) => change({ [name]: event.target.value })}
          />
        ))}
        {isFiltered && (
          <div className="col-span-full flex flex-wrap items-center gap-3 text-muted">
            {search['actorId'] && (
              <span>
                <Trans>Of one person or key</Trans>
              </span>
            )}
            {search['targetId'] && (
              <span>
                <Trans>Of one object</Trans>
              </span>
            )}
            <Button small onClick={() => change(NO_FILTERS)}>
              <Trans>Clear the filters</Trans>
            </Button>
          </div>
        )}
      </div>
      <div className="h-[60vh] min-h-80">
        <ReadTable
          label={t`Audit log`}
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
              title={isFiltered ? t`No changes match the filters` : t`No changes yet`}
            >
              <Trans>
                Changes of settings, keys, lines and campaigns are recorded here and kept for 400 days.
              </Trans>
            </EmptyState>
          }
        />
      </div>
      <EntryDrawer
        entry={entry}
        client={names.get(entry?.target.id ?? '')}
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

/** @param names of the workspaces of an agency. */
function useColumns(names: ReadonlyMap<string, string>): readonly Column<Entry>[] {
  const { t } = useLingui();
  const zone = useTimeZone();
  const when = (at: string): string => `${dateOf(at, zone)}, ${timeOf(at, zone)}`;
  return [
    { header: t`Time`, width: '9rem', wide: true, cell: ({ at }) => when(at) },
    { header: t`Who`, width: 'minmax(4rem, 1fr)', wide: true, cell: ({ actor }) => actorName(actor) },
    {
      header: t`Action`,
      width: 'minmax(6rem, 2fr)',
      cell: ({ action, actor, at }) => (
        <>
          <p className="truncate">{actionName(action)}</p>
          <p className="truncate text-xs text-muted md:hidden">
            {actorName(actor)} · {when(at)}
          </p>
        </>
      ),
    },
    {
      header: t`Changed`,
      width: 'minmax(8rem, 1fr)',
      wide: true,
      cell: ({ target }) => {
        const name = target.id === null ? undefined : names.get(target.id);
        return (
          <>
            <p className="truncate">{targetName(target.type)}</p>
            {name !== undefined && <p className="truncate text-xs text-muted">{name}</p>}
          </>
        );
      },
    },
    { header: t`Via`, width: '9rem', wide: true, cell: ({ channel }) => channelName(channel) },
  ];
}
