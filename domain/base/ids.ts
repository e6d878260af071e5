import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { realTime } from './clock.ts';

/**
 * 24 lower-case hex digits in the ObjectId layout: 4 bytes of Unix seconds, 2 of milliseconds, 3 random bytes of the
 * process and a 3-byte counter. Ids sort by creation time, which pagination relies on.
 */
export const Id = z
  .string()
  .regex(/^[0-9a-f]{24}$/, 'must be 24 lower-case hexadecimal characters')
  .meta({ example: '6742f1c09b1e8a00d4c3b2a1' });
export const WorkspaceId = z.string().regex(/^org_[0-9a-f]{24}$/, 'must be a workspace id');
/** Our own, or the `sub` of an identity provider, which OpenID Connect limits to 255 characters. */
export const UserId = z.string().regex(/^[!-~]{1,255}$/, 'must be a user id');
/** Ids in the form that `newUserId` creates and that the API documents for analytics. */
export const OwnUserId = z.string().regex(/^user_[0-9A-Za-z]+$/, 'must be a user id');

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const PROCESS = randomBytes(3).toString('hex');
let counter = randomBytes(2).readUInt16BE();

export function newId(now: Date = realTime()): string {
  const milliseconds = now.getTime();
  counter = (counter + 1) % 0x1000000;
  return (
    hex(Math.floor(milliseconds / 1000) >>> 0, 8) + hex(milliseconds % 1000, 4) + PROCESS + hex(counter, 6)
  );
}

/** An id that sorts before all ids created in that second or later. */
export const firstId = (at: Date): string => hex(Math.floor(at.getTime() / 1000) >>> 0, 8) + '0'.repeat(16);

export const newWorkspaceId = (): string => `org_${newId()}`;
export const newUserId = (): string => `user_${newId()}`;
export const newAgencyId = (): string => `agency_${newId()}`;

/** A deterministic id: a retried operation gets the same one. */
export function deterministicId(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 24);
}

export const isId = (value: string): boolean => Id.safeParse(value).success;
