import { z } from 'zod';

/** What a workspace key may do. The names are part of the API. */
export const KEY_SCOPES = ['read', 'send', 'draft', 'manage'] as const;
export const KeyScope = z.enum(KEY_SCOPES).meta({
  id: 'KeyScope',
  description:
    '`read`: reads everything but settings with credentials. `send`: messages, drips, campaigns, replies, and the contacts they go to. `draft`: makes and reads drafts, and never sends. `manage`: lines, carriers, webhooks, the team, settings, and every deletion.',
});
export type KeyScope = z.infer<typeof KeyScope>;

/** The restrictions of the key that a caller presents. */
export interface KeyRestrictions {
  scopes: readonly KeyScope[];
  /** The networks that may use it, as CIDR; null: any. */
  allowedIps: readonly string[] | null;
}

/** All that narrows a key. */
export interface KeyLimits extends KeyRestrictions {
  /** Whether it ends by itself. */
  expires: boolean;
}

/** Whether a key may do whatever its workspace's admins may, for as long. Otherwise, what it makes must not reach further than itself. */
export const isUnlimited = ({ scopes, allowedIps, expires }: KeyLimits): boolean =>
  KEY_SCOPES.every((scope) => scopes.includes(scope)) && allowedIps === null && !expires;

/** @param required the key needs one of these scopes. */
export const hasScope = (granted: readonly KeyScope[], required: readonly KeyScope[]): boolean =>
  required.some((scope) => granted.includes(scope));
