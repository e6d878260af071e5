import { z } from 'zod';
import {
  findFallbackConfig,
  lockFallbackConfig,
  saveFallbackConfig,
} from '#db/queries/sending/fallback-config.ts';
import {
  FallbackConfig,
  FallbackConfigPatch,
  missingField,
  patchFallbackConfig,
} from '#domain/messages/fallback-config.ts';
import { secretContext } from '#providers/secret-box.ts';
import { invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { requireKnownFields, Strictness } from './known-fields.ts';

const ResponseBody = z.object({ success: z.literal(true), config: FallbackConfig.nullable() });

export const fallbackConfigRoutes = [
  workspaceRoute({
    id: 'getFallbackConfig',
    method: 'GET',
    path: '/api/workspace/fallback-config',
    tag: 'Workspace',
    summary: 'Get the SMS fallback of the workspace; null until it is configured',
    responses: { 200: ResponseBody },
    async handler({ db }) {
      return { status: 200, body: { success: true, config: await findFallbackConfig(db) } };
    },
  }),

  workspaceRoute({
    id: 'updateFallbackConfig',
    method: 'PATCH',
    path: '/api/workspace/fallback-config',
    tag: 'Workspace',
    role: 'admin',
    mode: 'live',
    summary: 'Configure the SMS fallback; omitted fields do not change',
    query: Strictness,
    body: FallbackConfigPatch,
    responses: { 200: ResponseBody },
    audit: { action: 'fallback.updated', target: 'workspace', changes: ['enabled', 'provider'] },
    async handler({ db, query, body, secrets, config: { production } }) {
      if (query.refuseUnknownFields === 'true')
        await requireKnownFields(db, [['defaultMessage', body.defaultMessage]]);
      await lockFallbackConfig(db);
      const patched = patchFallbackConfig(await findFallbackConfig(db), body);
      if (!patched) throw invalid('provider', 'is required');
      if (patched.provider === 'simulated' && production)
        throw invalid('provider', 'simulated is not available in production');
      const context = secretContext('fallback', db.workspaceId, 'auth-token');
      const sealedKey = (key: string | null): string | null =>
        key === null ? null : secrets.seal(key, secretContext('fallback', db.workspaceId, 'shared-key'));
      const config = await saveFallbackConfig(db, {
        ...patched,
        ...(body.authToken !== undefined && { authTokenSealed: secrets.seal(body.authToken, context) }),
        ...(body.sharedKeySecret !== undefined && { sharedKeySealed: sealedKey(body.sharedKeySecret) }),
      });
      const missing = missingField(config);
      if (missing) throw invalid(missing.field, missing.message);
      return { status: 200, body: { success: true, config } };
    },
  }),
];
