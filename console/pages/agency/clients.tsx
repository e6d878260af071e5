import { plural, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useBilling } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { SelectField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { isDoubted, needsAttention } from '#console/lib/line.ts';
import { searchForm } from '#console/lib/search-form.ts';
import { ReadTable } from '#console/components/read-table.tsx';
import { EmptyState, ErrorState, Skeleton } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { numberOf, percentOf, wordsOf } from '#console/lib/format.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';
import { CreateClient } from './create-client.tsx';

type Metrics = ResponseOf<'GET /api/agency/overview'>['totals'];
type SubAccount = ResponseOf<'GET /api/agency/subaccounts'>['subAccounts'][number];
/** The metrics are loaded after the client. */
type Client = SubAccount & { metrics: Metrics | undefined; trouble: Trouble };
/** What needs somebody in a client. */
interface Trouble {
  isUnpaid: boolean;
  /** Lines that do not send as they should. */
  stopped: number;
  /** Lines whose reputation slows them down. */
  doubted: number;
}

const DEFAULT_DAYS = '30';
const periods = () => [
  { value: '7', label: t`Last 7 days` },
  { value: DEFAULT_DAYS, label: t`Last 30 days` },
  { value: '90', label: t`Last 90 days` },
  { value: '365', label: t`Last 365 days` },
];

const columns = (hasPlans: boolean): readonly Column<Client>[] => [
  {
    header: t`Client`,
    width: 'minmax(8rem, 2fr)',
    cell: ({ name, plan }) => (
      <>
        <p className="truncate font-medium">{name}</p>
        {hasPlans && (
          <p className="truncate text-xs text-muted">{plan === null ? t`No plan` : wordsOf(plan)}</p>
        )}
      </>
    ),
  },
  {
    header: t`Needs attention`,
    width: 'minmax(6rem, 2fr)',
    cell: ({ trouble }) => {
      const text = troubleText(trouble);
      return text === '' ? <span className="text-muted">–</span> : <span className="text-warn">{text}</span>;
    },
  },
  ...(hasPlans ? [subscription()] : []),
  { header: t`Lines`, width: '3.5rem', right: true, cell: ({ lineCount }) => numberOf(lineCount) },
  figure(t({ message: 'Sent', context: 'number of messages' }), ({ sent }) => numberOf(sent)),
  figure(t`Replied`, ({ uniqueReplied }) => numberOf(uniqueReplied), true),
  figure(t`Reply rate`, ({ repliedPct }) => percentOf(repliedPct), true),
  figure(t({ message: 'Failed', context: 'number of messages' }), ({ failed }) => numberOf(failed), true),
];

const troubleText = ({ isUnpaid, stopped, doubted }: Trouble): string =>
  [
    isUnpaid && t`Past due`,
    stopped > 0 && plural(stopped, { one: '# line does not send', other: '# lines do not send' }),
    doubted > 0 && plural(doubted, { one: '# line is slowed down', other: '# lines are slowed down' }),
  ]
    .filter(Boolean)
    .join(', ');

const weightOf = ({ isUnpaid, stopped, doubted }: Trouble): number =>
  (isUnpaid ? 1_000_000 : 0) + stopped * 1000 + doubted;

type Order = 'trouble' | 'name' | 'sent' | 'failed' | 'replied';
const ORDERS: Record<Order, (a: Client, b: Client) => number> = {
  trouble: (a, b) => weightOf(b.trouble) - weightOf(a.trouble),
  name: () => 0,
  sent: (a, b) => (b.metrics?.sent ?? 0) - (a.metrics?.sent ?? 0),
  failed: (a, b) => (b.metrics?.failed ?? 0) - (a.metrics?.failed ?? 0),
  replied: (a, b) => (b.metrics?.repliedPct ?? 0) - (a.metrics?.repliedPct ?? 0),
};
const orders = (): { value: Order; label: string }[] => [
  { value: 'trouble', label: t`What needs attention first` },
  { value: 'name', label: t`By name` },
  { value: 'sent', label: t`Most sent` },
  { value: 'replied', label: t`Highest reply rate` },
  { value: 'failed', label: t`Most failed` },
];

const subscription = (): Column<Client> => ({
  header: t`Subscription`,
  width: '7rem',
  wide: true,
  cell: ({ subscriptionStatus }) => <Status status={subscriptionStatus} />,
});

function figure(header: string, shown: (metrics: Metrics) => string, wide = false): Column<Client> {
  return {
    header,
    width: 'minmax(4.5rem, 1fr)',
    right: true,
    wide,
    cell: ({ metrics }) => (metrics ? shown(metrics) : '…'),
  };
}

/** The metrics of each client. A row opens the client's workspace. */
export function Clients() {
  const { t } = useLingui();
  const [chosen, choose] = useSearchParam('days');
  const days = periods().some(({ value }) => value === chosen) ? chosen : DEFAULT_DAYS;
  const [search, setSearch] = useSearchParam('search');
  const [ordered, setOrder] = useSearchParam('order');
  const order = orders().find(({ value }) => value === ordered)?.value ?? 'trouble';
  const clients = useRead('GET /api/agency/subaccounts', {});
  const lines = useRead('GET /api/agency/lines', {});
  const overview = useRead('GET /api/agency/overview', { query: { days: Number(days) } }, { keep: true });
  const switchTo = useSwitchWorkspace();
  const billing = useBilling();
  if (overview.error && !overview.data)
    return <ErrorState error={overview.error} retry={() => void overview.refetch()} />;
  const metrics = new Map(
    overview.data?.workspaces.map(({ workspaceId, metrics: ofClient }) => [workspaceId, ofClient]),
  );
  const troubleOf = ({ idpOrgId, subscriptionStatus }: SubAccount): Trouble => {
    const own = (lines.data?.lines ?? []).filter(({ workspaceId }) => workspaceId === idpOrgId);
    const stopped = own.filter(needsAttention);
    return {
      isUnpaid: billing.agency && subscriptionStatus === 'past_due',
      stopped: stopped.length,
      doubted: own.filter((line) => isDoubted(line) && !needsAttention(line)).length,
    };
  };
  const rows = clients.data?.subAccounts
    .filter(({ name }) => search === '' || searchForm(name).includes(searchForm(search)))
    .map((client) => ({ ...client, metrics: metrics.get(client.idpOrgId), trouble: troubleOf(client) }))
    .toSorted((a, b) => ORDERS[order](a, b) || a.name.localeCompare(b.name));
  return (
    <>
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <div className="w-64">
          <SearchBox label={t`Search clients`} value={search} onChange={setSearch} />
        </div>
        <SelectField
          label={t`Order`}
          value={order}
          options={orders()}
          onChange={(event) => setOrder(event.target.value)}
        />
        <SelectField
          label={t`Period`}
          value={days}
          options={periods()}
          hint={t`Up to now. Analytics counts whole days.`}
          onChange={(event) => choose(event.target.value)}
        />
      </div>
      <Totals totals={overview.data?.totals} />
      <Card title={t`Clients`} actions={<CreateClient />} className="mt-4 overflow-hidden">
        <div className="h-[50vh] min-h-80">
          <ReadTable
            label={t`Clients`}
            columns={columns(billing.agency)}
            read={clients}
            rows={rows}
            rowKey={({ idpOrgId }) => idpOrgId}
            onOpen={({ idpOrgId }) => switchTo(idpOrgId)}
            empty={
              search !== '' ? (
                <EmptyState title={t`No client has a name like that`} />
              ) : (
                <EmptyState title={t`No clients yet`}>
                  <Trans>A client is a workspace of the agency. Create the first one.</Trans>
                </EmptyState>
              )
            }
          />
        </div>
      </Card>
    </>
  );
}

function Totals({ totals }: { totals: Metrics | undefined }) {
  const { t } = useLingui();
  return (
    <dl aria-label={t`All clients`} className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {(
        [
          [t`Messages sent`, totals?.sent],
          [t`Contacts reached`, totals?.reached],
          [t`Contacts who replied`, totals?.uniqueReplied],
          [t({ message: 'Failed', context: 'number of messages' }), totals?.failed],
        ] as const
      ).map(([label, value]) => (
        <div key={label} className="rounded-xl border border-line bg-surface px-4 py-3 shadow-card">
          <dt className="text-muted">{label}</dt>
          <dd className="mt-0.5 text-xl font-semibold tracking-tight tabular-nums">
            {value === undefined ? <Skeleton className="h-7 w-16" /> : numberOf(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}
