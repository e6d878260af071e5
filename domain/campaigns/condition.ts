import { z } from 'zod';
import { Channel } from '../base/channel.ts';
import { oneLine, typedName } from '../base/text.ts';
import { dateOf } from '../base/written-date.ts';
import { COMPARISONS, type Fact, FACTS, isFact, LEAD_FIELDS } from '../shared/condition-fields.ts';

/** What segments, rules and campaigns ask about a contact. Whether it holds, `judge.ts` says. */

const Op = z.enum([...COMPARISONS, 'any']);
export type Op = z.infer<typeof Op>;

const Text = z.string().max(500).overwrite(oneLine);

/** A duration, or a time as far from now: negative for the past. */
const Distance = z
  .object({
    days: z.int().min(-3650).max(3650).optional(),
    hours: z.int().min(-87_600).max(87_600).optional(),
    minutes: z.int().min(-5_256_000).max(5_256_000).optional(),
  })
  .meta({ id: 'ConditionDistance' });
type Distance = z.infer<typeof Distance>;

export type LeadField = (typeof LEAD_FIELDS)[number];

export const NEGATIVE: ReadonlySet<Op> = new Set(['neq', 'not_contains', 'not_exists']);

export const isLeadField = (field: string): field is LeadField =>
  (LEAD_FIELDS as readonly string[]).includes(field);
export const customField = (field: string): string | null =>
  /^customFields\. ?(.+)$/.exec(field)?.[1] ?? null;

/** One condition about a contact. */
export const Condition = z
  .object({
    field: z
      .string()
      .min(1)
      .max(120)
      .overwrite(typedName)
      .meta({
        description: `A field of the lead (${LEAD_FIELDS.join(', ')}, customFields.x), or one of ${Object.keys(FACTS).join(', ')}.`,
        example: 'customFields.plan',
      }),
    op: Op.optional().meta({
      description:
        'Texts are compared without regard to case; words are looked for in the first 2,000 characters of each of the last 20 replies. Without a value, `neq` and `not_contains` hold. Default: `eq`; for `replied`, `any`.',
    }),
    value: z
      .union([Text, z.number(), z.boolean(), z.array(Text).min(1).max(50), Distance])
      .optional()
      .meta({
        description:
          'A text, a number, several texts of which one suffices, or for dates and durations `{days, hours, minutes}`. `gt_date` and `lt_date` take a date in ISO 8601, or a distance from now.',
      }),
    campaign: z.enum(['this', 'any']).optional().meta({
      description:
        'For `contacted_within_days`: whether any campaign counts, or only this one. Default: `any`.',
    }),
  })
  .superRefine((condition, context) => {
    const problem = problemOf(condition);
    if (problem) context.addIssue({ code: 'custom', path: [problem.at], message: problem.message });
  })
  .meta({ id: 'Condition' });
export type Condition = z.output<typeof Condition>;

/** Conditions that all have to hold. */
export const Conditions = z.array(Condition).min(1, 'at least one condition is required').max(20);

const MAX_CHARACTERS = 10_000;
const MAX_CONDITIONS = 200;

/** What the conditions of a segment, of a rule or of the steps of a campaign may be together: they are read, judged and shown as a whole. */
export class ConditionBudget {
  #characters = MAX_CHARACTERS;
  #conditions = MAX_CONDITIONS;

