import { z } from 'zod';
import { findFallbackConfig, saveFallbackConfig } from '#db/queries/fallback-config.ts';
import { TemplateText } from '#domain/message.ts';
import { secretContext } from '#providers/secret-box.ts';
import { invalid } from '../http/errors.ts';
import { workspaceRoute } from '../http/route.ts';

/** The workspace's SMS account. The token is never returned. */
const FallbackConfig = z
  .object({
    enabled: z.boolean(),
    provider: z.enum(['twilio', 'simulated']),
    accountSid: z.string().nullable(),
    fromNumber: z.string().nullable(),
    messagingServiceSid: z.string().nullable(),
    defaultMessage: z.string().nullable(),
  })
  .meta({ id: 'FallbackConfig' });

const FallbackConfigPatch = z
  .object({
    enabled: z.boolean(),
    provider: z.enum(['twilio', 'simulated']),
    accountSid: z.string().max(100),
    authToken: z.string().min(1).max(200),
    fromNumber: z.string().max(40).nullable(),
    messagingServiceSid: z.string().max(100).nullable(),
    defaultMessage: TemplateText.max(1600).nullable(),
  })
  .partial()
  .meta({ id: 'FallbackConfigPatch' });

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
    summary: 'Configure the SMS fallback; omitted fields do not change',
    body: FallbackConfigPatch,
    responses: { 200: ResponseBody },
    audit: { action: 'fallback.updated', target: 'workspace', changes: ['enabled', 'provider'] },
    async handler({ db, body: { authToken, ...patch }, secrets, config: { production } }) {
      const before = await findFallbackConfig(db);
      const provider = patch.provider ?? before?.provider;
      if (!provider) throw invalid('provider', 'is required');
      if (provider === 'simulated' && production)
        throw invalid('provider', 'simulated is not available in production');
      const config = await saveFallbackConfig(db, {
        enabled: patch.enabled ?? before?.enabled ?? true,
        provider,
        accountSid: patch.accountSid ?? before?.accountSid ?? null,
        fromNumber: patch.fromNumber === undefined ? (before?.fromNumber ?? null) : patch.fromNumber,
        messagingServiceSid:
          patch.messagingServiceSid === undefined
            ? (before?.messagingServiceSid ?? null)
            : patch.messagingServiceSid,
        defaultMessage:
          patch.defaultMessage === undefined ? (before?.defaultMessage ?? null) : patch.defaultMessage,
        ...(authToken !== undefined && {
          authTokenSealed: secrets.seal(authToken, secretContext('fallback', db.workspaceId, 'auth-token')),
        }),
      });
      if (provider === 'twilio' && config.enabled) {
        if (config.accountSid === null) throw invalid('accountSid', 'is required for twilio');
        if (!config.hasAuthToken) throw invalid('authToken', 'is required for twilio');
        if (config.fromNumber === null && config.messagingServiceSid === null) {
          throw invalid('fromNumber', 'fromNumber or messagingServiceSid is required for twilio');
        }
      }
      return { status: 200, body: { success: true, config } };
    },
  }),
];
