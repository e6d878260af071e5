import { dayBounds, daysBetween, hourBounds, localDate } from '../calendar.ts';
import type { Channel } from '../channel.ts';
import type { HoldReason, LineHistory, PacedLine } from '../pacing.ts';
import { turnsOf } from '../pool-choice.ts';
import { Cohorts } from './cohorts.ts';
import { type LineEffects, LineRun, type Stream } from './line-run.ts';
import type { SendTimes } from './send-times.ts';

/** A line that takes part, with what already waits at it. */
export interface ForecastLine {
  line: PacedLine;
  history: LineHistory;
  effects?: LineEffects;
  /** Its share of the leads among the lines; 1 for all without a pool. */
  weight: number;
  /** Of the leads those whom the line already knows. */
  knownLeads?: number;
  waiting: readonly WaitingMessages[];
}

/** Messages of a line's queue that the rules treat alike. */
export interface WaitingMessages {
  isNew: boolean;
  times: SendTimes;
  due: { at: Date; count: number }[];
  /** The steps that follow these messages of a campaign. */
  later?: readonly { delayMs: number; count: number }[];
  /** Part of what the forecast is about. */
  isCounted: boolean;
}

export interface ForecastStep {
  channel: Channel;
  /** The channels of lines that can send it. */
  carriers: readonly Channel[];
  delayMs: number;
}

export interface ForecastPlan {
  now: Date;
  timezone: string;
  lines: readonly ForecastLine[];
  /** Leads who enter now, for whom each step is sent. */
  leads: number;
  steps: readonly ForecastStep[];
  times: SendTimes;
  /** Whether a contact keeps one line. */
  sticky: boolean;
}

export interface ForecastDay {
  date: string;
  messages: number;
  newConversations: number;
}

export interface ForecastResult {
  /** null: not within `MOST_DAYS`. */
  completesAt: Date | null;
  firstStepDoneAt: Date | null;
  byDay: ForecastDay[];
  limitedBy: { reason: HoldReason; share: number }[];
}

/** Nothing further ahead is forecast. */
export const MOST_DAYS = 1096;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const LEAST_SHARE = 0.005;

/** Runs the pacing rules ahead; yields after each hour of each line, so that others can have a turn. */
export function* runForecast(plan: ForecastPlan): Generator<void, ForecastResult> {
  const { now, timezone } = plan;
  const horizon = now.getTime() + MOST_DAYS * DAY_MS;
  const days = new Map<number, ForecastDay>();
  const limits = new Map<HoldReason, number>();
  let today: ForecastDay = { date: '', messages: 0, newConversations: 0 };
  const left = { messages: 0, firstSteps: plan.leads };
  let lastAt: number | null = null;
  let firstAt: number | null = null;

  const runs = plan.lines.map(
    ({ line, history, effects }) =>
      new LineRun(line, {
        history,
        effects,
        now: now.getTime(),
        onDay: (reason, count) => void (count > 0 && limits.set(reason, (limits.get(reason) ?? 0) + count)),
      }),
  );

  function count(step: number, isNew: boolean, sent: number, to: number): void {
    today.messages += sent;
    if (isNew) today.newConversations += sent;
    left.messages -= sent;
    lastAt = Math.max(lastAt ?? 0, to);
    if (step > 0) return;
    left.firstSteps -= sent;
    firstAt = Math.max(firstAt ?? 0, to);
  }

  for (const [index, { waiting }] of plan.lines.entries()) {
    const run = runs[index];
    if (run) for (const those of waiting) left.messages += queueWaiting(run, those, count, now);
  }
  const entered = enterLeads(plan, runs, count);
  left.messages += entered.messages;

  while (left.messages > 0) {
    const next = Math.max(now.getTime(), Math.min(...runs.map(({ wakeAt }) => wakeAt)));
    if (next >= horizon) break;
    const at = new Date(next);
    const [hour, day] = [hourBounds(timezone, at), dayBounds(timezone, at)];
    let known = days.get(day.start.getTime());
    if (!known) {
      known = { date: localDate(timezone, at), messages: 0, newConversations: 0 };
      days.set(day.start.getTime(), known);
    }
    today = known;
    for (const run of runs) {
      if (run.wakeAt >= hour.end.getTime()) continue;
      run.run(hour, day, next);
      yield;
    }
    entered.flush();
  }
  for (const run of runs) run.finish();
  return {
    completesAt: left.messages === 0 && lastAt !== null ? new Date(lastAt) : null,
    firstStepDoneAt: plan.leads > 0 && left.firstSteps === 0 && firstAt !== null ? new Date(firstAt) : null,
    byDay: [...days.values()].filter(({ messages }) => messages > 0),
    limitedBy: sharesOf(limits),
  };
}

