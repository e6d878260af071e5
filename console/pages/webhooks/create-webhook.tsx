import { useWrite } from '#console/api/queries.ts';
import { Secret } from './secret.tsx';
import { WebhookForm } from './webhook-form.tsx';

/** Adds a webhook to the workspace. */
export function CreateWebhook({ close }: { close: () => void }) {
  const { mutate, data, isPending, error } = useWrite('POST /api/webhooks', {
    refresh: ['GET /api/webhooks'],
  });
  return (
    <WebhookForm
      close={close}
      create={(body) => mutate({ body })}
      secrets={data && <Secret secret={data.secret} />}
      busy={isPending}
      error={error}
    />
  );
}