  /** Takes further conditions. @returns what is wrong with them; null: they fit. */
  take(conditions: readonly Pick<Condition, 'value'>[]): string | null {
    if (conditions.length === 0) return null;
    this.#conditions -= conditions.length;
    for (const one of conditions.flatMap(({ value }) => value))
      if (typeof one === 'string') this.#characters -= one.length;
    if (this.#characters < 0)
      return `must have at most ${MAX_CHARACTERS} characters in the values of all conditions`;
    return this.#conditions < 0 ? `must have at most ${MAX_CONDITIONS} conditions in all steps` : null;
  }
}

/** For lists of conditions of a request. */
export function fitTogether(conditions: readonly Condition[], context: z.RefinementCtx): void {
  const message = new ConditionBudget().take(conditions);
  if (message !== null) context.addIssue({ code: 'custom', message });
}

/** For conditions that no campaign asks. */
export function askedByNoCampaign(conditions: readonly Condition[], context: z.RefinementCtx): void {
  for (const [index, { campaign }] of conditions.entries())
    if (campaign === 'this')
      context.addIssue({
        code: 'custom',
        path: [index, 'campaign'],
        message: 'must be any: only the conditions of a campaign can mean this one',
      });
}

interface Problem {
  at: 'field' | 'op' | 'value' | 'campaign';
  message: string;
}

function problemOf(condition: z.infer<typeof Shape>): Problem | null {
  const { field, op, value, campaign } = condition;
  if (campaign !== undefined && field !== 'contacted_within_days')
    return { at: 'campaign', message: 'is only for contacted_within_days' };
  if (isFact(field)) return problemOfFact(condition as Known<Fact>);
  if (!isLeadField(field) && customField(field) === null)
    return { at: 'field', message: 'is neither a field of leads nor a known fact' };
  const compared = op ?? 'eq';
  if (compared === 'any') return { at: 'op', message: `must be one of ${COMPARISONS.join(', ')}` };
  if (compared === 'exists' || compared === 'not_exists')
    return value === undefined ? null : { at: 'value', message: `must not be given with ${compared}` };
  if (value === undefined) return { at: 'value', message: 'is required' };
  if (compared === 'gt_date' || compared === 'lt_date')
    return timeOf(value, new Date(0)) === null
      ? { at: 'value', message: 'must be a date in ISO 8601, or {days, hours, minutes} from now' }
      : null;
  if (typeof value === 'object' && !Array.isArray(value))
    return { at: 'value', message: 'must be a text or a number' };
  const isNumber = !Array.isArray(value) && numberOf(String(value)) !== null;
  return ['gt', 'gte', 'lt', 'lte'].includes(compared) && !isNumber
    ? { at: 'value', message: 'must be a number' }
    : null;
}

const Shape = z.object({
  field: z.string(),
  op: Op.optional(),
  value: z.union([z.string(), z.number(), z.boolean(), z.array(z.string()), Distance]).optional(),
  campaign: z.enum(['this', 'any']).optional(),
});
type Known<F extends string> = z.infer<typeof Shape> & { field: F };

function problemOfFact({ field, op, value }: Known<Fact>): Problem | null {
  const ops: readonly Op[] = FACTS[field];
  if (op !== undefined && !ops.includes(op)) return { at: 'op', message: `must be one of ${ops.join(', ')}` };
  const wrong = (message: string): Problem => ({ at: 'value', message });
  const isText = typeof value === 'string' || Array.isArray(value);
  switch (field) {
    case 'replied':
      if (op === 'contains' || op === 'not_contains')
        return isText ? null : wrong('must be a word, or several of which one suffices');
      return value === undefined || typeof value === 'boolean' || (isText && op === undefined)
        ? null
        : wrong('must be true or false, or words with contains');
    case 'read':
    case 'clicked':
    case 'delivered':
    case 'failed':
      return value === undefined || typeof value === 'boolean' ? null : wrong('must be true or false');
    case 'no_reply_for':
      return (durationOf(value) ?? 0) > 0
        ? null
        : wrong('must be a number of days, or {days, hours, minutes}');
    case 'contacted_within_days':
      return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 365
        ? null
        : wrong('must be a number of days from 1 to 365');
    case 'channel_available':
      return value === undefined || Channel.safeParse(value).success
        ? null
        : wrong(`must be one of ${Channel.options.join(', ')}`);
    case 'has_consent':
      return value === undefined || typeof value === 'boolean' || Channel.safeParse(value).success
        ? null
        : wrong(`must be true, false, or one of ${Channel.options.join(', ')}`);
    case 'tag':
      return isText || ((op === 'exists' || op === 'not_exists') && value === undefined)
        ? null
        : wrong('must be a tag, or several of which one suffices');
  }
}

export const numberOf = (text: string): number | null => {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : null;
};

const DAY_MS = 86_400_000;

/** Negative for the past; null: it is no duration. */
export function durationOf(value: Condition['value']): number | null {
  if (typeof value === 'number') return value * DAY_MS;
  if (typeof value !== 'object' || Array.isArray(value)) return null;
  const { days, hours, minutes }: Distance = value;
  if (days === undefined && hours === undefined && minutes === undefined) return null;
  return (((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60_000;
}

export function timeOf(value: Condition['value'], now: Date): Date | null {
  if (typeof value === 'string') return dateOf(value);
  const distance = typeof value === 'object' ? durationOf(value) : null;
  return distance === null ? null : new Date(now.getTime() + distance);
}
