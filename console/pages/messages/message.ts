import type { ResponseOf } from '#console/api/routes.ts';
import { reasonName } from '#console/lib/wait-names.ts';

export type Message = ResponseOf<'GET /api/messages/{id}'>;
export type Listed = ResponseOf<'GET /api/messages'>['messages'][number];

export const STATUSES = [
  'pending',
  'scheduled',
  'sent',
  'delivered',
  'fallback',
  'failed',
  'canceled',
] as const satisfies readonly Message['status'][];

/** How messages to phones travel. */
export const TRANSPORTS = { imessage: 'iMessage', rcs: 'RCS', sms: 'SMS' } as const;

/** The phone number or email address that the message goes to. */
export const addressOf = ({ messageType, recipientPhone, recipientEmail }: Message): string =>
  (messageType === 'email' ? (recipientEmail ?? recipientPhone) : (recipientPhone ?? recipientEmail)) ?? '';

/** Whether it has not been sent yet, so that it can still be canceled. */
export const isWaiting = ({ status }: Message): boolean => status === 'pending' || status === 'scheduled';

/** Why it waits or was not sent, in a few words. */
export function reasonOf(message: Message): string | null {
  const reason = isWaiting(message) ? message.holdReason : message.errorMessage;
  return reason === null ? null : reasonName(reason);
}
