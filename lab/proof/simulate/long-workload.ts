import type { PacedLine } from '../../../domain/sending/holds.ts';
import type { SendWindow } from '../../../domain/sending/send-window.ts';
import { wallClock } from './check-log.ts';
import type { Job, Outage } from './line-driver.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** How many messages fall due around the close of a window. */
const AT_CLOSE = 8;
/** A window may be in another zone than its workspace. */
const FAR_ZONES = ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Australia/Lord_Howe', 'America/New_York'];

/** A workspace with lines of random limits and, week by week, random work for them. */
export class LongWorkspace {
  readonly lines: readonly PacedLine[];
  /** How many messages `jobsOf` has made. */
  queued = 0;
  private readonly id: string;
  private readonly random: () => number;
  private readonly begin: Date;
  /** For each line, the share of its caps that is queued. */
  private readonly loads: ReadonlyMap<string, number>;

  constructor(id: string, timezone: string, count: number, begin: Date, random: () => number) {
    this.id = id;
    this.random = random;
    this.begin = begin;
    this.lines = Array.from({ length: count }, (_, index) => this.line(`${id} line ${index}`, timezone));
    this.loads = new Map(this.lines.map((line) => [line.id, this.random()]));
  }

  private upTo(most: number): number {
    return Math.floor(this.random() * (most + 1));
  }

  private line(id: string, timezone: string): PacedLine {
    const dailyTotal = 1 + this.upTo(this.random() < 0.3 ? 10 : 80);
    const chance = this.random();
    return {
      id,
      channel: chance < 0.6 ? 'imessage' : chance < 0.8 ? 'sms' : 'email',
      active: true,
      down: false,
      timezone,
      dailyTotal,
      dailyNew: this.upTo(dailyTotal),
      hourlyNew: this.random() < 0.5 ? null : this.upTo(12),
      minGapSeconds: this.random() < 0.3 ? 0 : this.upTo(600),
      contactGapSeconds: this.random() < 0.3 ? 0 : this.upTo(7200),
      warmupStartedAt:
        this.random() < 0.3 ? new Date(this.begin.getTime() + (this.upTo(40) - 20) * DAY) : null,
      usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
    };
  }

  /** A few hours now and then in which a line is down. */
  outagesOf(_line: PacedLine, days: number): Outage[] {
    return Array.from({ length: this.upTo(Math.ceil(days / 60)) }, () => {
      const from = this.begin.getTime() + this.random() * days * DAY;
      return { from: new Date(from), to: new Date(from + this.random() * 8 * HOUR) };
    });
  }

  /**
   * The messages of one week in the order of their arrival: bursts to strangers, answers and messages to known contacts;
   * now and then as many strangers at once as use up every cap, and messages that fall due around the close of a window.
   */
  jobsOf(line: PacedLine, week: Date): Job[] {
    const { id, dailyTotal, timezone } = line;
    const count = Math.round(dailyTotal * 7 * (this.loads.get(id) ?? 1) * this.random());
    const burst = week.getTime() + this.random() * WEEK;
    const jobs = Array.from({ length: count }, () => {
      const isBurst = this.random() < 0.5;
      const at = isBurst ? burst + this.random() * 5 * MINUTE : week.getTime() + this.random() * WEEK;
      const isKnown = this.random() < 0.3;
      return this.job(line, at, isKnown, this.window(timezone));
    });
    if (this.random() < 0.2) {
      const at = week.getTime() + this.random() * WEEK;
      for (let more = 0; more < dailyTotal + 10; more += 1) jobs.push(this.job(line, at, false, undefined));
    }
    const window = this.window(timezone);
    if (window?.end !== undefined) {
      const end = closingAfter(window.timezone, window.end, week.getTime() + this.random() * WEEK);
      for (let more = 0; more < AT_CLOSE; more += 1)
        jobs.push(this.job(line, end + (this.random() - 0.5) * 4 * MINUTE, true, window));
    }
    return jobs.toSorted((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime());
  }

  private job({ id }: PacedLine, at: number, isKnown: boolean, window: SendWindow | undefined): Job {
    this.queued += 1;
    return {
      id: `${id} message ${this.queued}`,
      // Some contacts hear from several lines of the workspace.
      address:
        this.random() < 0.1
          ? `${this.id} contact ${this.upTo(9)}`
          : `${id} contact ${isKnown ? this.upTo(12) : 1000 + this.queued}`,
      scheduledAt: new Date(at),
      wroteAt: isKnown ? new Date(at - this.random() * 40 * HOUR) : null,
      ...(window && { window }),
    };
  }

  /** One of few windows, as campaigns have them. */
  private window(timezone: string): SendWindow | undefined {
    const zone = FAR_ZONES[this.upTo(3)] ?? timezone;
    const windows: (SendWindow | undefined)[] = [
      undefined,
      { timezone, start: '09:00', end: '17:00', days: [1, 2, 3, 4, 5] },
      { timezone, start: '22:30', end: '02:15' },
      { timezone: zone, start: '01:30', end: '03:30' },
      { timezone: zone, days: [0, 6] },
    ];
    return this.random() < 0.5 ? undefined : windows[this.upTo(windows.length - 1)];
  }
}

/** When the clocks show `time` next after `at`, unless they change before. */
function closingAfter(timezone: string, time: string, at: number): number {
  const minutes = (shown: string): number => Number(shown.slice(0, 2)) * 60 + Number(shown.slice(3, 5));
  const now = minutes(wallClock(timezone, new Date(at)).time);
  return at - (at % MINUTE) + ((minutes(time) - now + 1440) % 1440) * MINUTE;
}
