import { Trans, useLingui } from '@lingui/react/macro';
import { Trash2 } from 'lucide-react';
import { useWrite } from '#console/api/queries.ts';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Webhook, webhookName } from './webhook.ts';

/** Deletes a webhook: of this workspace, or for an agency of any client. */
export function DeleteWebhook({
  webhook,
  endpoint,
  onDeleted,
}: {
  webhook: Webhook;
  endpoint: 'DELETE /api/webhooks/{id}' | 'DELETE /api/agency/webhooks/{id}';
  onDeleted: () => void;
}) {
  const { t } = useLingui();
  const name = webhookName(webhook);
  const remove = useWrite(endpoint, { refresh: ['GET /api/webhooks', 'GET /api/agency/webhooks'] });
  return (
    <section className="flex flex-wrap items-center justify-between gap-3 border-t border-line pt-5">
      <div>
        <h3 className="font-medium">
          <Trans>Delete the webhook</Trans>
        </h3>
        <p className="text-muted">
          <Trans>Its deliveries stop at once.</Trans>
        </p>
      </div>
      <ConfirmButton
        label={t`Delete`}
        icon={<Trash2 className="size-4" aria-hidden="true" />}
        title={t`Delete ${name}?`}
        confirm={t`Delete the webhook`}
        busy={remove.isPending}
        onConfirm={() =>
          remove.mutate(
            { params: { id: webhook._id } },
            {
              onSuccess: () => toast(t`The webhook was deleted`),
              whileShown: onDeleted,
              onError: toastError,
            },
          )
        }
      >
        <Trans>
          Its deliveries stop at once, also those that are pending. This cannot be undone; to stop deliveries
          for a while, turn the webhook off.
        </Trans>
      </ConfirmButton>
    </section>
  );
}
