import type { TenantDb } from '#db/transactions.ts';
import { insertWebhook, presentWebhook } from '#db/queries/webhooks.ts';
import { newId } from '#domain/ids.ts';
import { newWebhookSecret } from '#domain/webhook-signature.ts';
import type { Webhook, WebhookInput } from '#domain/webhook.ts';
import { secretContext } from '#providers/secret-box.ts';
import { allowedAddress } from './http/allowed-address.ts';
import type { Services } from './services.ts';

/** @throws URL_NOT_ALLOWED */
export async function checkWebhookUrl(url: string, { egress }: Pick<Services, 'egress'>): Promise<void> {
  await allowedAddress('url', egress.guard.checkUrl(url));
}

/** Registers a URL that passed `checkWebhookUrl`, with a new signing secret, which is returned only here. */
export async function registerWebhook(
  db: TenantDb,
  { name, url, events }: WebhookInput,
  { secrets }: Pick<Services, 'secrets'>,
): Promise<Webhook & { secret: string }> {
  const id = newId();
  const secret = newWebhookSecret();
  const row = await insertWebhook(db, {
    id,
    name: name ?? '',
    url,
    events: [...new Set(events)],
    secretSealed: secrets.seal(secret, secretContext('webhook', db.workspaceId, id)),
  });
  return { ...presentWebhook(row), secret };
}
