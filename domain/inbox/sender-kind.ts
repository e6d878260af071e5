import { normalizeEmail } from '../base/address.ts';
import type { Channel } from '../base/channel.ts';
import { phoneOf } from '../base/phone.ts';

/** What an inbound message may come from. */
type SenderKind = 'email' | 'number' | 'short_code' | 'name';

/** The senders that exist on each channel. Any other is a mistake or an attack, and no contact. */
const SENDERS: Readonly<Record<Channel, readonly SenderKind[]>> = {
  email: ['email'],
  sms: ['number', 'short_code', 'name'],
  imessage: ['number', 'email'],
};

const SHORT_CODE = /^\d{3,8}$/;
/** An alphanumeric sender (3GPP TS 23.040, section 9.1.2.5): up to eleven characters. */
const NAME = /^(?=.*\p{L})[^\p{C}@<>]{1,11}$/u;

function kindOf(sender: string): SenderKind | null {
  if (phoneOf(sender) !== null) return 'number';
  if (SHORT_CODE.test(sender)) return 'short_code';
  if (normalizeEmail(sender) !== null) return 'email';
  return NAME.test(sender) ? 'name' : null;
}

/** Whether a message on a channel can come from a sender. @param sender in E.164 if it is a number. */
export function fitsChannel(channel: Channel, sender: string): boolean {
  const kind = kindOf(sender);
  return kind !== null && SENDERS[channel].includes(kind);
}
