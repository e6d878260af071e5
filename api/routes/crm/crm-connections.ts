import { z } from 'zod';
import { retryCrmSetAside } from '#db/commands/crm/crm-outbox.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findList } from '#db/queries/contacts/lists.ts';
import {
  deleteCrmConnection,
  findCrmConnection,
  insertCrmConnection,
  listCrmConnections,
  lockCrmConnectionOf,
  presentCrmConnection,
  reconnectCrm,
  resumeCrm,
  showCrmConnection,
} from '#db/queries/crm/crm-connections.ts';
import { pageOfCrmLog, presentCrmLogEntry } from '#db/queries/crm/crm-log.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { isUnlimited } from '#domain/accounts/key-scope.ts';
import { realTime } from '#domain/base/clock.ts';
import { Id, newId } from '#domain/base/ids.ts';
import { CrmConnection, CrmConnectionInput, CrmLogEntry } from '#domain/crm/crm.ts';
import { CrmDenied, CrmRefused, CrmUnavailable } from '#providers/crms/crm.ts';
import { crmTokenContext } from '#providers/crms/token.ts';
import { crmConnectionId } from '#workflows/protocol/workflow-ids.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { requestHash, withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ConnectionParams = z.object({ id: Id });
const OneConnection = CrmConnection.extend({ success: z.literal(true) });

const connectionNotFound = (): ApiError => new ApiError('NOT_FOUND', 'CRM connection not found');

