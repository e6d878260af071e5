import { complainsInReason, complainsInText, isComplaint } from './complaint.ts';
import type { Channel } from '../base/channel.ts';
import { isLinked } from './first-touch.ts';
import { type DaySignals, NO_SIGNALS, SILENT_FROM, signalDay, type SignalCounts } from './line-signals.ts';

/** The stored history of a line, in chronological order. */
export type PastEvent = { at: Date; address: string } & (
  | {
      kind: 'send';
      isNew: boolean;
      outcome: 'carried' | 'refused';
      body: string;
      attachmentUrls: readonly string[];
      /** The carrier's reason for a message that was refused or failed later; null: none. */
      problem: { at: Date; reason: string; optedOut: boolean } | null;
    }
  | { kind: 'reply'; text: string; keyword: string | null }
);

interface Contact {
  openedOn: string | null;
  unanswered: number;
  optedOut: boolean;
}

/**
 * Recounts the signals of a line from its stored history, as they were counted live. Messages in a row are only those
 * of this line.
 */
export function replaySignals(channel: Channel, past: Iterable<PastEvent>): DaySignals[] {
  const days = new Map<string, DaySignals>();
  const contacts = new Map<string, Contact>();
  const add = (day: string, counts: Partial<SignalCounts>): void => {
    const sum = days.get(day) ?? { ...NO_SIGNALS, day };
    for (const [name, count] of Object.entries(counts)) sum[name as keyof SignalCounts] += count;
    days.set(day, sum);
  };
  const contactOf = (address: string): Contact => {
    const contact = contacts.get(address) ?? { openedOn: null, unanswered: 0, optedOut: false };
    contacts.set(address, contact);
    return contact;
  };
  const leave = (contact: Contact, day: string): void => {
    if (!contact.optedOut) add(day, { optouts: 1 });
    contact.optedOut = true;
  };

  for (const event of past) {
    const day = signalDay(event.at);
    const contact = contactOf(event.address);
    if (event.kind === 'reply') {
      add(day, { received: 1 });
      if (event.keyword === 'stop') leave(contact, day);
      else {
        const complains = complainsInText(event.text);
        if (complains) add(day, { complained: 1 });
        else if (contact.openedOn !== null) add(contact.openedOn, { answered: 1 });
        if (!complains && contact.unanswered >= SILENT_FROM) add(day, { revived: 1 });
        contact.openedOn = null;
        contact.unanswered = 0;
        contact.optedOut = false;
      }
      continue;
    }
    if (event.outcome === 'carried') {
      contact.unanswered += 1;
      if (event.isNew) contact.openedOn = day;
      add(day, {
        sent: 1,
        ...(event.isNew && { opened: 1, ...(isLinked(event) && { linked: 1 }) }),
        ...(contact.unanswered === 1 && { approached: 1 }),
        ...(contact.unanswered === SILENT_FROM && { silent: 1 }),
      });
    }
    if (event.problem) {
      const { at, reason, optedOut } = event.problem;
      if (optedOut) leave(contact, signalDay(at));
      else
        add(
          signalDay(at),
          failureSignals(channel, reason, event.outcome === 'refused' ? 'failed' : 'undelivered'),
        );
    }
  }
  return [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

/** The signals of a message that failed after it was handed to the carrier. */
export const failureSignals = (
  channel: Channel,
  reason: string,
  signal: 'failed' | 'undelivered',
): Partial<SignalCounts> =>
  // A reported message had arrived.
  isComplaint(reason)
    ? { complained: 1 }
    : {
        [channel === 'email' ? 'bounced' : signal]: 1,
        ...(complainsInReason(reason) && { complained: 1 }),
      };
