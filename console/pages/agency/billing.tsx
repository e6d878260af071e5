import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { CreditCard } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { Card } from '#console/components/page.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toastError } from '#console/components/toast.tsx';
import { searchForm } from '#console/lib/search-form.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { ChangePlan, PLANS, type SubAccount } from './change-plan.tsx';

/** How the agency pays, and the plans of its clients. */
export default function Billing() {
  const { agency } = useIdentity();
  return (
    <div className="flex flex-col gap-4">
      {agency?.role === 'owner' && <Payment />}
      <Plans />
    </div>
  );
}

/** The API lets the owner alone change the card. */
function Payment() {
  const { t } = useLingui();
  const billing = useRead('GET /api/agency/billing', {});
  const change = useWrite('POST /api/agency/billing/card');
  const open = (): void =>
    change.mutate(
      { body: { returnUrl: location.href } },
      { whileShown: ({ url }) => location.assign(url), onError: toastError },
    );
  if (billing.error && !billing.data)
    return <ErrorState error={billing.error} retry={() => void billing.refetch()} />;
  if (!billing.data) return <SkeletonRows rows={1} />;
  const { billingMode } = billing.data;
  return (
    <Card title={t`Payment`}>
      <div className="flex flex-wrap items-center gap-4 p-4">
        <p className="min-w-56 flex-1 text-muted">
          {billingMode === 'card'
            ? t`The plans and additional lines of all clients are charged to one card, on a page of the payment provider.`
            : t`The plans and additional lines of all clients are on the monthly invoice.`}
        </p>
        {billingMode === 'card' && (
          <Button
            icon={<CreditCard className="size-4" aria-hidden="true" />}
            busy={change.isPending}
            onClick={open}
          >
            <Trans>Save or change the card</Trans>
          </Button>
        )}
      </div>
    </Card>
  );
}

/** Fewer clients are seen at a glance. */
const FEW = 8;

/** Those that owe something first, then by name. */
const byNeed = (a: SubAccount, b: SubAccount): number =>
  Number(b.subscriptionStatus === 'past_due') - Number(a.subscriptionStatus === 'past_due') ||
  a.name.localeCompare(b.name);

function Plans() {
  const { t } = useLingui();
  const clients = useRead('GET /api/agency/subaccounts', {});
  const [chosen, choose] = useState<SubAccount | null>(null);
  const [search, setSearch] = useSearchParam('search');
  const all = clients.data?.subAccounts ?? [];
  const shown = all.filter(({ name }) => searchForm(name).includes(searchForm(search))).toSorted(byNeed);
  return (
    <Card title={t`Plans`}>
      {clients.error && !clients.data ? (
        <ErrorState error={clients.error} retry={() => void clients.refetch()} />
      ) : !clients.data ? (
        <SkeletonRows rows={3} />
      ) : clients.data.subAccounts.length === 0 ? (
        <EmptyState title={t`No clients yet`}>
          <Trans>Add the first one under Clients.</Trans>
        </EmptyState>
      ) : (
        <>
          {(all.length > FEW || search !== '') && (
            <div className="p-3">
              <SearchBox label={t`Search clients`} value={search} onChange={setSearch} />
            </div>
          )}
          {shown.length === 0 && <EmptyState title={t`No client has a name like that`} />}
          <ul aria-label={t`Plans`} className="divide-y divide-line">
            {shown.map((client) => {
              const { idpOrgId, name, plan, lineCount, subscriptionStatus } = client;
              return (
                <li key={idpOrgId} className="flex items-center gap-3 px-4 py-3">
                  <div className="min-w-0 flex-1">
                    <p className="truncate font-medium">{name}</p>
                    <p className="truncate text-xs text-muted">
                      {plan === null ? t`No plan` : PLANS[plan].name}
                      {' · '}
                      <Plural value={lineCount} one="# line" other="# lines" />
                    </p>
                  </div>
                  <Status status={subscriptionStatus} />
                  <Button
                    small
                    aria-label={plan === null ? t`Choose the plan of ${name}` : t`Change the plan of ${name}`}
                    onClick={() => choose(client)}
                  >
                    {plan === null ? t`Choose` : t({ message: 'Change', context: 'verb' })}
                  </Button>
                </li>
              );
            })}
          </ul>
        </>
      )}
      <ChangePlan key={chosen?.idpOrgId} client={chosen} close={() => choose(null)} />
    </Card>
  );
}
