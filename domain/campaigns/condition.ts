import { z } from 'zod';
import { Channel } from '../base/channel.ts';
import { composed, oneLine, typedName } from '../base/text.ts';
import { COMPARISONS, type Fact, FACTS, isFact, LEAD_FIELDS } from '../shared/condition-fields.ts';

/** What segments and campaigns ask about a contact. Pure functions that take the facts and the time as parameters. */

const Op = z.enum([...COMPARISONS, 'any']);
type Op = z.infer<typeof Op>;

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

type LeadField = (typeof LEAD_FIELDS)[number];

const NEGATIVE: ReadonlySet<Op> = new Set(['neq', 'not_contains', 'not_exists']);

const isLeadField = (field: string): field is LeadField => (LEAD_FIELDS as readonly string[]).includes(field);
const customField = (field: string): string | null => /^customFields\. ?(.+)$/.exec(field)?.[1] ?? null;

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

/** A contact may write much more, and every condition reads it. */
export const REPLY_TEXT = 2000;

/** What a condition is judged by. */
export interface Facts {
  lead: {
    firstName: string;
    lastName: string;
    emails: readonly string[];
    phones: readonly string[];
    companyName: string;
    jobTitle: string;
    notes: string;
    contactOwnerEmail: string | null;
    timezone: string | null;
    customFields: Readonly<Record<string, string>>;
    tags: readonly string[];
    status: 'available' | 'unavailable' | 'error' | null;
    source: string | null;
    createdAt: Date;
  };
  /**
   * The latest replies, newest first, without automatic ones and STOP; in a campaign, since the lead entered. Of each, words are looked
   * for in the first `REPLY_TEXT` characters.
   */
  replies: readonly { at: Date; text: string }[];
  /** The last message that left or failed; in a campaign, of this campaign. */
  lastMessage: {
    at: Date;
    isDelivered: boolean;
    isRead: boolean;
    /** A link of it was opened. */
    isClicked: boolean;
    isFailed: boolean;
  } | null;
  /** When a campaign sent the last message. */
  contactedAt: { this: Date | null; any: Date | null };
  /** The channels for which an address of the lead has consented. */
  consented: ReadonlySet<Channel>;
}

/** Which facts a condition reads besides the lead. */
export type Need = 'replies' | 'lastMessage' | 'clicks' | 'contacted' | 'consents';

const NEEDS: Record<Fact, readonly Need[]> = {
  replied: ['replies'],
  no_reply_for: ['replies', 'lastMessage'],
  read: ['lastMessage'],
  clicked: ['lastMessage', 'clicks'],
  delivered: ['lastMessage'],
  failed: ['lastMessage'],
  channel_available: [],
  tag: [],
  contacted_within_days: ['contacted'],
  has_consent: ['consents'],
};

/** What conditions read besides the lead. */
export const needsOf = (conditions: readonly Condition[]): ReadonlySet<Need> =>
  new Set(conditions.flatMap(({ field }) => (isFact(field) ? NEEDS[field] : [])));

/** A condition that was judged. */
export const Judged = z
  .object({
    branch: z
      .string()
      .nullable()
      .meta({ description: 'The branch whose condition it is; null: that of no branch.' }),
    condition: Condition,
    holds: z.boolean(),
  })
  .meta({ id: 'JudgedCondition' });
export type Judged = z.output<typeof Judged>;

const MAX_STORED_JUDGED = 2000;

/** The first of them, of which so many characters are stored with each decision. */
export function storedJudged(judged: readonly Judged[]): readonly Judged[] {
  let left = MAX_STORED_JUDGED;
  return judged.filter((one) => (left -= JSON.stringify(one).length) >= 0);
}

export interface Judgement {
  holds: boolean;
  /** For people; without texts of the contact. */
  why: string;
  /** The conditions that decided, which `why` is about. */
  judged: readonly Judged[];
  /** When time alone may change it; null: only when a fact changes. */
  mayChangeAt: Date | null;
}

type OneJudgement = Omit<Judgement, 'judged'>;