export const crmConnectionRoutes = [
  workspaceRoute({
    id: 'listCrmConnections',
    method: 'GET',
    path: '/api/crm-connections',
    tag: 'Contacts',
    summary: 'List the connected CRMs',
    responses: { 200: z.object({ success: z.literal(true), crmConnections: z.array(CrmConnection) }) },
    async handler({ db }) {
      const crmConnections = (await listCrmConnections(db)).map(presentCrmConnection);
      return { status: 200, body: { success: true, crmConnections } };
    },
  }),

  workspaceRoute({
    id: 'createCrmConnection',
    method: 'POST',
    path: '/api/crm-connections',
    tag: 'Contacts',
    scope: 'manage',
    role: 'admin',
    mode: 'live',
    idempotent: true,
    transaction: false,
    summary: 'Connect a CRM, or connect it again with another token',
    description:
      "Its contacts become leads, and are kept up to date; messages, replies, calls and opt-outs of these leads are pushed to it. A key needs all scopes, and has neither an expiry nor `allowedIps`: the connection would outlive it. A workspace has one connection to a provider. The token's scopes are checked first.",
    body: CrmConnectionInput,
    responses: { 201: OneConnection },
    errors: ['INVALID_STATE', 'UNAVAILABLE'],
    audit: {
      action: 'crm_connection.created',
      target: 'crm_connection',
      targets: 'handler',
      changes: ['provider', 'listId', 'campaignId', 'createContacts'],
    },
    async handler({ caller, body, header, now, pools, crms, secrets, audit }) {
      if (caller.key !== null && !isUnlimited(caller.key))
        throw new ApiError(
          'INSUFFICIENT_SCOPE',
          'A key connects a CRM only if it has all scopes, and neither an expiry nor allowed addresses',
          { required: 'manage' },
        );
      const { token: given, accountId: named = null, ...input } = body;
      const { accountId, token } = await crms[input.provider]
        .connect({ accountId: named, token: given })
        .catch(refuse);
      const key = header('idempotency-key');
      const keyed = { route: 'createCrmConnection', key, hash: key === '' ? '' : await requestHash(body) };
      const answer = await withTenant(pools, caller.workspace.id, (db) =>
        withIdempotencyKey(workspaceKeys(db), keyed, secrets, async () => {
          await requireKnown(db, input);
          const known = await lockCrmConnectionOf(db, input.provider);
          if (known && known.accountId !== accountId)
            throw new ApiError('INVALID_STATE', 'Another account is connected: disconnect it first');
          const id = known?.id ?? newId(now);
          const tokenSealed = secrets.seal(token, crmTokenContext(db.workspaceId, id));
          if (known) await reconnectCrm(db, { id, tokenSealed }, input);
          else {
            const given = { id, accountId, tokenSealed, userId: caller.userId, readFrom: realTime() };
            if (!(await insertCrmConnection(db, body, given, now)))
              throw new ApiError('INVALID_STATE', 'The CRM is being connected already');
          }
          await audit(db, [{ id }]);
          wake(db, crmConnectionId(id), now, 'connected');
          const row = await showCrmConnection(db, id);
          if (!row) throw connectionNotFound();
          return { status: 201, body: { success: true, ...presentCrmConnection(row) } };
        }),
      );
      return { ...answer, status: 201, body: OneConnection.parse(answer.body) };
    },
  }),

  workspaceRoute({
    id: 'getCrmConnection',
    method: 'GET',
    path: '/api/crm-connections/{id}',
    tag: 'Contacts',
    summary: 'Get a connected CRM',
    params: ConnectionParams,
    responses: { 200: OneConnection },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const row = await showCrmConnection(db, params.id);
      if (!row) throw connectionNotFound();
      return { status: 200, body: { success: true, ...presentCrmConnection(row) } };
    },
  }),

  workspaceRoute({
    id: 'listCrmLog',
    method: 'GET',
    path: '/api/crm-connections/{id}/log',
    tag: 'Contacts',
    summary: 'List what was read from a CRM and pushed to it, what was refused, and conflicts, newest first',
    description: 'Entries are kept for 30 days.',
    params: ConnectionParams,
    query: PageQuery.extend({ outcome: CrmLogEntry.shape.outcome.optional() }),
    responses: {
      200: z.object({ success: z.literal(true), entries: z.array(CrmLogEntry), nextCursor: NextCursor }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, query }) {
      if (!(await findCrmConnection(db, params.id))) throw connectionNotFound();
      const { items, nextCursor } = page(await pageOfCrmLog(db, params.id, query), query.limit);
      return { status: 200, body: { success: true, entries: items.map(presentCrmLogEntry), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'checkCrmConnection',
    method: 'POST',
    path: '/api/crm-connections/{id}/check',
    tag: 'Contacts',
    mode: 'live',
    transaction: false,
    summary:
      'Check the token of a connected CRM, and synchronize at once if it is accepted, what was set aside as well',
    params: ConnectionParams,
    responses: { 200: OneConnection },
    errors: ['NOT_FOUND', 'UNAVAILABLE'],
    async handler({ caller, params, now, pools, crms, secrets }) {
      const workspaceId = caller.workspace.id;
      const row = await withTenant(pools, workspaceId, (db) => findCrmConnection(db, params.id));
      if (!row) throw connectionNotFound();
      const token = secrets.open(row.tokenSealed, crmTokenContext(workspaceId, row.id));
      await crms[row.provider].connect({ accountId: row.accountId, token }).catch(refuse);
      const shown = await withTenant(pools, workspaceId, async (db) => {
        await resumeCrm(db, row.id);
        await retryCrmSetAside(db, row.id);
        wake(db, crmConnectionId(row.id), now, 'connected');
        return showCrmConnection(db, row.id);
      });
      if (!shown) throw connectionNotFound();
      return { status: 200, body: { success: true, ...presentCrmConnection(shown) } };
    },
  }),

  workspaceRoute({
    id: 'deleteCrmConnection',
    method: 'DELETE',
    path: '/api/crm-connections/{id}',
    tag: 'Contacts',
    summary: 'Disconnect a CRM and delete its token; leads remain',
    params: ConnectionParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'crm_connection.deleted', target: 'crm_connection' },
    async handler({ db, params, now }) {
      if (!(await deleteCrmConnection(db, params.id))) throw connectionNotFound();
      wake(db, crmConnectionId(params.id), now, 'connected');
      return { status: 200, body: { success: true } };
    },
  }),
];

/** @throws VALIDATION_ERROR if the provider refuses the token; UNAVAILABLE if it does not answer. */
function refuse(error: unknown): never {
  if (error instanceof CrmDenied) throw invalid(error.field, error.message);
  if (error instanceof CrmUnavailable || error instanceof CrmRefused)
    throw new ApiError('UNAVAILABLE', error.message);
  throw error;
}

/** @throws VALIDATION_ERROR naming what does not exist. */
async function requireKnown(
  db: TenantDb,
  { listId, campaignId }: Pick<CrmConnectionInput, 'listId' | 'campaignId'>,
): Promise<void> {
  if (listId !== undefined && !(await findList(db, listId)))
    throw invalid('listId', 'must be a list of the workspace');
  if (campaignId === undefined) return;
  const campaign = await findCampaign(db, campaignId);
  if (!campaign) throw invalid('campaignId', 'must be a campaign of the workspace');
  if (campaign.status === 'archived') throw invalid('campaignId', 'must not be archived');
}