function sharesOf(limits: ReadonlyMap<HoldReason, number>): ForecastResult['limitedBy'] {
  const total = [...limits.values()].reduce((sum, days) => sum + days, 0);
  return [...limits]
    .map(([reason, days]) => ({ reason, share: Math.round((days / total) * 100) / 100 }))
    .filter(({ share }) => share > LEAST_SHARE)
    .toSorted((a, b) => b.share - a.share);
}

type Count = (step: number, isNew: boolean, sent: number, to: number) => void;

/** Queues what already waits at a line, with its later steps. @returns how many of them are counted. */
function queueWaiting(run: LineRun, waiting: WaitingMessages, count: Count, now: Date): number {
  const { isNew, times, due, later = [], isCounted } = waiting;
  const streams: Stream[] = [];
  const remaining = later.map((step) => step.count);
  const streamOf = (step: number): Stream =>
    (streams[step] ??= run.add({
      isNew: isNew && step === 0,
      times,
      cohorts: new Cohorts(),
      isCounted,
      onSent(sent, from, to) {
        // What waits is no first step of leads who enter now.
        if (isCounted) count(1, isNew && step === 0, sent, to);
        const next = later[step];
        const follow = Math.min(sent, remaining[step] ?? 0);
        if (!next || follow === 0) return;
        remaining[step] = (remaining[step] ?? 0) - follow;
        run.queue(streamOf(step + 1), times.opening((from + to) / 2 + next.delayMs), follow);
      },
    }));
  // A stream that sends later steps must not be added while the line looks at its streams.
  for (let step = 0; step <= later.length; step += 1) streamOf(step);
  const first = streamOf(0);
  let total = 0;
  for (const { at, count: waits } of due) {
    run.queue(first, Math.max(at.getTime(), now.getTime()), waits);
    total += waits;
  }
  const followers = later.reduce((sum, step) => sum + Math.min(step.count, total), 0);
  return isCounted ? total + followers : 0;
}