/** Whether a condition holds, and why. */
export function judge(condition: Condition, facts: Facts, now: Date): OneJudgement {
  const { field, op } = condition;
  if (isFact(field)) return judgeFact({ ...condition, field }, facts, now);
  const values = valuesOf(field, facts);
  const found = values.length === 0 ? 'has no value' : `is ${values.map((value) => `“${value}”`).join(', ')}`;
  const { holds, mayChangeAt } = compare(values, op ?? 'eq', condition.value, now);
  return { holds, why: `${textOf(condition)}: ${found}`, mayChangeAt };
}

/** Whether all conditions hold. The reason is that of the first that does not. */
export function judgeAll(conditions: readonly Condition[], facts: Facts, now: Date): Judgement {
  const each = judgeEach(conditions, facts, now);
  const failed = each.find(({ holds }) => !holds);
  return { holds: !failed, ...reasonOf(failed ? [failed] : each), mayChangeAt: firstOf(each) };
}

/** Whether all conditions hold, where nobody asks why: the first that does not decides. */
export const holdAll = (conditions: readonly Condition[], facts: Facts, now: Date): boolean =>
  conditions.every((condition) => judge(condition, facts, now).holds);

/** Whether one of several conditions holds. The reason is that of the first that does. */
export function judgeAny(conditions: readonly Condition[], facts: Facts, now: Date): Judgement {
  const each = judgeEach(conditions, facts, now);
  const held = each.find(({ holds }) => holds);
  return { holds: held !== undefined, ...reasonOf(held ? [held] : each), mayChangeAt: firstOf(each) };
}

const judgeEach = (conditions: readonly Condition[], facts: Facts, now: Date) =>
  conditions.map((condition) => ({ condition, ...judge(condition, facts, now) }));

const reasonOf = (deciding: ReturnType<typeof judgeEach>): Pick<Judgement, 'why' | 'judged'> => ({
  why: deciding.map(({ why }) => why).join('; '),
  judged: deciding.map(({ condition, holds }) => ({ branch: null, condition, holds })),
});

const firstOf = (judged: readonly Pick<Judgement, 'mayChangeAt'>[]): Date | null =>
  judged.reduce<Date | null>(
    (first, { mayChangeAt: at }) => (at !== null && (first === null || at < first) ? at : first),
    null,
  );

const DAY_MS = 86_400_000;

