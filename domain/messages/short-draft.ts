import { contactKey } from '../base/contact-key.ts';
import { DRIP_SOURCE, MessageDraft } from './message-draft.ts';

/** The values that nearly all drips share. */
const USUAL = {
  pinnedLineId: null,
  poolId: null,
  eligibleLineIds: null,
  stickinessPolicy: 'round_robin',
  recipientPhone: null,
  recipientEmail: null,
  recipientName: null,
  leadId: null,
  subject: null,
  attachmentUrls: [],
  attachmentNames: [],
  voiceNote: false,
  window: null,
  sendFallbackSmsOnFailed: false,
  smsFallbackEnabled: false,
  smsFallbackMessage: null,
  forceFallback: false,
  source: DRIP_SOURCE,
  correlationId: null,
  traceId: null,
  batchId: null,
  stepIndex: null,
  crm: {},
  createdByUserId: null,
} satisfies Partial<MessageDraft>;

/**
 * The buffered draft of a drip: without its id, which has a column, and without the usual values. Each further field of
 * each drip would be written, logged and parsed: a whole draft took PostgreSQL 1.36 times the processor time.
 */
export function shortDraft(draft: MessageDraft): object {
  const short: Record<string, unknown> = {};
  for (const name in draft) {
    const field = name as keyof MessageDraft;
    if (field !== 'id' && !isUsual(field, draft[field])) short[field] = draft[field];
  }
  return short;
}

/** @throws ZodError if `short` is not a draft. */
export function fullDraft(id: string, short: unknown): MessageDraft {
  const draft = MessageDraft.parse(Object.assign({}, USUAL, short, { id }));
  // Processes of the previous release store the number as it was written.
  return { ...draft, address: contactKey(draft.address) };
}

function isUsual(field: keyof MessageDraft, value: MessageDraft[keyof MessageDraft]): boolean {
  const usual: unknown = (USUAL as Partial<MessageDraft>)[field];
  if (usual === null || typeof usual !== 'object') return value === usual;
  return isEmpty(value as object);
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}
