import { z } from 'zod';
import { TAPBACKS } from '../lines/carrier-event.ts';

/** What a person or a program can react with. */
export const OWN_REACTIONS = [...TAPBACKS, 'emoji'] as const;

/** What we do to a message that was exchanged. */
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
]);
export type MessageAction = z.infer<typeof MessageAction>;

/** Whether the contact gets something new, which nobody gets who may not be written to. */
export const tells = (action: MessageAction): boolean =>
  action.kind === 'edit' || (action.kind === 'reaction' && !action.removed);

/** Between two actions of a line, and after a message of it. Actions count in no cap. */
export const ACTION_GAP_MS = 2000;
/** As phones do: how often, and for how long after it was sent. */
export const MAX_EDITS = 5;
export const EDIT_WITHIN_MS = 15 * 60_000;
export const UNSEND_WITHIN_MS = 2 * 60_000;
/** A later reaction would surprise the contact. */
export const REACT_WITHIN_MS = 24 * 3_600_000;
/** Of a line, as they are carried out one by one. */
export const MAX_OPEN_ACTIONS = 200;

const FIRST_RETRY_MS = 2000;
const MAX_RETRY_MS = 60_000;

/** How long an action waits after calls that certainly had no effect. */
export const retryDelayMs = (failures: number): number =>
  Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);

/** The result of a call about an action. What may have had an effect is not repeated. */
export type ActionOutcome =
  | { kind: 'accepted' }
  | { kind: 'refused'; reason: string }
  | { kind: 'transient'; reason: string }
  | { kind: 'unknown'; reason: string };