function judgeFact(condition: Condition & { field: Fact }, facts: Facts, now: Date): OneJudgement {
  const { field, value, op = FACTS[field][0] } = condition;
  const isNegative = NEGATIVE.has(op);
  // What is found says it all: “has not replied”.
  const said = value === undefined && field !== 'channel_available' ? '' : `${textOf(condition)}: `;
  const judgement = (is: boolean, found: string, mayChangeAt: Date | null = null): OneJudgement => ({
    holds: is !== isNegative,
    why: said + found,
    mayChangeAt,
  });
  /** `{op: "eq", value: false}` asks for the opposite. */
  const boolean = (is: boolean, yes: string, no: string): OneJudgement =>
    judgement(is === (value !== false), is ? yes : no);
  const { replies, lastMessage, lead } = facts;
  switch (field) {
    case 'replied': {
      const words = wordsOf(value);
      if (words === null) return boolean(replies.length > 0, 'has replied', 'has not replied');
      const asked = anyWord(words);
      const is = replies.some(({ text }) => asked.test(typed(text.slice(0, REPLY_TEXT))));
      return judgement(
        is,
        is ? 'replied with one of the words' : replies.length > 0 ? 'replied otherwise' : 'has not replied',
      );
    }
    case 'no_reply_for': {
      if (!lastMessage) return judgement(false, 'nothing was sent yet');
      const { at } = lastMessage;
      if (replies.some((reply) => reply.at >= at)) return judgement(false, 'replied since the last message');
      const until = new Date(at.getTime() + (durationOf(value) ?? 0));
      return until <= now
        ? judgement(true, `no reply since ${at.toISOString()}`)
        : judgement(false, `the last message left at ${at.toISOString()}`, until);
    }
    case 'read':
      return boolean(lastMessage?.isRead ?? false, 'the last message was read', 'it was not read');
    case 'clicked':
      return boolean(
        lastMessage?.isClicked ?? false,
        'a link of the last message was opened',
        'no link of it was opened',
      );
    case 'delivered':
      return boolean(
        lastMessage?.isDelivered ?? false,
        'the last message was delivered',
        'it was not delivered',
      );
    case 'failed':
      return boolean(lastMessage?.isFailed ?? false, 'the last message failed', 'it did not fail');
    case 'channel_available': {
      const channel = Channel.parse(value ?? 'imessage');
      const is = {
        imessage: lead.status === 'available',
        sms: lead.phones.length > 0,
        email: lead.emails.length > 0,
      }[channel];
      return judgement(is, is ? 'is available' : 'is not available');
    }
    case 'tag': {
      const asked = wordsOf(value)?.map(folded) ?? null;
      const is = lead.tags.some((tag) => asked?.includes(folded(tag)) ?? true);
      return judgement(is, lead.tags.length === 0 ? 'has no tag' : `has ${lead.tags.join(', ')}`);
    }
    case 'contacted_within_days': {
      const at = facts.contactedAt[condition.campaign ?? 'any'];
      if (at === null) return judgement(false, 'no campaign has written');
      const until = new Date(at.getTime() + Number(value) * DAY_MS);
      const is = until > now;
      return judgement(is, `a campaign wrote at ${at.toISOString()}`, is ? until : null);
    }
    case 'has_consent': {
      const channel = typeof value === 'string' ? Channel.parse(value) : null;
      const is = channel === null ? facts.consented.size > 0 : facts.consented.has(channel);
      return boolean(is, 'has consented', 'has not consented');
    }
  }
}

/** How a person would say it: `customFields.plan neq “pro”`. */
function textOf({ field, op, value }: Condition): string {
  const shown =
    value === undefined
      ? ''
      : typeof value === 'object' && !Array.isArray(value)
        ? Object.entries(value)
            .map(([unit, count]) => `${count} ${unit}`)
            .join(' ')
        : [value]
            .flat()
            .map((one) => (typeof one === 'string' ? `“${one}”` : String(one)))
            .join(' or ');
  return [field, op ?? '', shown].filter((part) => part !== '').join(' ');
}

/** Phones write `’` where a keyboard writes `'`. */
const typed = (text: string): string => composed(text).replaceAll(/[’‘ʼ]/g, "'");
const folded = (text: string): string => typed(text).trim().toLowerCase();

/** null: it asks for no words. */
const wordsOf = (value: Condition['value']): readonly string[] | null =>
  typeof value === 'string' ? [value] : Array.isArray(value) ? value : null;

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/**
 * Finds one of several whole words, so that “no” is not found in “know”. One expression for all, because a text is read once for each,
 * and kept with the words: a segment asks about each of many contacts.
 */
function anyWord(words: readonly string[]): RegExp {
  const known = EXPRESSIONS.get(words);
  if (known) return known;
  const different = new Set(words.map((word) => escaped(typed(word).trim())));
  const expression = new RegExp(
    String.raw`(?<![\p{L}\p{N}])(?:${[...different].join('|')})(?![\p{L}\p{N}])`,
    'iu',
  );
  EXPRESSIONS.set(words, expression);
  return expression;
}
const EXPRESSIONS = new WeakMap<readonly string[], RegExp>();

/** @param name as it is typed, unlike fields that were stored before their names were. */
const customValue = (fields: Facts['lead']['customFields'], name: string): string | undefined =>
  Object.hasOwn(fields, name)
    ? fields[name]
    : Object.entries(fields).find(([stored]) => typedName(stored) === name)?.[1];

