import { z } from 'zod';
import type { Channel } from '../base/channel.ts';

/** How a message to a phone has travelled. */
export const Transport = z.enum(['imessage', 'rcs', 'sms']).meta({ id: 'Transport' });
export type Transport = z.infer<typeof Transport>;

/** How a message went, unless its carrier says otherwise; null: it has not left, or is an email. */
export function transportOf({
  channel,
  transport,
  sentAt,
  fallbackSms,
}: {
  channel: Channel;
  transport: Transport | null;
  sentAt: Date | null;
  fallbackSms: string | null;
}): Transport | null {
  if (fallbackSms === 'dispatched') return 'sms';
  if (sentAt === null || channel === 'email') return null;
  return transport ?? channel;
}
