import { z } from 'zod';

/**
 * The states of a message and the allowed transitions, drawn in docs/states.md.
 * The trigger `message_status_moves_forward` enforces them in the database.
 */
export const TRANSITIONS = {
  pending: ['scheduled', 'sending', 'fallback', 'failed', 'canceled'],
  scheduled: ['sending', 'fallback', 'failed', 'canceled'],
  sending: ['scheduled', 'sent', 'delivered', 'fallback', 'failed'],
  sent: ['scheduled', 'delivered', 'fallback', 'failed'],
  delivered: [],
  fallback: [],
  failed: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>;

export type StoredStatus = keyof typeof TRANSITIONS;
export const StoredStatus = z.enum(Object.keys(TRANSITIONS) as [StoredStatus, ...StoredStatus[]]);

/** The statuses of the API; `sending` is internal and appears as `pending`. */
export const MessageStatus = z
  .enum(['pending', 'scheduled', 'sent', 'delivered', 'fallback', 'failed', 'canceled'])
  .meta({ id: 'MessageStatus' });
export type MessageStatus = z.infer<typeof MessageStatus>;

export const shownStatus = (status: StoredStatus): MessageStatus =>
  status === 'sending' ? 'pending' : status;

/** Not sent yet. */
const WAITING = ['pending', 'scheduled', 'sending'] as const satisfies readonly StoredStatus[];

/** The stored statuses of what waits to be sent, or of everything else. */
export const waitingStatuses = (waiting: boolean): readonly StoredStatus[] =>
  waiting ? WAITING : StoredStatus.options.filter((status) => !WAITING.some((one) => one === status));

/** The stored statuses that may match a filter of the API: a message held by a cap is stored as `pending` or `scheduled`. */
export function storedStatuses(status: MessageStatus): StoredStatus[] {
  if (status === 'pending') return ['pending', 'sending'];
  return status === 'scheduled' ? ['scheduled', 'pending'] : [status];
}
