import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useBilling } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { SelectField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
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
type Client = SubAccount & { metrics: Metrics | undefined };

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
    width: 'minmax(9rem, 2fr)',
    cell: ({ name, plan }) => (
      <>
        <p className="truncate font-medium">{name}</p>
        {hasPlans && (
          <p className="truncate text-xs text-muted">{plan === null ? t`No plan` : wordsOf(plan)}</p>
        )}
      </>
    ),
  },
  ...(hasPlans ? [subscription()] : []),
  { header: t`Lines`, width: '4rem', right: true, cell: ({ lineCount }) => numberOf(lineCount) },
  figure(t({ message: 'Sent', context: 'number of messages' }), ({ sent }) => numberOf(sent)),
  figure(t`Replied`, ({ uniqueReplied }) => numberOf(uniqueReplied), true),
  figure(t`Reply rate`, ({ repliedPct }) => percentOf(repliedPct), true),
  figure(t({ message: 'Failed', context: 'number of messages' }), ({ failed }) => numberOf(failed), true),
];

const subscription = (): Column<Client> => ({
  header: t`Subscription`,
  width: '8rem',
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
  const clients = useRead('GET /api/agency/subaccounts', {});
  const overview = useRead('GET /api/agency/overview', { query: { days: Number(days) } }, { keep: true });
  const switchTo = useSwitchWorkspace();
  const billing = useBilling();
  if (overview.error && !overview.data)
    return <ErrorState error={overview.error} retry={() => void overview.refetch()} />;
  const metrics = new Map(
    overview.data?.workspaces.map(({ workspaceId, metrics: ofClient }) => [workspaceId, ofClient]),
  );
  const rows = clients.data?.subAccounts.map((client) => ({
    ...client,
    metrics: metrics.get(client.idpOrgId),
  }));
  return (
    <>
      <div className="mb-4 w-48">
        <SelectField
          label={t`Period`}
          value={days}
          options={periods()}
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
              <EmptyState title={t`No clients yet`}>
                <Trans>A client is a workspace of the agency. Create the first one.</Trans>
              </EmptyState>
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
