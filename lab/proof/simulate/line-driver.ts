import { dayBounds, hourBounds } from '../../../domain/base/calendar.ts';
import { lineGapMs } from '../../../domain/sending/line-limits.ts';
import { type LineHistory, type PacedLine, usedUpAt } from '../../../domain/sending/holds.ts';
import {
  chooseSends,
  type Lane,
  type NextLook,
  type OpenLane,
  planQueue,
  type QueuedMessage,
} from '../../../domain/sending/pacing.ts';
import type { Recipient } from '../../../domain/sending/quiet-hours.ts';
import { type Wait, type WaitingLine, whyItWaits } from '../../../domain/sending/why-it-waits.ts';
import type { SendWindow } from '../../../domain/sending/send-window.ts';

/** A message for a line. */
export interface Job {
  id: string;
  address: string;
  scheduledAt: Date;
  /** When the contact last wrote, or null; for 24 hours from then the message is a reply. */
  wroteAt: Date | null;
  window?: SendWindow;
  recipient?: Recipient;
}

export interface Sent {
  lineId: string;
  job: Job;
  at: Date;
  isNew: boolean;
}

function waitAt(line: WaitingLine, message: QueuedMessage, at: Date): Wait {
  const wait = whyItWaits(line, message, at);
  if (!wait) throw new Error(`${message.id} does not wait`);
  return wait;
}

/** The state that the lines of a workspace share. */
export class Workspace {
  /** Every send in the order it happened. */
  readonly log: Sent[] = [];
  /** When each address was last sent a message, by any line. */
  readonly contacts = new Map<string, Date>();
}

export interface Outage {
  from: Date;
  to: Date;
}

export interface DriverOptions {
  /** How many messages a plan reads. */
  look: number;
  batch: number;
  outages: readonly Outage[];
  onRound: ((round: Round) => void) | null;
}

/** The result of a round. */
export interface Round {
  now: Date;
  sent: readonly Sent[];
  /** When the line plans again; null if it has sent something and plans after its gap. */
  next: NextLook | null;
  /** The waiting messages, each with what callers see at a time from `now` on if nothing is sent until then. */
  waiting: () => { message: QueuedMessage; shownAt: (at: Date) => Wait }[];
}

interface Waiting {
  job: Job;
  /** The message as the rules see it; updated before each plan. */
  message: QueuedMessage;
  /** The key of its lane while its contact is known, and while it is new. */
  keys: { known: string; isNew: string };
}

const DAY_MS = 86_400_000;
const DEFAULTS: DriverOptions = { look: 16, batch: 16, outages: [], onRound: null };

const byTurn = ({ message: a }: Waiting, { message: b }: Waiting): number =>
  a.scheduledAt.getTime() - b.scheduledAt.getTime() || a.arrival - b.arrival;

/**
 * Does in memory, with a clock passed in, what the line pacer does with a database: plans, sends or moves messages, and
 * returns when to plan again. It may also plan at any other time, as after a crash.
 */
export class LineDriver {
  line: PacedLine;
  readonly sent: Sent[] = [];
  /** Ordered by the time they are due, then by arrival. */
  private readonly waiting: Waiting[] = [];
  private readonly byId = new Map<string, Waiting>();
  private readonly options: DriverOptions;
  readonly workspace: Workspace;
  private readonly known = new Set<string>();

  /** Jobs are in the order of their arrival. */
  constructor(
    line: PacedLine,
    jobs: readonly Job[],
    workspace: Workspace,
    options: Partial<DriverOptions> = {},
  ) {
    this.line = line;
    this.workspace = workspace;
    this.options = { ...DEFAULTS, ...options };
    this.add(jobs);
  }

  /** Queues more messages. */
  add(jobs: readonly Job[]): void {
    for (const job of jobs) {
      const entry = startWaiting(job, this.byId.size);
      this.waiting.push(entry);
      this.byId.set(job.id, entry);
      if (job.wroteAt) this.known.add(job.address);
    }
    this.waiting.sort(byTurn);
  }

  /** The jobs that wait, in no particular order. */
  get unsent(): Job[] {
    return this.waiting.map(({ job }) => job);
  }

  /** When the first message is due, or null if nothing waits. */
  firstDue(): Date | null {
    return this.waiting[0]?.message.scheduledAt ?? null;
  }

  /**
   * Plans and sends at `now`. Returns when to call again, or null if nothing waits.
   * @throws Error if that time is not in the future although nothing was sent.
   */
  round(now: Date): Date | null {
    const { batch, outages } = this.options;
    const history = this.history(now);
    const down = outages.some(({ from, to }) => from <= now && now < to);
    this.line = { ...this.line, down, usedUp: usedUpAt(this.line, history, now) };
    for (;;) {
      const { open, next } = planQueue(this.line, history, this.lanes(now), now);
      const found = this.found(open, now);
      if (found.length === 0) return this.wait(next, now);
      const { send, contactGaps } = chooseSends(this.line, history, found, now, { batch });
      this.waitOutContactGaps(contactGaps, send, open, now);
      this.send(send, now);
      if (send.length > 0) {
        this.report(now, send.length, null);
        return new Date(now.getTime() + lineGapMs(this.line, now));
      }
      if (contactGaps.size === 0)
        throw new Error(`${found[0]?.id} is neither sent nor moved at ${now.toISOString()}`);
    }
  }

