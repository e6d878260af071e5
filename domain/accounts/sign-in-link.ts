import { createHash, randomBytes } from 'node:crypto';

/** How long a link sent by email signs in, in minutes. */
export const EMAILED_LINK_MINUTES = 15;
/** How long a link that an operator's command prints signs in, in minutes: it reaches its person by hand. */
export const PRINTED_LINK_MINUTES = 24 * 60;

/** A one-time secret of a link or a browser: 32 random bytes as 43 base64url characters. */
export const newSignInToken = (): string => randomBytes(32).toString('base64url');

/** The stored form: SHA-256 in hex. */
export const hashSignInToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** The page of a link, which asks for confirmation. */
export const signInLink = (publicUrl: string, token: string): string => `${publicUrl}/sign-in/${token}`;
