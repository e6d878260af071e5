import { passWebhooksOn } from '#db/queries/events/webhooks.ts';
import { z } from 'zod';
import { ensureTwin } from '#db/commands/test-mode/twin.ts';
import {
  endRolledKey,
  insertWorkspaceKey,
  lockWorkspaceKey,
  pageOfWorkspaceKeys,
  revokeApiKey,
} from '#db/queries/accounts/api-keys.ts';
import { withSystemShare } from '#db/connection/transactions.ts';
import {
  keyExpiry,
  RollKeyInput,
  rolledExpiry,
  WorkspaceKeyInput,
  WorkspaceKeyRecord,
} from '#domain/accounts/api-key-record.ts';
import { newApiKey } from '#domain/accounts/api-key.ts';
import { Id } from '#domain/base/ids.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, pageOfRecords, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { activeWebhooks, EndWebhooks, leaveWebhooks } from './webhooks-of-keys.ts';

const KeyParams = z.object({ id: Id });
const CreatedKey = WorkspaceKeyRecord.extend({
  success: z.literal(true),
  key: z.string().meta({ description: 'The key itself, returned only here.' }),
});
const RolledKey = CreatedKey.extend({
  previousKey: z.object({
    _id: Id,
    expiresAt: z.iso.datetime().meta({ description: 'When it ends.' }),
  }),
});
const Done = z.object({ success: z.literal(true), activeWebhooks });
const HOUR_MS = 3_600_000;

/** When a new key expires. @throws if that has passed: nobody would learn that the key never worked. */
export function expiryOf(body: Parameters<typeof keyExpiry>[0], now: Date): Date | null {
  const expiresAt = keyExpiry(body, now);
  if (expiresAt !== null && expiresAt <= now) throw invalid('expiresAt', 'must be in the future');
  return expiresAt;
}

/** Keys are managed by signed-in users, never with another key. */
export const workspaceKeyRoutes = [
  workspaceRoute({
    id: 'listKeys',
    method: 'GET',
    path: '/api/keys',
    tag: 'Keys',
    summary: 'List the API keys of the workspace, newest first',
    credential: 'session',
    mode: 'live',
    role: 'admin',
    query: PageQuery,
    responses: {
      200: z.object({ success: z.literal(true), keys: z.array(WorkspaceKeyRecord), nextCursor: NextCursor }),
    },
    async handler({ db, query }) {
      const { items, nextCursor } = pageOfRecords(await pageOfWorkspaceKeys(db, query), query.limit);
      return { status: 200, body: { success: true, keys: items, nextCursor } };
    },
  }),
  workspaceRoute({
    id: 'createKey',
    method: 'POST',
    path: '/api/keys',
    tag: 'Keys',
    summary: 'Create an API key, which is returned only here',
    credential: 'session',
    mode: 'live',
    role: 'admin',
    idempotent: true,
    adds: 'apiKeys',
    body: WorkspaceKeyInput,
    responses: { 201: CreatedKey },
    audit: {
      action: 'key.created',
      target: 'key',
      targets: ({ answer }) => [{ id: answer._id }],
      changes: ['name', 'expiresAt', 'expiresInDays', 'scopes', 'allowedIps', 'mode'],
    },
    async check({ caller, body, pools }) {
      const { id } = caller.workspace;
      if (body.mode === 'test') await withSystemShare(pools, id, (db) => ensureTwin(db, id));
    },
    async handler({ db, caller, body, now }) {
      const { key, ...stored } = newApiKey('workspace', body.mode);
      const settings = { ...body, expiresAt: expiryOf(body, now), userId: caller.userId };
      const record = await insertWorkspaceKey(db, stored, settings);
      return { status: 201, body: { success: true, ...record, key } };
    },
  }),
  workspaceRoute({
    id: 'rollKey',
    method: 'POST',
    path: '/api/keys/{id}/roll',
    tag: 'Keys',
    summary: 'Replace an API key by a new one with the same settings',
    description:
      'Both keys work for `overlapHours`; then the old key expires. If the old key had an expiry, the new key is valid for the same period.',
    credential: 'session',
    mode: 'live',
    role: 'admin',
    idempotent: true,
    adds: 'apiKeys',
    params: KeyParams,
    body: RollKeyInput,
    responses: { 201: RolledKey },
    errors: ['INVALID_STATE'],
    audit: {
      action: 'key.rolled',
      target: 'key',
      targets: ({ answer }) => [
        { id: answer.previousKey._id, changes: { expiresAt: answer.previousKey.expiresAt } },
        { id: answer._id, action: 'key.created', changes: { name: answer.name } },
      ],
    },
    async handler({ db, caller, params, body, now }) {
      const old = await lockWorkspaceKey(db, params.id);
      if (!old) throw new ApiError('NOT_FOUND', 'Key not found');
      if (!old.usable) throw new ApiError('INVALID_STATE', 'The key is revoked or has expired');
      // Its expiry is now the end of the overlap, which a second successor would inherit.
      if (old.rolledAt !== null)
        throw new ApiError('INVALID_STATE', 'The key was already rolled: roll its successor');
      const { key, ...stored } = newApiKey('workspace', old.mode);
      const record = await insertWorkspaceKey(db, stored, {
        ...old,
        expiresAt: rolledExpiry(old, now),
        userId: caller.userId,
      });
      await passWebhooksOn(db, { from: old.id, to: record._id });
      const endsAt = await endRolledKey(db, old.id, new Date(now.getTime() + body.overlapHours * HOUR_MS));
      const previousKey = { _id: old.id, expiresAt: endsAt.toISOString() };
      return { status: 201, body: { success: true, ...record, key, previousKey } };
    },
  }),
  workspaceRoute({
    id: 'revokeKey',
    method: 'DELETE',
    path: '/api/keys/{id}',
    tag: 'Keys',
    summary: 'Revoke an API key with immediate effect',
    credential: 'session',
    mode: 'live',
    role: 'admin',
    params: KeyParams,
    query: EndWebhooks,
    responses: { 200: Done },
    audit: {
      action: 'key.revoked',
      target: 'key',
      targets: ({ params, answer }) => [
        { id: params.id, changes: { activeWebhooks: answer.activeWebhooks } },
      ],
    },
    async handler({ db, params, query }) {
      if (!(await revokeApiKey({ db }, params.id))) throw new ApiError('NOT_FOUND', 'Key not found');
      const left = await leaveWebhooks(query, { db, keyIds: [params.id] });
      return { status: 200, body: { success: true, activeWebhooks: left } };
    },
  }),
];
