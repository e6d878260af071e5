import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { wordsOf } from '#console/lib/format.ts';
import { waitNamed } from '#console/lib/wait-names.ts';

export type Message = ResponseOf<'GET /api/messages'>['messages'][number];

export const STATUSES = [
  'pending',
  'scheduled',
  'sent',
  'delivered',
  'fallback',
  'failed',
  'canceled',
] as const satisfies readonly Message['status'][];

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

/** Codes of the API as words, anything else as it is. */
export function reasonName(reason: string): string {
  const known = FAILURES[reason];
  const name = known ? i18n._(known) : waitNamed(reason);
  if (name !== null) return name;
  return /^[a-z_]+$/.test(reason) ? wordsOf(reason) : reason;
}

const FAILURES: Partial<Record<string, MessageDescriptor>> = {
  recipient_suppressed: msg`Recipient suppressed`,
  outcome_unknown: msg`Outcome unknown`,
  empty_message: msg`Empty message`,
  message_too_long: msg`Message too long`,
  fallback_not_configured: msg`Fallback not configured`,
  no_phone_number_for_sms: msg`No phone number for sms`,
};
