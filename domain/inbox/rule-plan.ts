import { durationMs } from '../base/duration.ts';
import { LeadActions } from '../campaigns/step.ts';
import type { ConversationStatus } from './conversation.ts';
import { isOpen, type OpeningHours } from './opening-hours.ts';
import type { RuleAction, RuleDeed, RuleReply, TextWithheld } from './rule.ts';

/*
 * What a rule does about one happening. A plan contains no happening, and whoever carries it out records none, so that no rule follows
 * from what another does. What remains is a contact who answers each text: they get one in 12 hours.
 */

/** So long a contact gets no second automatic text. */
export const TEXT_EVERY_MS = 12 * 3_600_000;

/** What texts to a contact depend on. */
export interface Texted {
  /** Why no text may be sent to them at all; null: one may. */
  barredBy: Exclude<TextWithheld, 'texted_lately' | 'open_hours' | 'no_snippet'> | null;
  /** When a rule last sent a text to any of their addresses; null: never. */
  lastTextAt: Date | null;
  hours: OpeningHours;
  timezone: string;
  /** The texts of the snippets that replies name. */
  snippets: ReadonlyMap<string, string>;
}

export interface Plan {
  /** For the lead, in order. */
  lead: LeadActions[];
  /** A template. */
  text: string | null;
  /** Why a text is not sent; null: it is, or there is none. */
  withheld: TextWithheld | null;
  conversation: { status: 'closed' } | { status: 'snoozed'; snoozedUntil: Date } | null;
  notifies: boolean;
  did: RuleDeed[];
}

/** How a conversation waits for an answer. */
export interface Waiting {
  status: ConversationStatus;
  snoozedUntil: Date | null;
  /** The first message that nobody has answered; null: all are answered. */
  since: Date | null;
  /** When the rule was last done about the contact; null: never. */
  lastRunAt: Date | null;
}

/**
 * When nobody has answered a contact for some time. A snooze puts it off, and a rule is done once for each wait.
 * @returns a time in the past or the future; null: nobody has to answer, or the rule was done.
 */
export function noAnswerAt(
  { status, snoozedUntil, since, lastRunAt }: Waiting,
  afterMs: number,
): Date | null {
  if (since === null || status === 'closed' || (lastRunAt !== null && lastRunAt >= since)) return null;
  const at = new Date(since.getTime() + afterMs);
  return status === 'snoozed' && snoozedUntil !== null && snoozedUntil > at ? snoozedUntil : at;
}

/** What a rule does. Its conditions hold. */
export function planOf(actions: readonly RuleAction[], contact: Texted, now: Date): Plan {
  const replies = actions.flatMap(({ reply }) => reply ?? []);
  const judged = replies.map((reply) => judgeText(reply, contact, now));
  const sent = judged.find(({ text }) => text !== null) ?? null;
  const status = actions.findLast(({ close, snooze }) => close ?? snooze);
  const deeds = new Set(actions.flatMap((action) => namesOf(action)));
  if (!sent) deeds.delete('reply');
  return {
    lead: actions.map((action) => forLead(action)),
    text: sent?.text ?? null,
    withheld: sent ? null : (judged[0]?.withheld ?? null),
    conversation: !status
      ? null
      : status.snooze
        ? { status: 'snoozed', snoozedUntil: new Date(now.getTime() + durationMs(status.snooze)) }
        : { status: 'closed' },
    notifies: deeds.has('notify'),
    did: [...deeds],
  };
}

/** Without what concerns the conversation. */
const forLead = (action: RuleAction): LeadActions =>
  Object.fromEntries(Object.entries(action).filter(([name]) => Object.hasOwn(LeadActions.shape, name)));

const namesOf = (action: RuleAction): RuleDeed[] =>
  (Object.keys(action) as (keyof RuleAction)[]).filter((name) => action[name] !== undefined);

type Judged = { text: string; withheld: null } | { text: null; withheld: TextWithheld };

function judgeText(
  { text, snippetId, outsideHoursOnly }: RuleReply,
  { barredBy, lastTextAt, hours, timezone, snippets }: Texted,
  now: Date,
): Judged {
  const withhold = (withheld: TextWithheld): Judged => ({ text: null, withheld });
  if (barredBy !== null) return withhold(barredBy);
  if (outsideHoursOnly && isOpen(hours, timezone, now)) return withhold('open_hours');
  if (lastTextAt !== null && now.getTime() - lastTextAt.getTime() < TEXT_EVERY_MS)
    return withhold('texted_lately');
  const said = text ?? snippets.get(snippetId ?? '');
  return said === undefined ? withhold('no_snippet') : { text: said, withheld: null };
}
