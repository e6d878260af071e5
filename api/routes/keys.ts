import { z } from 'zod';
import { insertApiKey, type KeyStore, listApiKeys, revokeApiKey } from '#db/queries/api-keys.ts';
import { requireAgencyRoom } from '#db/queries/limits.ts';
import { ApiKeyInput, ApiKeyRecord } from '#domain/api-key-record.ts';
import { type ApiKeyKind, newApiKey } from '#domain/api-key.ts';
import { Id } from '#domain/ids.ts';
import { ApiError } from '../http/errors.ts';
import { agencyRoute, workspaceRoute } from '../http/route.ts';

const KeyParams = z.object({ id: Id });
const KeyList = z.object({ success: z.literal(true), keys: z.array(ApiKeyRecord) });
const CreatedKey = ApiKeyRecord.extend({
  success: z.literal(true),
  key: z.string().meta({ description: 'The key itself, returned only here.' }),
});
const Done = z.object({ success: z.literal(true) });

async function create(
  store: KeyStore,
  kind: ApiKeyKind,
  input: z.output<typeof ApiKeyInput>,
  userId: string | null,
) {
  const { key, ...stored } = newApiKey(kind);
  const expiresAt = input.expiresAt ? new Date(input.expiresAt) : null;
  const record = await insertApiKey(store, stored, { name: input.name, expiresAt, userId });
  return { status: 201, body: { success: true, ...record, key } } as const;
}

async function revoke(store: KeyStore, id: string) {
  if (!(await revokeApiKey(store, id))) throw new ApiError('NOT_FOUND', 'Key not found');
  return { status: 200, body: { success: true } } as const;
}

/** Keys are managed by signed-in users, never with another key. */
export const workspaceKeyRoutes = [
  workspaceRoute({
    id: 'listKeys',
    method: 'GET',
    path: '/api/keys',
    tag: 'Keys',
    summary: 'List the API keys of the workspace',
    credential: 'session',
    role: 'admin',
    responses: { 200: KeyList },
    async handler({ db }) {
      return {
        status: 200,
        body: { success: true, keys: await listApiKeys({ db, workspaceId: db.workspaceId }) },
      };
    },
  }),
  workspaceRoute({
    id: 'createKey',
    method: 'POST',
    path: '/api/keys',
    tag: 'Keys',
    summary: 'Create an API key, which is returned only here',
    credential: 'session',
    role: 'admin',
    idempotent: true,
    adds: 'apiKeys',
    body: ApiKeyInput,
    responses: { 201: CreatedKey },
    audit: {
      action: 'key.created',
      target: 'key',
      targets: ({ answer }) => [{ id: answer._id }],
      changes: ['name', 'expiresAt'],
    },
    handler: ({ db, caller, body }) =>
      create({ db, workspaceId: db.workspaceId }, 'workspace', body, caller.userId),
  }),
  workspaceRoute({
    id: 'revokeKey',
    method: 'DELETE',
    path: '/api/keys/{id}',
    tag: 'Keys',
    summary: 'Revoke an API key with immediate effect',
    credential: 'session',
    role: 'admin',
    params: KeyParams,
    responses: { 200: Done },
    audit: { action: 'key.revoked', target: 'key' },
    handler: ({ db, params }) => revoke({ db, workspaceId: db.workspaceId }, params.id),
  }),
];

export const agencyKeyRoutes = [
  agencyRoute({
    id: 'listAgencyKeys',
    method: 'GET',
    path: '/api/agency/keys',
    tag: 'Keys',
    summary: 'List the API keys of the agency',
    credential: 'session',
    role: 'owner',
    responses: { 200: KeyList },
    async handler({ db, caller }) {
      return {
        status: 200,
        body: { success: true, keys: await listApiKeys({ db, agencyId: caller.agency.id }) },
      };
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
    responses: { 201: CreatedKey },
    errors: ['LIMIT_REACHED'],
    audit: {
      action: 'key.created',
      target: 'key',
      targets: ({ answer }) => [{ id: answer._id }],
      changes: ['name', 'expiresAt'],
    },
    async handler({ db, caller, body }) {
      await requireAgencyRoom(db, caller.agency.id, 'agencyKeys');
      return create({ db, agencyId: caller.agency.id }, 'agency', body, caller.userId);
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
    params: KeyParams,
    responses: { 200: Done },
    audit: { action: 'key.revoked', target: 'key' },
    handler: ({ db, caller, params }) => revoke({ db, agencyId: caller.agency.id }, params.id),
  }),
];
