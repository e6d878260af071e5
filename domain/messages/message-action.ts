import { z } from 'zod';
import type { Capability } from '../lines/capability.ts';
import { TAPBACKS } from '../lines/carrier-event.ts';

/** What a person or a program can react with. */
export const OWN_REACTIONS = [...TAPBACKS, 'emoji'] as const;

/** What we do to a message that was exchanged, or in its conversation. */
export const MessageAction = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('reaction'),
    reaction: z.enum(OWN_REACTIONS),
    emoji: z.string().optional(),
    removed: z.boolean(),
  }),
  /** `text` is rendered. */
  z.object({ kind: z.literal('edit'), text: z.string() }),
  z.object({ kind: z.literal('unsend') }),
  /** Shows the contact that somebody types, or no longer does. */
  z.object({ kind: z.literal('typing'), on: z.boolean() }),
  /** Shows the contact that their messages were read. */
  z.object({ kind: z.literal('read') }),
  /** Shares the name and picture of the line. */
  z.object({
    kind: z.literal('contact_card'),
    firstName: z.string(),
    lastName: z.string(),
    photoUrl: z.string().optional(),
  }),
]);
export type MessageAction = z.infer<typeof MessageAction>;

/** Whether the contact gets something new, which nobody gets who may not be written to. */
export const tells = (action: MessageAction): boolean =>
  action.kind === 'edit' ||
  action.kind === 'read' ||
  action.kind === 'contact_card' ||
  (action.kind === 'reaction' && !action.removed) ||
  (action.kind === 'typing' && action.on);

/** What a line must be able to do for each of them. */
export const CAPABILITY_OF: Record<MessageAction['kind'], Capability> = {
  reaction: 'reactions',
  edit: 'edit',
  unsend: 'unsend',
  typing: 'typing',
  read: 'read_receipts',
  contact_card: 'contact_card',
};

/** Whether an action is about a conversation: the message only names it, and may not have been sent yet. */
export const isOfConversation = ({ kind }: MessageAction): boolean =>
  kind === 'typing' || kind === 'read' || kind === 'contact_card';

/** Between two actions of a line, and after a message of it. Actions count in no cap. */
export const ACTION_GAP_MS = 2000;
/** As phones do: how often, and for how long after it was sent. */
export const MAX_EDITS = 5;
export const EDIT_WITHIN_MS = 15 * 60_000;
export const UNSEND_WITHIN_MS = 2 * 60_000;
/** A later reaction would surprise the contact. */
export const REACT_WITHIN_MS = 24 * 3_600_000;
/** A contact who wrote longer ago does not look at the conversation. */
export const TYPING_WITHIN_MS = 5 * 60_000;
/** Typing ends by itself: a browser that closes says nothing. */
export const TYPING_MS = 30_000;
/** Of a line, as they are carried out one by one. */
export const MAX_OPEN_ACTIONS = 200;

const FIRST_RETRY_MS = 2000;
const MAX_RETRY_MS = 60_000;

/** How long an action waits after calls that certainly had no effect. */
export const retryDelayMs = (failures: number): number =>
  Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);

const CHARACTERS_PER_SECOND = 12;

/** How long a line types before it sends a text that is written already. */
export const typingMs = (text: string): number =>
  Math.min(8, Math.max(1, text.length / CHARACTERS_PER_SECOND)) * 1000;

/** An action that has not ended, as far as the order of actions depends on it. */
export interface OpenAction {
  messageId: string;
  action: MessageAction;
  dueAt: Date;
  status: 'pending' | 'calling' | 'done' | 'failed';
}

/**
 * The action of a line that is carried out next. Those about one message keep their order, even if one is tried again; an end of
 * typing, which is due later, holds nothing up.
 * @param open in the order in which they were asked for.
 */
export function nextAction<Action extends OpenAction>(open: readonly Action[], now: Date): Action | null {
  const calling = open.find(({ status }) => status === 'calling');
  if (calling) return calling;
  const first = open.filter(
    ({ messageId, action }, index) =>
      isOfConversation(action) ||
      !open.slice(0, index).some((other) => other.messageId === messageId && !isOfConversation(other.action)),
  );
  return (
    first.find(({ dueAt }) => dueAt <= now) ??
    first.reduce<Action | null>((a, b) => (a === null || b.dueAt < a.dueAt ? b : a), null)
  );
}

/** The result of a call about an action. What may have had an effect is not repeated. */
export type ActionOutcome =
  | { kind: 'accepted' }
  | { kind: 'refused'; reason: string }
  | { kind: 'transient'; reason: string }
  | { kind: 'unknown'; reason: string };