/** Lets the leads enter: queues their first steps, and each further one when the one before is sent. */
function enterLeads(plan: ForecastPlan, runs: readonly LineRun[], count: Count) {
  const { steps, times, sticky, now } = plan;
  const able = steps.map(({ carriers }) => linesFor(plan, carriers));
  if (plan.leads === 0 || able.some(({ length }) => length === 0))
    return { messages: plan.leads * steps.length, flush: () => undefined };

  /** Messages of the hour that follow sent ones: one cohort for each line and step, at their mean time. */
  const following = new Map<
    string,
    { line: number; step: number; isNew: boolean; count: number; sum: number }
  >();
  const streams = new Map<string, Stream>();
  const streamOf = (line: number, step: number, isNew: boolean): Stream | undefined => {
    const key = `${line} ${step} ${isNew}`;
    const known = streams.get(key);
    if (known) return known;
    const stream = runs[line]?.add({
      isNew,
      times,
      cohorts: new Cohorts(),
      isCounted: true,
      onSent(sent, from, to) {
        count(step, isNew, sent, to);
        follow(line, step, isNew, sent, (from + to) / 2);
      },
    });
    if (stream) streams.set(key, stream);
    return stream;
  };
  const queue = (line: number, step: number, isNew: boolean, due: number, those: number): void => {
    const stream = streamOf(line, step, isNew);
    if (stream) runs[line]?.queue(stream, due, those);
  };

  function follow(line: number, done: number, wasNew: boolean, sent: number, at: number): void {
    const step = done + 1;
    const next = steps[step];
    if (!next) return;
    const to = lineAfter(able, line, step, sticky);
    const isNew = opens(steps, able, step, { sticky, wasNew });
    const gap = (runs[to]?.line.contactGapSeconds ?? 0) * 1000;
    const due = at + Math.max(next.delayMs, gap);
    if (next.delayMs < HOUR_MS) return queue(to, step, isNew, times.opening(due), sent);
    const key = `${to} ${step} ${isNew}`;
    const known = following.get(key);
    if (known) {
      known.count += sent;
      known.sum += due * sent;
    } else following.set(key, { line: to, step, isNew, count: sent, sum: due * sent });
  }

  const due = times.opening(now.getTime() + (steps[0]?.delayMs ?? 0));
  for (const { line, known, fresh } of dealLeads(plan, able[0] ?? [])) {
    if (known > 0) queue(line, 0, false, due, known);
    if (fresh > 0) queue(line, 0, true, due, fresh);
  }
  // All streams exist from the beginning, because a line must not get one while it looks at them.
  for (const [step, lines] of able.entries())
    for (const line of lines) for (const isNew of [true, false]) streamOf(line, step, isNew);
  return {
    messages: plan.leads * steps.length,
    flush(): void {
      for (const { line, step, isNew, count: those, sum } of following.values())
        queue(line, step, isNew, times.opening(sum / those), those);
      following.clear();
    },
  };
}

/** The lines of the best channel that can carry a step, by their index. */
function linesFor({ lines }: ForecastPlan, carriers: readonly Channel[]): number[] {
  for (const channel of carriers) {
    const found = lines.flatMap(({ line }, index) => (line.channel === channel ? [index] : []));
    if (found.length > 0) return found;
  }
  return [];
}

/** How many leads each line gets: those it knows, and the others in turn, as db/commands/sending chooses lines. */
function dealLeads({ lines, leads, sticky, steps }: ForecastPlan, able: readonly number[]) {
  const known = able.map((index) => (sticky ? (lines[index]?.knownLeads ?? 0) : 0));
  const others = Math.max(0, leads - known.reduce((sum, count) => sum + count, 0));
  const turns = turnsOf(able.map((index) => lines[index]?.weight ?? 1));
  const fresh = able.map(() => 0);
  // Each message of a lead takes a turn, unless the lead keeps the line of the first.
  const turnsOfLead = sticky ? 1 : steps.length;
  for (let turn = 0; turn < turns.length; turn += 1) {
    const place = turns[(turn * turnsOfLead) % turns.length] ?? 0;
    fresh[place] = (fresh[place] ?? 0) + Math.floor((others - turn - 1) / turns.length) + 1;
  }
  return able.map((line, place) => ({ line, known: known[place] ?? 0, fresh: fresh[place] ?? 0 }));
}

/** The line of the next step of leads whose last step left by `line`. */
function lineAfter(able: readonly number[][], line: number, step: number, sticky: boolean): number {
  const [before, after] = [able[step - 1] ?? [], able[step] ?? []];
  const place = before.indexOf(line);
  return after[(place + (sticky ? 0 : 1)) % after.length] ?? line;
}

/** Whether a step opens a conversation of its line: by another channel, or on a line whose turn comes for the first time. */
function opens(
  steps: readonly ForecastStep[],
  able: readonly number[][],
  step: number,
  { sticky, wasNew }: { sticky: boolean; wasNew: boolean },
): boolean {
  const isFirstOfChannel = !steps.slice(0, step).some(({ channel }) => channel === steps[step]?.channel);
  if (isFirstOfChannel) return true;
  return !sticky && wasNew && step < (able[step]?.length ?? 1);
}

/** In how many local days from today something ends: 1 today. */
export const daysUntil = (timezone: string, now: Date, at: Date): number =>
  daysBetween(timezone, now, at) + 1;
