import { z } from 'zod';

/**
 * The rules that hold messages of campaigns because of the person whom they reach, whatever line sends them. They are judged when the
 * message's turn on its line has come. Pure functions that take the time as a parameter.
 */

/** How many messages of campaigns a person gets within so many days, over all campaigns and lines. */
export const FrequencyCap = z
  .object({
    messages: z.int().min(1).max(1000),
    days: z.int().min(1).max(90).meta({ description: 'Of 24 hours each, back from every message.' }),
  })
  .meta({ id: 'FrequencyCap' });
export type FrequencyCap = z.infer<typeof FrequencyCap>;

/** What a workspace asks of campaigns for the sake of persons. */
export interface PersonRules {
  /** null: there is none. */
  frequencyCap: FrequencyCap | null;
  /** Campaigns wait while a member writes with the person. */
  contactBusy: boolean;
}

/** What is known about the person. */
export interface PersonFacts {
  /** The time of the n-th last message that campaigns sent, with the n of the cap; null: there are fewer. */
  cappedSince: Date | null;
  /** When a member last wrote, in a conversation that is not closed; null: never. */
  memberAnsweredAt: Date | null;
}

export interface PersonHold {
  reason: 'contact_busy' | 'frequency_cap';
  until: Date;
}

const DAY_MS = 86_400_000;
/** A conversation goes on for this long after a member has written. */
const BUSY_MS = DAY_MS;

/**
 * What holds a message of a campaign now; of two, the longer. Every hold ends, and begins anew only if something was sent meanwhile.
 * @param isAnswer the contact wrote within 24 hours: the cap does not hold answers.
 */
export function personHold(
  { frequencyCap, contactBusy }: PersonRules,
  { cappedSince, memberAnsweredAt }: PersonFacts,
  isAnswer: boolean,
  now: Date,
): PersonHold | null {
  const holds: PersonHold[] = [];
  if (contactBusy && memberAnsweredAt !== null)
    holds.push({ reason: 'contact_busy', until: new Date(memberAnsweredAt.getTime() + BUSY_MS) });
  if (frequencyCap !== null && cappedSince !== null && !isAnswer)
    holds.push({
      reason: 'frequency_cap',
      until: new Date(cappedSince.getTime() + frequencyCap.days * DAY_MS),
    });
  return holds
    .filter(({ until }) => until > now)
    .reduce<PersonHold | null>((a, b) => (a === null || b.until > a.until ? b : a), null);
}
