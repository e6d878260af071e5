import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Id, UserId, WorkspaceId } from '../base/ids.ts';

/** How often to ask the identity provider whether it still knows the user, in minutes. */
export const RENEWAL_MINUTES = 15;
/** How long a session lasts if the provider cannot be asked again, in minutes. */
const UNRENEWED_MINUTES = 60;
/** How long signing in at the provider may take, in minutes. */
export const SIGN_IN_MINUTES = 10;

/** How long sessions last, from `AUTH_SESSION_IDLE_MINUTES` and `AUTH_SESSION_HOURS`. */
export interface SessionLimits {
  /** The limit since the last request that a person caused. */
  idleMinutes: number;
  /** The limit since signing in. */
  hours: number;
}

/** A session of a person who signed in at the identity provider. */
export const UserSession = z
  .object({
    _id: Id,
    userId: UserId,
    userName: z.string().nullable(),
    workspaceId: WorkspaceId.nullable().meta({
      description: 'The workspace to which it was signed in; null: to an agency that had no client.',
    }),
    userAgent: z.string().meta({ description: 'The user agent of the browser.' }),
    startedAt: z.iso.datetime(),
    seenAt: z.iso
      .datetime()
      .meta({ description: 'The time of the last request that the person caused, to the minute.' }),
    expiresAt: z.iso.datetime().meta({ description: 'It ends sooner if it is not used.' }),
    isCurrent: z.boolean().meta({ description: 'It is the one of this request.' }),
  })
  .meta({ id: 'UserSession' });
export type UserSession = z.infer<typeof UserSession>;

/** The content of a session's cookie: 32 random bytes as 43 base64url characters. */
export const newSessionToken = (): string => randomBytes(32).toString('base64url');

/** The stored form: SHA-256 in hex. */
export const hashSessionToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** How a person proved who they are. */
export type SignInMethod = 'email' | 'passkey' | 'identity_provider' | 'setup';

/** In minutes. */
export const lifetimeOf = ({ hours }: SessionLimits, canBeRenewed: boolean): number =>
  canBeRenewed ? hours * 60 : Math.min(hours * 60, UNRENEWED_MINUTES);

/** The allowed redirects after signing in: pages of this server, by a path that no browser interprets as another server. */
export const isReturnPath = (path: string): boolean =>
  /^\/(console|invitations)(\/[\w%.~/+@:-]*)?(\?[\w%.~/+@:&=-]*)?$/.test(path) &&
  !/\/\/|\/\.\.?(\/|$)/.test(path);
