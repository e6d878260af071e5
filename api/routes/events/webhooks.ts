import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dropRetries, nextRetry } from '#db/commands/events/webhook-retries.ts';
import { wake } from '#db/wakes/wakes.ts';
import { oldestPending } from '#db/queries/events/webhook-deliveries.ts';
import {
  deleteWebhook,
  findWebhook,
  pageOfWebhooks,
  presentWebhook,
  rotateSecret,
  updateWebhook,
} from '#db/queries/events/webhooks.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Search } from '#domain/base/search.ts';
import { Id } from '#domain/base/ids.ts';
import { hasScope, isUnlimited } from '#domain/accounts/key-scope.ts';
import { newWebhookSecret } from '#domain/events/webhook-signature.ts';
import { ROTATION_HOURS, Webhook, WebhookInput, WebhookPatch } from '#domain/events/webhook.ts';
import { secretContext } from '#providers/secret-box.ts';
import { webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { checkFilters, checkWebhookUrl, registerWebhooks } from './webhook-registration.ts';

const FILTERS = ['lineIds', 'campaignIds', 'tags'] as const;

export const WebhookParams = z.object({ id: Id });

export const webhookNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Webhook not found');

/** Who may change webhooks sees their URLs. */
const seenBy = ({ key, role, isOfAgency }: WorkspaceCaller): 'url' | 'host' => {
  const mayChange = key ? hasScope(key.scopes, ['manage']) : role === 'org:admin' || isOfAgency === true;
  return mayChange ? 'url' : 'host';
};

const keyIdOf = ({ key, actor }: WorkspaceCaller): string | null => (key ? actor.id : null);

/** Whether a webhook must not outlive the credential. */
const isLimited = ({ key }: WorkspaceCaller): boolean => key !== null && !isUnlimited(key);

/**
 * A limited key that redirects a webhook of others, or learns its secret, reaches further than its own end.
 * @throws INSUFFICIENT_SCOPE
 */
async function refuseWebhookOfOthers(db: TenantDb, caller: WorkspaceCaller, id: string): Promise<void> {
  if (!isLimited(caller)) return;
  const webhook = await findWebhook(db, id);
  if (!webhook || webhook.madeByKeyId === caller.actor.id) return;
  throw new ApiError(
    'INSUFFICIENT_SCOPE',
    'A key that ends or is limited changes the URL and the secret of its own webhooks only',
    { required: 'manage' },
  );
}

export const webhookRoutes = [
  workspaceRoute({
    id: 'listWebhooks',
    method: 'GET',
    path: '/api/webhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    query: PageQuery.extend({ search: Search }),
    responses: {
      200: z.object({ success: z.literal(true), webhooks: z.array(Webhook), nextCursor: NextCursor }),
    },
    async handler({ db, query, caller }) {
      const { items, nextCursor } = page(await pageOfWebhooks(db, query), query.limit);
      const webhooks = items.map((row) => presentWebhook(row, seenBy(caller)));
      return { status: 200, body: { success: true, webhooks, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createWebhook',
    method: 'POST',
    path: '/api/webhooks',
    tag: 'Webhooks',
    role: 'admin',
    summary: 'Register a webhook',
    description:
      'The signing secret is returned only here. Deliveries follow the Standard Webhooks specification. A webhook made by a key that expires, or lacks scopes or networks, ends with the key; it is passed on when the key is rolled. To keep it, an admin activates it.',
    idempotent: true,
    adds: 'webhooks',
    body: WebhookInput,
    responses: {
      201: z.object({
        success: z.literal(true),
        webhook: Webhook.extend({ secret: z.string() }),
        secret: z.string(),
      }),
    },
    errors: ['URL_NOT_ALLOWED', 'NOT_FOUND'],
    check: ({ body, egress }) => checkWebhookUrl(body.url, { egress }),
    audit: {
      action: 'webhook.created',
      target: 'webhook',
      targets: ({ answer }) => [{ id: answer.webhook._id }],
      changes: ['name', 'events', ...FILTERS, 'retries', 'isActive'],
    },
    async handler({ db, caller, body, secrets }) {
      await checkFilters(db, body);
      const registeredByKeyId = keyIdOf(caller);
      const end = { registeredByKeyId, madeByKeyId: isLimited(caller) ? registeredByKeyId : null };
      const [webhook] = await registerWebhooks(db, [db.workspaceId], body, { secrets }, end);
      if (!webhook) throw new Error('the inserted webhook was not returned');
      return { status: 201, body: { success: true, webhook, secret: webhook.secret } };
    },
  }),

  workspaceRoute({
    id: 'getWebhook',
    method: 'GET',
    path: '/api/webhooks/{id}',
    tag: 'Webhooks',
    summary: 'Get a webhook',
    params: WebhookParams,
    responses: { 200: z.object({ success: z.literal(true), webhook: Webhook }) },
    errors: ['NOT_FOUND'],
    async handler({ db, params, caller }) {
      const row = await findWebhook(db, params.id);
      if (!row) throw webhookNotFound();
      return { status: 200, body: { success: true, webhook: presentWebhook(row, seenBy(caller)) } };
    },
  }),

  workspaceRoute({
    id: 'updateWebhook',
    method: 'PATCH',
    path: '/api/webhooks/{id}',
    tag: 'Webhooks',
    role: 'admin',
    summary: 'Update a webhook',
    description:
      'Pending deliveries go to the new URL. With `isActive: false` deliveries stop at once. Pending ones are sent when the webhook is active again; events in the meantime are not delivered.',
    params: WebhookParams,
    body: WebhookPatch,
    responses: { 200: z.object({ success: z.literal(true), webhook: Webhook }) },
    errors: ['NOT_FOUND', 'URL_NOT_ALLOWED', 'INSUFFICIENT_SCOPE'],
    async check({ body, egress }) {
      if (body.url !== undefined) await checkWebhookUrl(body.url, { egress });
    },
    audit: {
      action: 'webhook.updated',
      target: 'webhook',
      changes: ['name', 'events', ...FILTERS, 'retries', 'isActive'],
    },
    async handler({ db, caller, params, body, now }) {
      if (body.url !== undefined) await refuseWebhookOfOthers(db, caller, params.id);
      await checkFilters(db, body);
      const row = await updateWebhook(db, params.id, body, {
        keyId: keyIdOf(caller),
        keeps: !isLimited(caller),
      });
      if (!row) throw webhookNotFound();
      if (body.retries === 'none') await dropRetries(db, row.id);
      if (body.isActive && ((await oldestPending(db)) || (await nextRetry(db))))
        wake(db, webhookDispatcherId(db.workspaceId), now, 'deliveriesDue');
      return { status: 200, body: { success: true, webhook: presentWebhook(row) } };
    },
  }),

  workspaceRoute({
    id: 'deleteWebhook',
    method: 'DELETE',
    path: '/api/webhooks/{id}',
    tag: 'Webhooks',
    role: 'admin',
    summary: 'Delete a webhook; its deliveries stop at once',
    params: WebhookParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'webhook.deleted', target: 'webhook' },
    async handler({ db, params }) {
      if (!(await deleteWebhook(db, params.id))) throw webhookNotFound();
      return { status: 200, body: { success: true } };
    },
  }),

  workspaceRoute({
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/api/webhooks/{id}/rotate-secret',
    tag: 'Webhooks',
    role: 'admin',
    idempotent: true,
    summary: "Rotate a webhook's signing secret",
    description: `The new secret is returned only here. For ${ROTATION_HOURS} hours deliveries are signed with both secrets, so that receivers can switch without rejecting any. An older secret that was still in use stops signing at once.`,
    params: WebhookParams,
    responses: {
      200: z.object({
        success: z.literal(true),
        webhook: Webhook,
        secret: z.string(),
        previousSecretExpiresAt: z.iso.datetime().nullable(),
      }),
    },
    errors: ['NOT_FOUND', 'INSUFFICIENT_SCOPE'],
    audit: { action: 'webhook.secret_rotated', target: 'webhook' },
    async handler({ db, caller, params, secrets }) {
      await refuseWebhookOfOthers(db, caller, params.id);
      const secret = newWebhookSecret();
      const row = await rotateSecret(
        db,
        params.id,
        secrets.seal(secret, secretContext('webhook', db.workspaceId, params.id)),
      );
      if (!row) throw webhookNotFound();
      const previousSecretExpiresAt = row.previousSecretUntil?.toISOString() ?? null;
      return {
        status: 200,
        body: { success: true, webhook: presentWebhook(row), secret, previousSecretExpiresAt },
      };
    },
  }),
];
