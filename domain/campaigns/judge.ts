import { z } from 'zod';
import { Channel } from '../base/channel.ts';
import { composed, typedName } from '../base/text.ts';
import { dateOf } from '../base/written-date.ts';
import { type Fact, FACTS, isFact } from '../shared/condition-fields.ts';
import {
  Condition,
  customField,
  durationOf,
  isLeadField,
  type LeadField,
  NEGATIVE,
  numberOf,
  type Op,
  timeOf,
} from './condition.ts';

/** Whether conditions hold for a contact, and why. Pure functions that take the facts and the time as parameters. */

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