/** The values of a field of the lead, without empty ones. */
function valuesOf(field: string, { lead }: Facts): readonly string[] {
  const custom = customField(field);
  const value: readonly (string | null | undefined)[] =
    custom !== null
      ? [customValue(lead.customFields, custom)]
      : field === 'email'
        ? lead.emails
        : field === 'phone'
          ? lead.phones
          : field === 'createdAt'
            ? [lead.createdAt.toISOString()]
            : isLeadField(field)
              ? [lead[field as Exclude<LeadField, 'email' | 'phone' | 'createdAt'>]]
              : [];
  return value.filter((one): one is string => one !== null && one !== undefined && one.trim() !== '');
}

function compare(
  values: readonly string[],
  op: Op,
  value: Condition['value'],
  now: Date,
): { holds: boolean; mayChangeAt: Date | null } {
  if (op === 'gt_date' || op === 'lt_date') return compareDates(values, op, value, now);
  const asked = value === undefined ? [] : [value].flat().map(String).map(folded);
  const known = values.map(folded);
  const some = (is: (found: string, wanted: string) => boolean): boolean =>
    known.some((found) => asked.some((wanted) => is(found, wanted)));
  const numbers = (is: (found: number, wanted: number) => boolean): boolean =>
    some((found, wanted) => {
      const [a, b] = [numberOf(found), numberOf(wanted)];
      return a !== null && b !== null && is(a, b);
    });
  const equal = (found: string, wanted: string): boolean =>
    found === wanted || (numberOf(found) !== null && numberOf(found) === numberOf(wanted));
  const isEmptyAsked = values.length === 0 && asked.includes('');
  const holds = {
    eq: () => isEmptyAsked || some(equal),
    neq: () => !isEmptyAsked && !some(equal),
    contains: () => some((found, wanted) => found.includes(wanted)),
    not_contains: () => !some((found, wanted) => found.includes(wanted)),
    starts_with: () => some((found, wanted) => found.startsWith(wanted)),
    gt: () => numbers((a, b) => a > b),
    gte: () => numbers((a, b) => a >= b),
    lt: () => numbers((a, b) => a < b),
    lte: () => numbers((a, b) => a <= b),
    exists: () => values.length > 0,
    not_exists: () => values.length === 0,
    any: () => values.length > 0,
  }[op]();
  return { holds, mayChangeAt: null };
}

function compareDates(
  values: readonly string[],
  op: 'gt_date' | 'lt_date',
  value: Condition['value'],
  now: Date,
): { holds: boolean; mayChangeAt: Date | null } {
  const limit = timeOf(value, now);
  const found = values.flatMap((text) => dateOf(text) ?? []);
  if (limit === null || found.length === 0) return { holds: false, mayChangeAt: null };
  const holds = found.some((at) => (op === 'gt_date' ? at > limit : at < limit));
  // A limit that moves with the time passes each date once.
  const moves = typeof value === 'object';
  const ahead = found.filter((at) => at >= limit).map((at) => at.getTime() - limit.getTime() + 1);
  const mayChangeAt = moves && ahead.length > 0 ? new Date(now.getTime() + Math.min(...ahead)) : null;
  return { holds, mayChangeAt };
}

const numberOf = (text: string): number | null => {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : null;
};

/** A date without a time is its beginning in UTC. */
const dateOf = (text: string): Date | null => {
  const isDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    text.trim(),
  );
  const at = new Date(isDate ? withZone(text.trim()) : Number.NaN);
  return Number.isNaN(at.getTime()) ? null : at;
};

/** A time without a zone is in UTC. */
const withZone = (text: string): string =>
  text.length > 10 && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? `${text}Z` : text;

/** Negative for the past; null: it is no duration. */
function durationOf(value: Condition['value']): number | null {
  if (typeof value === 'number') return value * DAY_MS;
  if (typeof value !== 'object' || Array.isArray(value)) return null;
  const { days, hours, minutes }: Distance = value;
  if (days === undefined && hours === undefined && minutes === undefined) return null;
  return (((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60_000;
}

function timeOf(value: Condition['value'], now: Date): Date | null {
  if (typeof value === 'string') return dateOf(value);
  const distance = typeof value === 'object' ? durationOf(value) : null;
  return distance === null ? null : new Date(now.getTime() + distance);
}
