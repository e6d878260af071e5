import { z } from 'zod';
import type { Channel } from '#domain/base/channel.ts';

/** How the simulated carrier treats a recipient. */
export type Behaviour =
  | 'unavailable'
  | 'refuse'
  | 'fail_twice'
  | 'lose_response'
  | 'reply'
  | 'react'
  | 'opt_out'
  | 'reply_with_files'
  | 'respond_late'
  | 'read'
  | 'fail_late'
  | 'quote'
  | 'deliver';

const BY_LAST_DIGITS: Record<string, Behaviour> = {
  '0001': 'unavailable',
  '0002': 'refuse',
  '0003': 'fail_twice',
  '0004': 'lose_response',
  '0005': 'reply',
  '0006': 'react',
  '0007': 'opt_out',
  '0008': 'reply_with_files',
  '0009': 'respond_late',
  '0010': 'read',
  '0011': 'fail_late',
  '0012': 'quote',
};

const BY_LOCAL_PART: Record<string, Behaviour> = {
  unavailable: 'unavailable',
  fail: 'refuse',
  reply: 'reply',
};

/**
 * Chosen by the last four digits of a phone number or the local part of an email address. A tag
 * (`reply+17@example.com`) gives any number of recipients with the same behaviour.
 */
export function behaviourOf(address: string): Behaviour {
  const localPart = address.includes('@') ? address.slice(0, address.indexOf('@')).split('+')[0] : undefined;
  const chosen = localPart === undefined ? BY_LAST_DIGITS[address.slice(-4)] : BY_LOCAL_PART[localPart];
  return chosen ?? 'deliver';
}

/** A recipient without iMessage receives SMS, so that fallbacks work. */
export const isReachable = (address: string, channel: Channel): boolean =>
  channel === 'sms' || behaviourOf(address) !== 'unavailable';

/** Normalizes an address for comparison; restores a `+` that URL decoding turned into a space. */
export function normalizeRecipient(text: string): string {
  const address = text.trim().toLowerCase();
  return /^\d+$/.test(address) ? `+${address}` : address;
}

/** A recipient in the query string. */
export const Recipient = z.string().transform(normalizeRecipient);
