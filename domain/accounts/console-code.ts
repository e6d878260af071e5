import { createHash, randomBytes } from 'node:crypto';

/** How long a link to the console signs in, in minutes. */
export const CONSOLE_CODE_MINUTES = 10;

/** A one-time code: 32 random bytes as 43 base64url characters. */
export const newConsoleCode = (): string => randomBytes(32).toString('base64url');

/** The stored form: SHA-256 in hex. */
export const hashConsoleCode = (code: string): string => createHash('sha256').update(code).digest('hex');
