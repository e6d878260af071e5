import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Secret } from './secret.tsx';
import { DELIVERING, DELIVERING_FIELDS, WebhookFilters } from './webhook-filters.tsx';
import { WebhookForm } from './webhook-form.tsx';

/** Adds a webhook to the workspace. */
export function CreateWebhook({ close }: { close: () => void }) {
  const [delivering, setDelivering] = useState(DELIVERING);
  const { mutate, data, isPending, error } = useWrite('POST /api/webhooks', {
    refresh: ['GET /api/webhooks'],
  });
  return (
    <WebhookForm
      close={close}
      create={(body) => mutate({ body: { ...body, ...delivering } })}
      fields={DELIVERING_FIELDS}
      more={<WebhookFilters values={delivering} onChange={setDelivering} error={error} />}
      secrets={data && <Secret secret={data.secret} />}
      busy={isPending}
      error={error}
    />
  );
}
