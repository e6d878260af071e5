import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Autopilot, HeldBackBy } from './autopilot.ts';

/** The answers that a dry run looks at: each costs a call of the model. */
export const DRY_RUN_CASES = 20;
export const DRY_RUN_DAYS = 30;

/** In words: a longer text is compared by its beginning. */
const MAX_COMPARED = 500;

/** How many words two texts share, from 0 to 1, whatever their order, case and punctuation. */
export function sharedWords(a: string, b: string): number {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  const unmatched = new Map<string, number>();
  for (const word of left) unmatched.set(word, (unmatched.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of right) {
    const count = unmatched.get(word) ?? 0;
    if (count === 0) continue;
    unmatched.set(word, count - 1);
    shared += 1;
  }
  const words = left.length + right.length;
  return words === 0 ? 1 : Math.round(((2 * shared) / words) * 100) / 100;
}

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MAX_COMPARED);

/** The body of `POST /api/knowledge-base/dry-run`. */
export const AutopilotDryRunInput = z
  .object({
    autopilot: Autopilot.optional().meta({ description: 'Default: the saved limits.' }),
  })
  .meta({ id: 'AutopilotDryRunInput' });

export const AutopilotCase = z
  .object({
    replyId: Id,
    conversationRecipient: z.string(),
    at: z.iso.datetime().meta({ description: 'When the contact wrote.' }),
    inboundText: z.string(),
    sentMessageId: Id,
    sentText: z.string().meta({ description: 'What a person answered.' }),
    draftMessage: z.string().nullable().meta({
      description: 'What the copilot writes; null: it is not written yet, or `error` says why there is none.',
    }),
    confidence: z.number().min(0).max(1).nullable(),
    sharedWords: z.number().min(0).max(1).nullable().meta({
      description: 'How much of the words of both texts is the same.',
    }),
    heldBackBy: HeldBackBy.nullable().meta({
      description: 'Why the draft would have waited for a person; null: it would have been sent.',
    }),
    error: z.string().nullable(),
  })
  .meta({ id: 'AutopilotCase' });
export type AutopilotCase = z.infer<typeof AutopilotCase>;

/** What the autopilot would have done where a person answered. */
export const AutopilotDryRun = z
  .object({
    status: z.enum(['running', 'done']),
    requestedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    autopilot: Autopilot.meta({ description: 'The limits that were tried.' }),
    wouldSend: z.int(),
    heldBack: z.partialRecord(HeldBackBy, z.int()).meta({ description: 'Why how many would have waited.' }),
    failed: z
      .int()
      .meta({ description: 'Cases without a draft, for example because the budget is used up.' }),
    cases: z.array(AutopilotCase).meta({
      description: `The latest answers of people to ${DRY_RUN_CASES} contacts, the most different first: those that would have been sent, by \`sharedWords\`, then the others.`,
    }),
  })
  .meta({ id: 'AutopilotDryRun' });
export type AutopilotDryRun = z.infer<typeof AutopilotDryRun>;

/** Counts the cases, and puts those first in which the autopilot would have written something else. */
export function summarize(
  cases: readonly AutopilotCase[],
): Pick<AutopilotDryRun, 'wouldSend' | 'heldBack' | 'failed' | 'cases'> {
  const heldBack = new Map<HeldBackBy, number>();
  for (const { heldBackBy } of cases)
    if (heldBackBy !== null) heldBack.set(heldBackBy, (heldBack.get(heldBackBy) ?? 0) + 1);
  const isSent = ({ draftMessage, heldBackBy }: AutopilotCase): boolean =>
    draftMessage !== null && heldBackBy === null;
  const sent = cases.filter(isSent).toSorted((a, b) => (a.sharedWords ?? 0) - (b.sharedWords ?? 0));
  const others = cases.filter((one) => !isSent(one));
  return {
    wouldSend: sent.length,
    heldBack: Object.fromEntries(heldBack),
    failed: cases.filter(({ error }) => error !== null).length,
    cases: [...sent, ...others],
  };
}
