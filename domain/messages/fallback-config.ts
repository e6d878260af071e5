import { z } from 'zod';
import { TemplateText } from './message.ts';
import { TEST_CARRIER } from '../test-mode/test-mode.ts';

/** The workspace's SMS account. The token is never returned. */
export const FallbackConfig = z
  .object({
    enabled: z.boolean(),
    provider: z.enum(['twilio', 'simulated', TEST_CARRIER]),
    accountSid: z.string().nullable(),
    fromNumber: z.string().nullable(),
    messagingServiceSid: z.string().nullable(),
    defaultMessage: z.string().nullable(),
  })
  .meta({ id: 'FallbackConfig' });
export type FallbackConfig = z.infer<typeof FallbackConfig>;

export const FallbackConfigPatch = z
  .object({
    enabled: z.boolean(),
    provider: z.enum(['twilio', 'simulated']),
    accountSid: z.string().max(100).nullable(),
    authToken: z.string().min(1).max(200),
    sharedKeySecret: z.string().min(1).max(200).nullable().meta({
      description:
        'Only if the account signs its webhooks with a SharedKey. null removes it. Never returned.',
    }),
    fromNumber: z.string().max(40).nullable(),
    messagingServiceSid: z.string().max(100).nullable(),
    defaultMessage: TemplateText.max(1600).nullable(),
  })
  .partial()
  .meta({ id: 'FallbackConfigPatch' });
export type FallbackConfigPatch = z.infer<typeof FallbackConfigPatch>;

const UNSET = {
  enabled: true,
  accountSid: null,
  fromNumber: null,
  messagingServiceSid: null,
  defaultMessage: null,
};

/** Applies an update, from which omitted fields keep their value. @returns null if there is no provider yet. */
export function patchFallbackConfig(
  current: FallbackConfig | null,
  patch: FallbackConfigPatch,
): FallbackConfig | null {
  const { authToken: _, sharedKeySecret: _secret, ...changes } = patch;
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const { provider, ...fields } = { ...UNSET, ...current, ...given } as Partial<FallbackConfig> &
    typeof UNSET;
  return provider === undefined ? null : { ...fields, provider };
}

/** The field that an enabled account lacks, or null. */
export function missingField({
  enabled,
  provider,
  accountSid,
  fromNumber,
  messagingServiceSid,
  hasAuthToken,
}: FallbackConfig & { hasAuthToken: boolean }): { field: keyof FallbackConfigPatch; message: string } | null {
  if (provider !== 'twilio' || !enabled) return null;
  if (accountSid === null) return { field: 'accountSid', message: 'is required for twilio' };
  if (!hasAuthToken) return { field: 'authToken', message: 'is required for twilio' };
  if (fromNumber !== null || messagingServiceSid !== null) return null;
  return { field: 'fromNumber', message: 'fromNumber or messagingServiceSid is required for twilio' };
}
