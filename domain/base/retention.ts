/** For how many days each kind of record is kept, unless `RETENTION_DAYS` says otherwise. */
export const DEFAULT_RETENTION = {
  /** Events for webhooks and the event stream, with their deliveries. */
  events: 30,
  /** The ids of carriers' callbacks, by which duplicates are recognized. */
  'carrier-events': 30,
  /** Calls to carriers for messages. */
  attempts: 400,
  /** Which rules moved a message, and when its line could not send, for its timeline. */
  'message-moves': 30,
  /** The product's own emails. */
  mails: 30,
  'payment-events': 30,
  /** Which inbound messages could not be read, and why. */
  'unreadable-inbound': 30,
  'audit-log': 400,
  /** The request log. */
  requests: 30,
  /** The hashes by which an erased address is recognized when its contact opts out through the link of an earlier email. */
  'erased-addresses': 60,
} as const;

export type RetentionKind = keyof typeof DEFAULT_RETENTION;
export type Retention = Readonly<Record<RetentionKind, number>>;

/** Carriers and payment providers report everything within a week; an email is retried for three days. */
const SHORTEST: Partial<Record<RetentionKind, number>> = {
  'carrier-events': 7,
  attempts: 7,
  'payment-events': 7,
  mails: 4,
};
const LONGEST = 3650;

/**
 * Reads `attempts=90,mails=7`.
 * @returns what is wrong, a sentence for each entry that is.
 */
export function readRetention(text: string): { retention: Retention; problems: string[] } {
  const retention: Record<RetentionKind, number> = { ...DEFAULT_RETENTION };
  const problems: string[] = [];
  for (const entry of text.split(',')) {
    const [, kind = '', days = ''] = /^\s*([\w-]+)\s*=\s*(\d+)\s*$/.exec(entry) ?? [];
    if (!Object.hasOwn(DEFAULT_RETENTION, kind)) {
      problems.push(`"${entry.trim()}" must be a kind and its days, for example mails=7; kinds are ${KINDS}`);
      continue;
    }
    const shortest = SHORTEST[kind as RetentionKind] ?? 1;
    if (Number(days) >= shortest && Number(days) <= LONGEST) retention[kind as RetentionKind] = Number(days);
    else problems.push(`${kind} must be from ${shortest} to ${LONGEST} days`);
  }
  return { retention, problems };
}

const KINDS = Object.keys(DEFAULT_RETENTION).join(', ');
