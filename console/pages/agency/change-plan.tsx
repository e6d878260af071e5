import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useId, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormError } from '#console/components/field.tsx';
import { toast } from '#console/components/toast.tsx';
import { priceOf } from '#console/lib/price.ts';

const FORM = 'change-plan';

export type SubAccount = ResponseOf<'GET /api/agency/subaccounts'>['subAccounts'][number];
type Plan = NonNullable<SubAccount['plan']>;

export const PLANS: Record<Plan, { name: string; lines: MessageDescriptor }> = {
  mini: { name: 'Mini', lines: msg`One email line included, more for a charge. No phone lines.` },
  starter: { name: 'Starter', lines: msg`One phone line included. Email lines for a charge.` },
  growth: {
    name: 'Growth',
    lines: msg`Two phone lines included, more for a charge. Email lines for a charge.`,
  },
};

/** Subscribes a client to a plan: charged to the agency's card, or on its invoice. */
export function ChangePlan({ client, close }: { client: SubAccount | null; close: () => void }) {
  const { t } = useLingui();
  const [plan, setPlan] = useState<Plan>(client?.plan ?? 'starter');
  const group = useId();
  const shown = client?.name;
  const subscribe = useWrite('POST /api/agency/billing/subscribe', {
    refresh: ['GET /api/agency/subaccounts', 'GET /api/workspace'],
  });
  const isCharged = client !== null && client.billingMode === 'card';
  const prices = useRead('GET /api/agency/billing/prices', {}, { enabled: isCharged }).data?.plans;
  const priceOfPlan = (name: Plan): string | null => {
    const price = isCharged ? prices?.[name] : null;
    return price ? priceOf(price) : null;
  };
  const chosenPrice = priceOfPlan(plan);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!client) return;
    const { name } = client;
    const planName = PLANS[plan].name;
    subscribe.mutate(
      { body: { workspaceId: client.idpOrgId, plan } },
      {
        onSuccess: () => toast(t`${name} is on the plan ${planName}`),
        whileShown: close,
      },
    );
  };
  return (
    <Dialog
      open={client !== null}
      onClose={close}
      title={shown === undefined ? t`Plan of the client` : t`Plan of ${shown}`}
      description={
        client?.billingMode === 'invoice'
          ? t`It is added to the agency’s invoice.`
          : t`It is charged to the agency’s card at once, with taxes. A change of the plan is charged in proportion.`
      }
      footer={
        <Button kind="primary" type="submit" form={FORM} busy={subscribe.isPending}>
          {chosenPrice === null ? t`Subscribe` : t`Subscribe for ${chosenPrice}`}
        </Button>
      }
    >
      <form id={FORM} className="flex flex-col gap-4" onSubmit={submit}>
        <fieldset className="divide-y divide-line rounded-lg border border-line">
          <legend className="sr-only">
            <Trans>Plan</Trans>
          </legend>
          {(Object.keys(PLANS) as Plan[]).map((name) => (
            <div key={name} className="flex items-start gap-3 px-3 py-2.5">
              <input
                id={`${group}-${name}`}
                type="radio"
                aria-describedby={`${group}-${name}-lines`}
                name={group}
                className="mt-1 size-4 shrink-0 accent-accent"
                checked={plan === name}
                onChange={() => setPlan(name)}
              />
              <div>
                <label htmlFor={`${group}-${name}`} className="font-medium">
                  {PLANS[name].name}
                </label>
                {priceOfPlan(name) !== null && <span className="text-muted"> · {priceOfPlan(name)}</span>}
                <p id={`${group}-${name}-lines`} className="text-muted">
                  {t(PLANS[name].lines)}
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
