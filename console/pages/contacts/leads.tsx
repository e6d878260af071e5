import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Users } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { useReadPages } from '#console/api/queries.ts';
import { ReadTable } from '#console/components/read-table.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { addressName } from '#console/lib/format.ts';
import { type Lead, leadName, type LeadList } from './lead.ts';

/** Loaded once a lead is selected. */
const BulkBar = lazy(() => import('./bulk-bar.tsx'));

const NONE: ReadonlySet<string> = new Set();

const columns = (): readonly Column<Lead>[] => [
  {
    header: t`Name`,
    width: 'minmax(9rem, 2fr)',
    cell: (lead) => (
      <>
        <p className="truncate font-medium">{leadName(lead)}</p>
        <p className="truncate text-xs text-muted">
          {[lead.jobTitle, lead.companyName].filter(Boolean).join(' · ')}
        </p>
      </>
    ),
  },
  {
    header: t`Phone`,
    width: 'minmax(8rem, 1fr)',
    cell: ({ phone }) => (phone === null ? '–' : addressName(phone)),
  },
  { header: t`Email`, width: 'minmax(9rem, 1.5fr)', wide: true, cell: ({ email }) => email ?? '–' },
  {
    header: t`Added`,
    width: '6rem',
    wide: true,
    cell: ({ createdAt }) => <ShortTime at={createdAt} />,
  },
];

/** The leads of a list, or all of them, that match a search. */
export function Leads({
  listId,
  lists,
  search,
  selected,
  onOpen,
  action,
}: {
  listId: string;
  lists: readonly LeadList[];
  search: string;
  selected: string;
  onOpen: (leadId: string) => void;
  /** What an empty list offers. */
  action: ReactNode;
}) {
  const { t } = useLingui();
  const filter = { ...(listId !== '' && { listId }), ...(search !== '' && { search }) };
  const leads = useReadPages('GET /api/leads', { query: filter }, { keep: true });
  const rows = useMemo(() => leads.data?.pages.flatMap((page) => page.leads), [leads.data]);
  // What was selected in another list or search is no longer in sight.
  const shown = `${listId} ${search}`;
  const [chosen, choose] = useState<{ in: string; ids: ReadonlySet<string> | 'all' }>({ in: '', ids: NONE });
  const ids = chosen.in === shown ? chosen.ids : NONE;
  const setIds = (next: ReadonlySet<string> | 'all'): void => choose({ in: shown, ids: next });
  const toggle = (id: string): void => {
    const known = ids === 'all' ? (rows ?? []).map(({ _id }) => _id) : [...ids];
    setIds(new Set(known.includes(id) ? known.filter((other) => other !== id) : [...known, id]));
  };
  const empty =
    search === '' ? (
      <EmptyState
        icon={<Users className="size-5" aria-hidden="true" />}
        title={t`No leads yet`}
        action={action}
      >
        <Trans>Add them one by one, or import a CSV file.</Trans>
      </EmptyState>
    ) : (
      <EmptyState title={t`No leads found`}>
        <Trans>The search covers names, companies, email addresses and phone numbers.</Trans>
      </EmptyState>
    );
  const table = (
    <ReadTable
      key={listId}
      label={t`Leads`}
      columns={columns()}
      read={leads}
      rows={rows}
      empty={empty}
      rowKey={({ _id }) => _id}
      rowHeight={56}
      selected={selected}
      onOpen={({ _id }) => onOpen(_id)}
      selection={{ has: (id) => ids === 'all' || ids.has(id), toggle, nameOf: leadName }}
    />
  );
  return (
    <div className="flex h-full flex-col">
      {(ids === 'all' || ids.size > 0) && (
        <Suspense fallback={null}>
          <BulkBar
            count={ids === 'all' ? null : ids.size}
            whom={ids === 'all' ? { filter } : { leadIds: [...ids] }}
            listId={listId}
            lists={lists}
            selectAll={() => setIds('all')}
            clear={() => setIds(NONE)}
          />
        </Suspense>
      )}
      <div className="min-h-0 flex-1">{table}</div>
    </div>
  );
}
