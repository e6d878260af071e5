import { z } from 'zod';

/**
 * The states of a message and the only ways between them:
 *
 *   pending ──▶ scheduled ──▶ sending ──▶ sent ──▶ delivered
 *      │            │ ▲          │ │        │
 *      │            │ └──────────┘ │        ├────▶ failed      the carrier reports it undeliverable
 *      │            │  not sent:   │        └────▶ fallback
 *      │            │  try again   ├─────────────▶ fallback    no iMessage here
 *      ├────────────┼──────────────┴─────────────▶ failed      refused, opted out, outcome unknown
 *      └────────────┴────────────────────────────▶ canceled    by the caller
 *
 * The trigger `message_status_moves_forward` refuses every other step in the database.
 */
export const TRANSITIONS = {
  pending: ['scheduled', 'sending', 'fallback', 'failed', 'canceled'],
  scheduled: ['sending', 'fallback', 'failed', 'canceled'],
  sending: ['scheduled', 'sent', 'fallback', 'failed'],
  sent: ['delivered', 'fallback', 'failed'],
  delivered: [],
  fallback: [],
  failed: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>;

export type StoredStatus = keyof typeof TRANSITIONS;
export const StoredStatus = z.enum(Object.keys(TRANSITIONS) as [StoredStatus, ...StoredStatus[]]);

/** What callers see: `sending` is an inside matter and shows as `pending`. */
export const MessageStatus = z
  .enum(['pending', 'scheduled', 'sent', 'delivered', 'fallback', 'failed', 'canceled'])
  .meta({ id: 'MessageStatus' });
export type MessageStatus = z.infer<typeof MessageStatus>;

export const shownStatus = (status: StoredStatus): MessageStatus =>
  status === 'sending' ? 'pending' : status;

/** The stored statuses that a filter on a shown one stands for. */
export const storedStatuses = (status: MessageStatus): StoredStatus[] =>
  status === 'pending' ? ['pending', 'sending'] : [status];
