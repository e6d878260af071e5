import { z } from 'zod';
import { insertAgencyKey, pageOfAgencyKeys, revokeApiKey } from '#db/queries/accounts/api-keys.ts';
import { requireAgencyRoom } from '#db/queries/accounts/limits.ts';
import { ApiKeyInput, ApiKeyRecord } from '#domain/accounts/api-key-record.ts';
import { newApiKey } from '#domain/accounts/api-key.ts';
import { Id } from '#domain/base/ids.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, pageOfRecords, PageQuery } from '#api/http/page.ts';
import { agencyRoute } from '#api/http/route.ts';
import { expiryOf } from '../accounts/keys.ts';
import { activeWebhooks, EndWebhooks, leaveWebhooks } from '../accounts/webhooks-of-keys.ts';

const Done = z.object({ success: z.literal(true), activeWebhooks });

/** Keys are managed by signed-in users, never with another key. */
export const agencyKeyRoutes = [
  agencyRoute({
    id: 'listAgencyKeys',
    method: 'GET',
    path: '/api/agency/keys',
    tag: 'Keys',
    summary: 'List the API keys of the agency, newest first',
    credential: 'session',
    role: 'owner',
    query: PageQuery,
    responses: {
      200: z.object({ success: z.literal(true), keys: z.array(ApiKeyRecord), nextCursor: NextCursor }),
    },
    async handler({ db, caller, query }) {
      const rows = await pageOfAgencyKeys(db, caller.agency.id, query);
      const { items, nextCursor } = pageOfRecords(rows, query.limit);
      return { status: 200, body: { success: true, keys: items, nextCursor } };
    },
  }),
  agencyRoute({
    id: 'createAgencyKey',
    method: 'POST',
    path: '/api/agency/keys',
    tag: 'Keys',
    summary: 'Create an agency API key, which is returned only here',
    credential: 'session',
    role: 'owner',
    idempotent: true,
    body: ApiKeyInput,
    responses: {
      201: ApiKeyRecord.extend({
        success: z.literal(true),
        key: z.string().meta({ description: 'The key itself, returned only here.' }),
      }),
    },
    errors: ['LIMIT_REACHED'],
    audit: {
      action: 'key.created',
      target: 'key',
      targets: ({ answer }) => [{ id: answer._id }],
      changes: ['name', 'expiresAt', 'expiresInDays'],
    },
    async handler({ db, caller, body, now }) {
      await requireAgencyRoom(db, caller.agency.id, 'agencyKeys');
      const { key, ...stored } = newApiKey('agency');
      const settings = { name: body.name, expiresAt: expiryOf(body, now), userId: caller.userId };
      const record = await insertAgencyKey(db, caller.agency.id, stored, settings);
      return { status: 201, body: { success: true, ...record, key } };
    },
  }),
  agencyRoute({
    id: 'revokeAgencyKey',
    method: 'DELETE',
    path: '/api/agency/keys/{id}',
    tag: 'Keys',
    summary: 'Revoke an agency API key with immediate effect',
    credential: 'session',
    role: 'owner',
    params: z.object({ id: Id }),
    query: EndWebhooks,
    responses: { 200: Done },
    audit: {
      action: 'key.revoked',
      target: 'key',
      targets: ({ params, answer }) => [
        { id: params.id, changes: { activeWebhooks: answer.activeWebhooks } },
      ],
    },
    async handler({ db, caller, params, query }) {
      const store = { db, agencyId: caller.agency.id };
      if (!(await revokeApiKey(store, params.id))) throw new ApiError('NOT_FOUND', 'Key not found');
      const left = await leaveWebhooks(query, { ...store, keyIds: [params.id] });
      return { status: 200, body: { success: true, activeWebhooks: left } };
    },
  }),
];
