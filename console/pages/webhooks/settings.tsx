import { Trans, useLingui } from '@lingui/react/macro';
import { RotateCw } from 'lucide-react';
import type { FormEvent } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useTimeZone, useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { FormError, generalErrorOf } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { fullTimeOf } from '#console/lib/format.ts';
import { useEdits } from '#console/lib/unsent.ts';
import { DeleteWebhook } from './delete-webhook.tsx';
import { Secret } from './secret.tsx';
import type { Webhook } from './webhook.ts';
import { type Delivering, DELIVERING_FIELDS, WebhookFilters } from './webhook-filters.tsx';
import { FIELDS, type Values, WebhookFields } from './webhook-fields.tsx';

/** Changes the webhook, its secret, or deletes it. */
export function Settings({ webhook, onDeleted }: { webhook: Webhook; onDeleted: () => void }) {
  const { t } = useLingui();
  if (!useIsAdmin())
    return (
      <EmptyState title={t`For admins`}>
        <Trans>Only an owner or admin of the workspace changes webhooks.</Trans>
      </EmptyState>
    );
  return (
    <div className="flex flex-col gap-6">
      <Form webhook={webhook} />
      <SigningSecret webhook={webhook} />
      <DeleteWebhook webhook={webhook} endpoint="DELETE /api/webhooks/{id}" onDeleted={onDeleted} />
    </div>
  );
}

const valuesOf = ({
  name,
  url,
  events,
  retries,
  lineIds,
  campaignIds,
  tags,
}: Webhook): Values & Delivering => ({
  name,
  url,
  events,
  retries,
  lineIds,
  campaignIds,
  tags,
});

/** In which order names are ticked does not matter. */
const inOrder = ({ events, lineIds, campaignIds, ...rest }: Values & Delivering): string =>
  JSON.stringify([events.toSorted(), lineIds.toSorted(), campaignIds.toSorted(), rest]);

function Form({ webhook }: { webhook: Webhook }) {
  const { t } = useLingui();
  const saved = valuesOf(webhook);
  const edits = useEdits(`webhook ${webhook._id}`, saved);
  const { values, change, discard, forget } = edits;
  const update = useWrite('PATCH /api/webhooks/{id}', {
    refresh: ['GET /api/webhooks', 'GET /api/webhooks/{id}'],
  });
  const params = { id: webhook._id };
  const changed = inOrder(values) !== inOrder(saved);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    update.mutate(
      { params, body: values },
      {
        onSuccess: () => {
          forget();
          toast(t`The webhook was changed`, {
            undo: () => {
              discard();
              update.mutate({ params, body: saved }, { onError: toastError });
            },
          });
        },
      },
    );
  };
  return (
    <KeptForm edits={edits} noValidate className="flex flex-col gap-4" onSubmit={submit}>
      <WebhookFields values={values} onChange={change} error={update.error} />
      <WebhookFilters values={values} onChange={change} error={update.error} />
      <FormError>{generalErrorOf(update.error, [...FIELDS, ...DELIVERING_FIELDS])}</FormError>
      <div>
        <Button kind="primary" type="submit" busy={update.isPending} disabled={!changed}>
          <Trans>Save</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}

function SigningSecret({ webhook }: { webhook: Webhook }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const rotate = useWrite('POST /api/webhooks/{id}/rotate-secret');
  const expiresAt = rotate.data?.previousSecretExpiresAt;
  const until = expiresAt && fullTimeOf(expiresAt, zone);
  return (
    <section className="border-t border-line pt-5">
      <h3 className="mb-2 font-medium">
        <Trans>Signing secret</Trans>
      </h3>
      {rotate.data ? (
        <>
          <Secret secret={rotate.data.secret} />
          {until && (
            <p className="mt-3 text-muted">
              <Trans>Deliveries are signed with the previous secret as well until {until}.</Trans>
            </p>
          )}
        </>
      ) : (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-xs text-muted">
            <Trans>It signs each delivery. It was shown when it was created.</Trans>
          </p>
          <ConfirmButton
            kind="secondary"
            label={t`Rotate the secret`}
            icon={<RotateCw className="size-4" aria-hidden="true" />}
            title={t`Rotate the signing secret?`}
            confirm={t`Rotate the secret`}
            busy={rotate.isPending}
            onConfirm={() => rotate.mutate({ params: { id: webhook._id } }, { onError: toastError })}
          >
            <Trans>
              You get a new secret. For 24 hours deliveries are signed with both, so that you can switch
              without rejecting any. A secret from before the current one stops at once.
            </Trans>
          </ConfirmButton>
        </div>
      )}
    </section>
  );
}
