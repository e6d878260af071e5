import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { campaignNames } from '#db/queries/campaigns/campaigns.ts';
import { insertWebhooks, presentWebhook, type WebhookEnd } from '#db/queries/events/webhooks.ts';
import { existingLines } from '#db/queries/lines/lines.ts';
import { newId } from '#domain/base/ids.ts';
import { newWebhookSecret } from '#domain/events/webhook-signature.ts';
import type { Webhook, WebhookInput, WebhookPatch } from '#domain/events/webhook.ts';
import { secretContext } from '#providers/secret-box.ts';
import { ApiError } from '#api/http/errors.ts';
import { allowedAddress } from '#api/http/allowed-address.ts';
import type { Services } from '#api/services.ts';

/** @throws URL_NOT_ALLOWED */
export async function checkWebhookUrl(url: string, { egress }: Pick<Services, 'egress'>): Promise<void> {
  await allowedAddress('url', egress.guard.checkUrl(url));
}

/** @throws NOT_FOUND if a filter names a line or a campaign that the workspace does not have. */
export async function checkFilters(
  db: TenantDb,
  { lineIds = [], campaignIds = [] }: Pick<WebhookPatch, 'lineIds' | 'campaignIds'>,
): Promise<void> {
  const lines = await existingLines(db, lineIds);
  const line = lineIds.findIndex((id) => !lines.has(id));
  if (line !== -1) throw new ApiError('NOT_FOUND', `lineIds[${line}]: no such line in this workspace`);
  const campaigns = await campaignNames(db, campaignIds);
  const campaign = campaignIds.findIndex((id) => !campaigns.has(id));
  if (campaign !== -1)
    throw new ApiError('NOT_FOUND', `campaignIds[${campaign}]: no such campaign in this workspace`);
}

/**
 * Registers a URL that passed `checkWebhookUrl` for one or more workspaces. Each gets a signing secret of its own, which is
 * returned only here.
 * @param end with which key they end, if they do.
 */
export async function registerWebhooks(
  db: TenantDb | SystemDb,
  workspaceIds: readonly string[],
  {
    name = '',
    retries = 'none',
    lineIds = [],
    campaignIds = [],
    tags = [],
    isActive = true,
    url,
    events,
  }: WebhookInput,
  { secrets }: Pick<Services, 'secrets'>,
  end: WebhookEnd = {},
): Promise<(Webhook & { secret: string })[]> {
  const webhooks = workspaceIds.map((workspaceId) => {
    const [id, secret] = [newId(), newWebhookSecret()];
    const secretSealed = secrets.seal(secret, secretContext('webhook', workspaceId, id));
    return { workspaceId, id, secret, secretSealed };
  });
  const secretOf = new Map(webhooks.map(({ id, secret }) => [id, secret]));
  const shared = { name, url, events, retries, lineIds, campaignIds, tags, isActive, ...end };
  const rows = await insertWebhooks(db, shared, webhooks);
  return rows.map((row) => ({ ...presentWebhook(row), secret: secretOf.get(row.id) ?? '' }));
}
