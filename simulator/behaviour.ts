import { z } from 'zod';
import type { Channel } from '#domain/channel.ts';

/** What a recipient makes the simulated carrier do. */
export type Behaviour =
  | 'unavailable'
  | 'refuse'
  | 'fail_twice'
  | 'lose_answer'
  | 'reply'
  | 'react'
  | 'opt_out'
  | 'reply_with_files'
  | 'answer_late'
  | 'read'
  | 'deliver';

const BY_LAST_DIGITS: Record<string, Behaviour> = {
  '0001': 'unavailable',
  '0002': 'refuse',
  '0003': 'fail_twice',
  '0004': 'lose_answer',
  '0005': 'reply',
  '0006': 'react',
  '0007': 'opt_out',
  '0008': 'reply_with_files',
  '0009': 'answer_late',
  '0010': 'read',
};

const BY_LOCAL_PART: Record<string, Behaviour> = {
  unavailable: 'unavailable',
  fail: 'refuse',
  reply: 'reply',
};

/**
 * The last four digits of a phone number, or the local part of an email address, choose. A tag
 * (`reply+17@example.com`) gives as many recipients of one kind as are wanted.
 */
export function behaviourOf(address: string): Behaviour {
  const localPart = address.includes('@') ? address.slice(0, address.indexOf('@')).split('+')[0] : undefined;
  const chosen = localPart === undefined ? BY_LAST_DIGITS[address.slice(-4)] : BY_LOCAL_PART[localPart];
  return chosen ?? 'deliver';
}

/** Who has no iMessage still gets SMS: that is what fallbacks are for. */
export const isReachable = (address: string, channel: Channel): boolean =>
  channel === 'sms' || behaviourOf(address) !== 'unavailable';

/** The form in which addresses are compared; a `+` that a URL turned into a space is put back. */
export function normalizeRecipient(text: string): string {
  const address = text.trim().toLowerCase();
  return /^\d+$/.test(address) ? `+${address}` : address;
}

/** A recipient in the query of a `/simulated` address. */
export const Recipient = z.string().transform(normalizeRecipient);
