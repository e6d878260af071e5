import { dayBounds, hourBounds } from '#domain/calendar.ts';
import {
  lineGapMs,
  type LineHistory,
  type Move,
  type PacedLine,
  planLine,
  type QueuedMessage,
} from '#domain/pacing.ts';
import type { SendWindow } from '#domain/send-window.ts';

/** A message given to a line. */
export interface Job {
  id: string;
  address: string;
  scheduledAt: Date;
  /** When the contact last wrote, if it did: the message is an answer for 24 hours from then. */
  wroteAt: Date | null;
  window?: SendWindow;
}

export interface Sent {
  lineId: string;
  job: Job;
  at: Date;
  isNew: boolean;
}

/** What the lines of a workspace have in common. */
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
  /** How much of the queue is looked at while nothing moves. */
  look: number;
  batch: number;
  outages: readonly Outage[];
  onMove: (move: Move, now: Date) => void;
}

interface Waiting {
  job: Job;
  /** What the rules see of it; brought up to date before each plan. */
  message: QueuedMessage;
}

const DAY_MS = 86_400_000;
const DEFAULTS: DriverOptions = { look: 300, batch: 16, outages: [], onMove: () => undefined };

const byTurn = ({ message: a }: Waiting, { message: b }: Waiting): number =>
  a.scheduledAt.getTime() - b.scheduledAt.getTime() || a.arrival - b.arrival;

/**
 * Does in memory, with a clock that is passed in, what the line pacer does with a database: plan, send or move,
 * and say when to come back. Coming back at any other time is allowed, as after a crash.
 */
export class LineDriver {
  readonly line: PacedLine;
  readonly sent: Sent[] = [];
  /** By the time they fall due, then by arrival. */
  private readonly waiting: Waiting[];
  private readonly byId: ReadonlyMap<string, Waiting>;
  private readonly options: DriverOptions;
  private readonly workspace: Workspace;
  private readonly known: Set<string>;

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
    this.waiting = jobs.map(startWaiting).toSorted(byTurn);
    this.byId = new Map(this.waiting.map((entry) => [entry.job.id, entry]));
    this.known = new Set(jobs.filter(({ wroteAt }) => wroteAt).map(({ address }) => address));
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  /** When the first message falls due; null when nothing waits. */
  firstDue(): Date | null {
    return this.waiting[0]?.message.scheduledAt ?? null;
  }

  /**
   * Plans and acts at `now`. Returns when to call again; null when nothing waits.
   * @throws Error for a move that is not into the future.
   */
  round(now: Date): Date | null {
    const { look, batch, outages } = this.options;
    const outage = outages.find(({ from, to }) => from <= now && now < to);
    const line = { ...this.line, down: outage !== undefined };
    const history = this.history(now);
    let queue = this.due(now, look);
    let plan = planLine(line, history, now, queue, { batch });
    if (plan.moves.length > 0 && queue.length === look) {
      queue = this.due(now, Infinity);
      plan = planLine(line, history, now, queue, { batch });
    }
    this.move(plan.moves, now);
    this.send(plan.send, now);
    if (plan.send.length > 0) return new Date(now.getTime() + lineGapMs(line, now));
    if (plan.moves.length === queue.length) return this.firstDue();
    return outage ? outage.to : plan.next.at;
  }

  /** The first `look` messages that are due, in their order. */
  private due(now: Date, look: number): QueuedMessage[] {
    const answers: QueuedMessage[] = [];
    const others: QueuedMessage[] = [];
    for (const { job, message } of this.waiting) {
      if (message.scheduledAt.getTime() > now.getTime()) break;
      message.isAnswer = isAnswerAt(job, now);
      if (!message.isAnswer && others.length === look) continue;
      message.isNew = !message.isAnswer && !this.known.has(job.address);
      message.contactLastSentAt = this.workspace.contacts.get(job.address) ?? null;
      (message.isAnswer ? answers : others).push(message);
    }
    return [...answers, ...others].slice(0, look);
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

  private move(moves: readonly Move[], now: Date): void {
    if (moves.length === 0) return;
    for (const move of moves) {
      if (move.to.getTime() <= now.getTime()) {
        throw new Error(`${move.id} moves into the past (${move.reason}) at ${now.toISOString()}`);
      }
      this.byId.get(move.id)!.message.scheduledAt = move.to;
      this.options.onMove(move, now);
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

function startWaiting(job: Job, arrival: number): Waiting {
  const { id, address, scheduledAt, window } = job;
  const unknown = { isNew: true, isAnswer: false, contactLastSentAt: null };
  return { job, message: { id, address, scheduledAt, arrival, ...unknown, ...(window && { window }) } };
}

function isAnswerAt({ wroteAt }: Job, now: Date): boolean {
  return wroteAt !== null && wroteAt <= now && now.getTime() - wroteAt.getTime() < DAY_MS;
}
