import { type FormEvent, useId, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormError } from '#console/components/field.tsx';
import { toast } from '#console/components/toast.tsx';

const FORM = 'change-plan';

export type SubAccount = ResponseOf<'GET /api/agency/subaccounts'>['subAccounts'][number];
type Plan = NonNullable<SubAccount['plan']>;

export const PLANS: Record<Plan, { name: string; lines: string }> = {
  mini: { name: 'Mini', lines: 'One email line included, more for a charge. No phone lines.' },
  starter: { name: 'Starter', lines: 'One phone line included. Email lines for a charge.' },
  growth: { name: 'Growth', lines: 'Two phone lines included, more for a charge. Email lines for a charge.' },
};

/** Subscribes a client to a plan: charged to the agency's card, or on its invoice. */
export function ChangePlan({ client, close }: { client: SubAccount | null; close: () => void }) {
  const [plan, setPlan] = useState<Plan>(client?.plan ?? 'starter');
  const group = useId();
  const subscribe = useWrite('POST /api/agency/billing/subscribe', {
    refresh: ['GET /api/agency/subaccounts', 'GET /api/workspace'],
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!client) return;
    subscribe.mutate(
      { body: { workspaceId: client.idpOrgId, plan } },
      {
        onSuccess: () => {
          toast(`${client.name} is on the plan ${PLANS[plan].name}`);
          close();
        },
      },
    );
  };
  return (
    <Dialog
      open={client !== null}
      onClose={close}
      title={`Plan of ${client?.name ?? 'the client'}`}
      description={
        client?.billingMode === 'invoice'
          ? 'It is added to the agency’s invoice.'
          : 'It is charged to the agency’s card at once.'
      }
      footer={
        <Button kind="primary" type="submit" form={FORM} busy={subscribe.isPending}>
          Subscribe
        </Button>
      }
    >
      <form id={FORM} className="flex flex-col gap-4" onSubmit={submit}>
        <fieldset className="divide-y divide-line rounded-lg border border-line">
          <legend className="sr-only">Plan</legend>
          {(Object.keys(PLANS) as Plan[]).map((name) => (
            <div key={name} className="flex items-start gap-3 px-3 py-2.5">
              <input
                id={`${group}-${name}`}
                type="radio"
                aria-describedby={`${group}-${name}-lines`}
                name={group}
                className="mt-1 size-4 accent-accent"
                checked={plan === name}
                onChange={() => setPlan(name)}
              />
              <div>
                <label htmlFor={`${group}-${name}`} className="font-medium">
                  {PLANS[name].name}
                </label>
                <p id={`${group}-${name}-lines`} className="text-muted">
                  {PLANS[name].lines}
                </p>
              </div>
            </div>
          ))}
        </fieldset>
        <FormError>{subscribe.error?.message}</FormError>
      </form>
    </Dialog>
  );
}
