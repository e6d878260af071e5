import type { Context } from 'koa';
import { acceptMessage } from '#db/commands/messages/accept-messages.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { workspaceCountry, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { crmConnectionOfAccount, findCrmConnection } from '#db/queries/crm/crm-connections.ts';
import { logCrm } from '#db/queries/crm/crm-log.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { currentTime } from '#domain/base/clock.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { CrmProviderName } from '#domain/crm/crm.ts';
import { crmCorrelationId } from '#domain/crm/change.ts';
import { acceptedMessageOf, CRM_SOURCE } from '#domain/messages/accepted-message.ts';
import { MessageInput } from '#domain/messages/message.ts';
import { literalTemplate } from '#domain/messages/template.ts';
import { BadCrmSignature, type CrmProvider, type CrmWritten } from '#providers/crms/crm.ts';
import { crmTokenContext } from '#providers/crms/token.ts';
import { readUtf8Body } from '#api/http/body.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { refuseSignature } from '#api/http/refuse-signature.ts';
import { requestHash, withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { publicRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

const MAX_ATTACHMENTS = 2;

export const crmCallbackRoutes = [
  /** Providers repeat what they get no 2xx response for. */
  publicRoute({
    id: 'crmCallback',
    method: 'POST',
    path: '/callbacks/crms/{provider}',
    tag: 'Callbacks',
    summary: 'Receive what people write to contacts in connected CRMs, verified as their provider documents',
    contentTypes: { 200: 'application/json' },
    errors: ['NOT_FOUND', 'VALIDATION_ERROR', 'UNAUTHORIZED', 'BODY_TOO_LARGE'],
    async respond(context, services) {
      const provider = providerOf(context, services);
      const written = await readWritten(context, provider, services);
      if (written) await send(provider, written, services);
      context.body = {};
    },
  }),
];

/** @throws NOT_FOUND */
function providerOf(context: Context, { crms }: Services): CrmProvider {
  const { provider: given } = context['params'] as Record<string, string>;
  const name = CrmProviderName.safeParse(given);
  const provider = name.success ? crms[name.data] : null;
  if (!provider?.read) throw new ApiError('NOT_FOUND');
  return provider;
}

/** @throws UNAUTHORIZED, VALIDATION_ERROR; RATE_LIMITED after too many requests from one client that are not the provider's. */
async function readWritten(
  context: Context,
  provider: CrmProvider,
  services: Services,
): Promise<CrmWritten | null> {
  const body = await readUtf8Body(context);
  try {
    return provider.read?.({ body, header: (name) => context.get(name) }) ?? null;
  } catch (error) {
    if (!(error instanceof BadCrmSignature)) throw error;
    return refuseSignature(context, services);
  }
}

/** Sends what was written, once. What cannot be sent is reported to the CRM, and shown in the log of the connection. */
async function send(provider: CrmProvider, written: CrmWritten, services: Services): Promise<void> {
  const { pools, secrets, logger } = services;
  const { accountId, contactId, messageId } = written;
  const place = await crmConnectionOfAccount(systemDb(pools), provider.name, accountId);
  if (!place) return;
  const { workspaceId, id } = place;
  try {
    await withTenant(pools, workspaceId, async (db) => {
      const keyed = { route: 'crmCallback', key: messageId, hash: await requestHash(written) };
      await withIdempotencyKey(workspaceKeys(db), keyed, secrets, async () => {
        await accept(db, provider, written, services);
        return { status: 200, body: {} };
      });
    });
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof ApiError)) throw error;
    const now = currentTime();
    const reason = error.message;
    const connection = await withTenant(pools, workspaceId, async (db) => {
      await logCrm(
        db,
        id,
        [{ direction: 'in', subject: 'message', outcome: 'refused', reason, contactId }],
        now,
      );
      return findCrmConnection(db, id);
    });
    if (!connection) return;
    const token = secrets.open(connection.tokenSealed, crmTokenContext(workspaceId, id));
    const change = { kind: 'status', messageId, isDelivered: false, reason, at: now } as const;
    await provider.push({ accountId, token }, contactId, change).catch((failure: unknown) => {
      logger.warn(
        { workspaceId, connectionId: id, error: failure },
        'the CRM did not receive that a message cannot be sent',
      );
    });
  }
}

/** @throws Refusal, ApiError */
async function accept(
  db: TenantDb,
  provider: CrmProvider,
  { accountId, contactId, messageId, phone, text, attachmentUrls }: CrmWritten,
  { links }: Services,
): Promise<void> {
  await requireSending(db);
  const now = currentTime();
  const workspace = { timezone: await workspaceTimezone(db), country: await workspaceCountry(db) };
  const parsed = MessageInput.safeParse({
    message: literalTemplate(text),
    recipientPhone: phone,
    correlationId: crmCorrelationId(provider.name, messageId),
    ...(attachmentUrls.length > 0 && { attachmentUrls: attachmentUrls.slice(0, MAX_ATTACHMENTS) }),
    ...provider.idsOf(accountId, contactId),
  });
  if (!parsed.success) throw invalid('message', 'cannot be sent');
  const context = await loadIntakeContext(db, [parsed.data], workspace, { links, now });
  const accepted = acceptedMessageOf(parsed.data, context, {
    now,
    source: CRM_SOURCE,
    schedule: now,
    userId: null,
  });
  await acceptMessage(db, accepted, now);
}