  private wait(next: NextLook, now: Date): Date | null {
    const outage = this.options.outages.find(({ from, to }) => from <= now && now < to);
    this.report(now, 0, next);
    if (next.at && next.at <= now) throw new Error(`plans again at once, at ${now.toISOString()}`);
    return outage && next.reason === 'line_down' ? outage.to : next.at;
  }

  private report(now: Date, sentCount: number, next: NextLook | null): void {
    const history = this.history(now);
    // The next plan follows at once and remembers which caps are used up.
    const line = { ...this.line, usedUp: usedUpAt(this.line, history, now) };
    this.line = line;
    this.options.onRound?.({
      now,
      sent: this.sent.slice(this.sent.length - sentCount),
      next,
      waiting: () =>
        this.waiting.map(({ message }) => ({
          message: { ...message },
          shownAt: (at) => waitAt({ ...line, lastSentAt: history.lastSentAt }, message, at),
        })),
    });
  }

  /** The lanes of all waiting messages, by window and by whether the contact is new. Updates the messages. */
  private lanes(now: Date): Lane[] {
    const lanes = new Map<string, Lane>();
    for (const { job, message, keys } of this.waiting) {
      message.isAnswer = isAnswerAt(job, now);
      message.isNew = !message.isAnswer && !this.known.has(job.address);
      message.contactLastSentAt = this.workspace.contacts.get(job.address) ?? null;
      const { scheduledAt, isNew } = message;
      const key = keyOf(keys, message);
      const isLater = scheduledAt > now;
      const lane = lanes.get(key);
      if (lane && isLater) lane.laterAt ??= scheduledAt;
      if (lane) continue;
      lanes.set(key, {
        key,
        isNew,
        ...rulesOf(job),
        firstAt: scheduledAt,
        laterAt: isLater ? scheduledAt : null,
      });
    }
    return [...lanes.values()];
  }

  /** The first `look` due messages of the open lanes, in order. */
  private found(open: readonly OpenLane[], now: Date): QueuedMessage[] {
    const lanes = new Map(open.map((lane) => [lane.key, lane]));
    const answers: QueuedMessage[] = [];
    const others: QueuedMessage[] = [];
    for (const { message, keys } of this.waiting) {
      if (message.scheduledAt > now || open.length === 0) break;
      const lane = lanes.get(keyOf(keys, message));
      if (!lane || message.scheduledAt < lane.since) continue;
      if (lane.answersOnly && !message.isAnswer) continue;
      (message.isAnswer ? answers : others).push(message);
    }
    return [...answers, ...others].slice(0, this.options.look);
  }

  private history(now: Date): LineHistory {
    const day = dayBounds(this.line.timezone, now).start;
    const hour = hourBounds(this.line.timezone, now).start;
    const today = this.sent.slice(this.sent.findLastIndex(({ at }) => at < day) + 1);
    return {
      sentToday: today.length,
      newToday: today.filter(({ isNew }) => isNew).length,
      newThisHour: today.filter(({ isNew, at }) => isNew && at >= hour).length,
      lastSentAt: this.sent.at(-1)?.at ?? null,
    };
  }

  /** Moves all due messages to these contacts in the open lanes to the given times. */
  private waitOutContactGaps(
    contactGaps: ReadonlyMap<string, Date>,
    send: readonly string[],
    open: readonly OpenLane[],
    now: Date,
  ): void {
    if (contactGaps.size === 0) return;
    const since = new Map(open.map((lane) => [lane.key, lane.since]));
    for (const { message, keys } of this.waiting) {
      const until = contactGaps.get(message.address);
      const from = since.get(keyOf(keys, message));
      if (!until || !from || message.scheduledAt > now || message.scheduledAt < from) continue;
      if (!send.includes(message.id)) message.scheduledAt = until;
    }
    this.waiting.sort(byTurn);
  }

  private send(ids: readonly string[], now: Date): void {
    for (const id of ids) {
      const entry = this.byId.get(id)!;
      const { job, message } = entry;
      const isNew = message.isNew && !this.known.has(job.address);
      const sent = { lineId: this.line.id, job, at: now, isNew };
      this.sent.push(sent);
      this.workspace.log.push(sent);
      this.known.add(job.address);
      this.workspace.contacts.set(job.address, now);
      this.waiting.splice(this.waiting.indexOf(entry), 1);
    }
  }
}

const keyOf = (keys: Waiting['keys'], { isNew }: QueuedMessage): string => (isNew ? keys.isNew : keys.known);

const rulesOf = ({ window, recipient }: Job): Pick<Job, 'window' | 'recipient'> => ({
  ...(window && { window }),
  ...(recipient && { recipient }),
});

function startWaiting(job: Job, arrival: number): Waiting {
  const { id, address, scheduledAt } = job;
  const unknown = { isNew: true, isAnswer: false, contactLastSentAt: null };
  const rules = JSON.stringify(rulesOf(job));
  return {
    job,
    message: { id, address, scheduledAt, arrival, ...unknown, ...rulesOf(job) },
    keys: { known: `known ${rules}`, isNew: `new ${rules}` },
  };
}

function isAnswerAt({ wroteAt }: Job, now: Date): boolean {
  return wroteAt !== null && wroteAt <= now && now.getTime() - wroteAt.getTime() < DAY_MS;
}
