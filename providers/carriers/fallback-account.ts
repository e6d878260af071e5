import { type SecretBox, secretContext } from '../secret-box.ts';
import type { Carrier } from './carrier.ts';

/** A workspace's SMS account. */
interface FallbackAccount {
  accountSid: string | null;
  authTokenSealed: string | null;
  sharedKeySealed: string | null;
  fromNumber: string | null;
  messagingServiceSid: string | null;
}

/**
 * Builds the adapter's settings for an account.
 * @throws ZodError if they are invalid, or any error of `secrets.open`.
 */
export function fallbackConfig<Config>(
  carrier: Carrier<Config>,
  { accountSid, authTokenSealed, sharedKeySealed, fromNumber, messagingServiceSid }: FallbackAccount,
  workspaceId: string,
  secrets: SecretBox,
): Config {
  return carrier.config.parse({
    ...(accountSid !== null && { accountSid }),
    ...(authTokenSealed !== null && {
      authToken: secrets.open(authTokenSealed, secretContext('fallback', workspaceId, 'auth-token')),
    }),
    ...(sharedKeySealed !== null && {
      sharedKeySecret: secrets.open(sharedKeySealed, secretContext('fallback', workspaceId, 'shared-key')),
    }),
    ...(fromNumber !== null && { from: fromNumber }),
    ...(messagingServiceSid !== null && { messagingServiceSid }),
  });
}
