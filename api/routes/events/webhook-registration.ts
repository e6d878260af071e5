import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { insertWebhooks, presentWebhook, type WebhookEnd } from '#db/queries/events/webhooks.ts';
import { newId } from '#domain/base/ids.ts';
import { newWebhookSecret } from '#domain/events/webhook-signature.ts';
import type { Webhook, WebhookInput } from '#domain/events/webhook.ts';
import { secretContext } from '#providers/secret-box.ts';
import { allowedAddress } from '#api/http/allowed-address.ts';
import type { Services } from '#api/services.ts';

/** @throws URL_NOT_ALLOWED */
export async function checkWebhookUrl(url: string, { egress }: Pick<Services, 'egress'>): Promise<void> {
  await allowedAddress('url', egress.guard.checkUrl(url));
}

/**
 * Registers a URL that passed `checkWebhookUrl` for one or more workspaces. Each gets a signing secret of its own, which is
 * returned only here.
 * @param end with which key they end, if they do.
 */
export async function registerWebhooks(
  db: TenantDb | SystemDb,
  workspaceIds: readonly string[],
  { name, url, events }: WebhookInput,
  { secrets }: Pick<Services, 'secrets'>,
  end: WebhookEnd = {},
): Promise<(Webhook & { secret: string })[]> {
  const webhooks = workspaceIds.map((workspaceId) => {
    const [id, secret] = [newId(), newWebhookSecret()];
    const secretSealed = secrets.seal(secret, secretContext('webhook', workspaceId, id));
    return { workspaceId, id, secret, secretSealed };
  });
  const secretOf = new Map(webhooks.map(({ id, secret }) => [id, secret]));
  const shared = { name: name ?? '', url, events: [...new Set(events)], ...end };
  const rows = await insertWebhooks(db, shared, webhooks);
  return rows.map((row) => ({ ...presentWebhook(row), secret: secretOf.get(row.id) ?? '' }));
}
