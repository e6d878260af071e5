import { z } from 'zod';
import { MAX_BODY_LENGTH } from '../messages/message.ts';
import { ACTION_GAP_MS, EDIT_WITHIN_MS, MAX_EDITS, MAX_OPEN_ACTIONS } from '../messages/message-action.ts';
import type { StoredStatus } from '../messages/message-status.ts';
import type { VariantName } from '../messages/variant-name.ts';
import { type CampaignStep, isMessageStep, stepsById } from './step.ts';
import { textsOf } from './step-variants.ts';

/** Correcting the texts of a campaign for those who got the former ones. Pure functions. */

const NOT_CORRECTED = ['stopped', 'paused', 'opted_out', 'suppressed'] as const;
type NotCorrected = (typeof NOT_CORRECTED)[number];

/** Who got another text of a step than it has, and how they can be told. */
export const StepCorrection = z
  .object({
    stepId: z.string(),
    stepIndex: z.int().meta({ description: 'The number of the step, as in the funnel.' }),
    leads: z
      .int()
      .meta({ description: 'Who got another text: `byEdit`, `byMessage` and `cannot` together.' }),
    byEdit: z.int().meta({ description: 'Whose message can be edited where it is.' }),
    byMessage: z.int().meta({ description: 'Who would get another message.' }),
    cannot: z
      .array(z.object({ reason: z.enum(NOT_CORRECTED), leads: z.int() }))
      .meta({ description: 'Who is not written to, because the lead stopped or is paused, or opted out.' }),
  })
  .meta({ id: 'CampaignStepCorrection' });
export type StepCorrection = z.infer<typeof StepCorrection>;

/** The body of `POST /api/campaigns/{id}/corrections`. */
export const CorrectionInput = z
  .object({
    stepId: z.string().max(40),
    message: z.string().min(1).max(MAX_BODY_LENGTH).optional().meta({
      description:
        'The template of the message for those whose message cannot be edited. Default: the text of the step.',
    }),
    cursor: z.string().max(40).optional().meta({ description: 'The `nextCursor` of the previous response.' }),
  })
  .meta({ id: 'CampaignCorrectionInput' });

/** A message of a step that was sent, and its lead. */
export interface SentText {
  lineId: string | null;
  status: StoredStatus;
  sentAt: Date | null;
  /** Whether its carrier can find it. */
  isKnown: boolean;
  /** How often its text was replaced. */
  edits: number;
  state: 'running' | 'finished' | 'stopped';
  isPaused: boolean;
  isOptedOut: boolean;
  isSuppressed: boolean;
}

export type Way = 'edit' | 'message' | NotCorrected;

/**
 * How each of some messages is corrected: edited, if the line gets to it in time, otherwise by another message.
 * @param openActions how many actions wait on the lines that can edit. The others are missing.
 */
export function planCorrections(
  sent: readonly SentText[],
  openActions: ReadonlyMap<string, number>,
  now: Date,
): Way[] {
  const open = new Map(openActions);
  return sent.map(({ lineId, status, sentAt, isKnown, edits, state, isPaused, isOptedOut, isSuppressed }) => {
    if (isOptedOut) return 'opted_out';
    if (isSuppressed) return 'suppressed';
    if (state === 'stopped') return 'stopped';
    if (isPaused) return 'paused';
    const ahead = open.get(lineId ?? '');
    if (lineId === null || ahead === undefined || sentAt === null || !isKnown) return 'message';
    if (status === 'fallback' || edits >= MAX_EDITS || ahead >= MAX_OPEN_ACTIONS) return 'message';
    const isInTime = sentAt.getTime() + EDIT_WITHIN_MS > now.getTime() + (ahead + 1) * ACTION_GAP_MS;
    if (!isInTime) return 'message';
    open.set(lineId, ahead + 1);
    return 'edit';
  });
}

/** Counts what `planCorrections` says. */
export function countWays(ways: readonly Way[]): Omit<StepCorrection, 'stepId' | 'stepIndex'> {
  const count = (way: Way): number => ways.filter((one) => one === way).length;
  return {
    leads: ways.length,
    byEdit: count('edit'),
    byMessage: count('message'),
    cannot: NOT_CORRECTED.map((reason) => ({ reason, leads: count(reason) })).filter(
      ({ leads }) => leads > 0,
    ),
  };
}

/** Whether a lead that got a step of some steps got another text than it has in others. A step without text corrects nothing. */
export function hasOtherText(
  got: readonly CampaignStep[],
  now: readonly CampaignStep[],
  { stepId, variant }: { stepId: string; variant: VariantName | null },
): boolean {
  const [before, after] = [got, now].map((steps) => {
    const step = stepsById(steps).get(stepId)?.step;
    if (!step || !isMessageStep(step)) return null;
    const texts = textsOf(step);
    return { step, text: texts.find((one) => one.variant === variant) ?? texts[0] };
  });
  if (!before?.text || !after?.text || after.text.body.trim() === '') return false;
  return (
    before.text.body !== after.text.body ||
    (after.step.messageType === 'email' && before.text.subject !== after.text.subject)
  );
}
