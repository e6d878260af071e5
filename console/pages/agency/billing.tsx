import { CreditCard } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toastError } from '#console/components/toast.tsx';
import { ChangePlan, PLANS, type SubAccount } from './change-plan.tsx';

/** How the agency pays, and the plans of its clients. */
export function Billing() {
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
  const billing = useRead('GET /api/agency/billing', {});
  const change = useWrite('POST /api/agency/billing/card');
  const open = (): void =>
    change.mutate(
      { body: { returnUrl: location.href } },
      { onSuccess: ({ url }) => location.assign(url), onError: toastError },
    );
  if (billing.error) return <ErrorState error={billing.error} retry={() => void billing.refetch()} />;
  if (!billing.data) return <SkeletonRows rows={1} />;
  const { billingMode } = billing.data;
  return (
    <Card title="Payment">
      <div className="flex flex-wrap items-center gap-4 p-4">
        <p className="min-w-56 flex-1 text-muted">
          {billingMode === 'card'
            ? 'The plans and additional lines of all clients are charged to one card, on a page of the payment provider.'
            : 'The plans and additional lines of all clients are on the monthly invoice.'}
        </p>
        {billingMode === 'card' && (
          <Button
            icon={<CreditCard className="size-4" aria-hidden="true" />}
            busy={change.isPending}
            onClick={open}
          >
            Save or change the card
          </Button>
        )}
      </div>
    </Card>
  );
}

function Plans() {
  const clients = useRead('GET /api/agency/subaccounts', {});
  const [chosen, choose] = useState<SubAccount | null>(null);
  return (
    <Card title="Plans">
      {clients.error ? (
        <ErrorState error={clients.error} retry={() => void clients.refetch()} />
      ) : !clients.data ? (
        <SkeletonRows rows={3} />
      ) : clients.data.subAccounts.length === 0 ? (
        <EmptyState title="No clients yet">Add the first one under Clients.</EmptyState>
      ) : (
        <ul aria-label="Plans" className="divide-y divide-line">
          {clients.data.subAccounts.map((client) => (
            <li key={client.idpOrgId} className="flex items-center gap-3 px-4 py-3">
              <div className="min-w-0 flex-1">
                <p className="truncate font-medium">{client.name}</p>
                <p className="truncate text-xs text-muted">
                  {client.plan === null ? 'No plan' : PLANS[client.plan].name}
                  {' · '}
                  {client.lineCount === 1 ? '1 line' : `${client.lineCount} lines`}
                </p>
              </div>
              <Status status={client.subscriptionStatus} />
              <Button small aria-label={`Plan of ${client.name}`} onClick={() => choose(client)}>
                {client.plan === null ? 'Choose' : 'Change'}
              </Button>
            </li>
          ))}
        </ul>
      )}
      <ChangePlan key={chosen?.idpOrgId} client={chosen} close={() => choose(null)} />
    </Card>
  );
}
