import { t } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import type { Delivery, Webhook } from './webhook.ts';

/** What was sent, and beside it what the endpoint answered. */
export function Exchange({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/webhooks/{id}/deliveries/{deliveryId}', {
    params: { id: webhook._id, deliveryId: delivery.id },
  });
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={3} />;
  const { requestBody, responseBody, responseStatus } = data.delivery;
  return (
    <div className="mt-3 grid gap-3 md:grid-cols-2">
      <Part title={t`Request`} body={requestBody} none={t`The payload was erased with its contact.`} />
      <Part
        title={responseStatus === null ? t`Response` : t`Response ${responseStatus}`}
        body={responseBody}
        none={noResponse(delivery)}
      />
    </div>
  );
}

function noResponse({ success, responseStatus, isReplayOf }: Delivery): string {
  if (success === null) return t`There is none yet.`;
  if (responseStatus === null) return t`There was none.`;
  if (success) return t`The bodies of successful responses are not kept.`;
  return isReplayOf === undefined ? t`It had no body.` : t`The bodies of responses to replays are not kept.`;
}

const Part = ({ title, body, none }: { title: string; body: string | null; none: string }) => (
  <section aria-label={title} className="min-w-0">
    <h3 className="mb-1 text-xs font-medium text-muted">{title}</h3>
    {body === null ? (
      <p className="text-xs text-muted">{none}</p>
    ) : (
      <pre
        // Scrolls, also by the keyboard.
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-lg border border-line bg-surface p-2 font-mono text-xs"
      >
        {indented(body)}
      </pre>
    )}
  </section>
);

/** JSON in lines; any other text as it is. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
