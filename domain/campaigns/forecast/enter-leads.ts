import type { Channel } from '#domain/base/channel.ts';
import { turnsOf } from '#domain/lines/pool-choice.ts';
import { Cohorts } from './cohorts.ts';
import type { Count, ForecastPlan, ForecastStep } from './plan.ts';
import type { LineRun, Stream } from './line-run.ts';

/** A step for the leads of one place on one line, each given by its index. */
interface LeadStep {
  line: number;
  place: number;
  step: number;
  isNew: boolean;
}

const HOUR_MS = 3_600_000;

/** Lets the leads enter: queues their first steps, and each further one when the one before is sent. */
export function enterLeads(plan: ForecastPlan, runs: readonly LineRun[], count: Count) {
  const { steps, places, sticky, now } = plan;
  const able = steps.map(({ carriers }) => linesFor(plan, carriers));
  if (plan.leads === 0 || able.some(({ length }) => length === 0))
    return { messages: plan.leads * steps.length, flush: () => undefined };

  /** The next messages after those sent in an hour: one cohort per line, place and step, at their mean time. */
  const following = new Map<string, { of: LeadStep; count: number; sum: number }>();
  const streams = new Map<string, Stream>();
  const streamOf = (of: LeadStep): Stream | undefined => {
    const key = keyOf(of);
    const known = streams.get(key);
    if (known) return known;
    const [run, place] = [runs[of.line], places[of.place]];
    if (!run || !place) return undefined;
    const stream = run.add({
      isNew: of.isNew,
      times: place.times,
      cohorts: new Cohorts(),
      isCounted: true,
      isEarlier: false,
      onSent(sent, from, to) {
        count(of.step, of.isNew, sent, to);
        follow(of, sent, (from + to) / 2);
      },
    });
    streams.set(key, stream);
    return stream;
  };
  const queue = (of: LeadStep, due: number, those: number): void => {
    const stream = streamOf(of);
    if (stream) runs[of.line]?.queue(stream, stream.times.opening(due), those, due);
  };

  function follow({ line, place, step: done, isNew: wasNew }: LeadStep, sent: number, at: number): void {
    const step = done + 1;
    const next = steps[step];
    if (!next) return;
    const to = lineAfter(able, line, step, sticky);
    const of = { line: to, place, step, isNew: opens(steps, able, step, { sticky, wasNew }) };
    const gap = (runs[to]?.line.contactGapSeconds ?? 0) * 1000;
    const due = at + Math.max(next.delayMs, gap);
    if (next.delayMs < HOUR_MS) return queue(of, due, sent);
    const key = keyOf(of);
    const known = following.get(key);
    if (known) {
      known.count += sent;
      known.sum += due * sent;
    } else following.set(key, { of, count: sent, sum: due * sent });
  }

  const due = now.getTime() + (steps[0]?.delayMs ?? 0);
  const shares = places.map(({ share }) => share);
  for (const { line, known, fresh } of dealLeads(plan, able[0] ?? []))
    for (const [isNew, leads] of [
      [false, known],
      [true, fresh],
    ] as const)
      for (const [place, those] of split(leads, shares).entries())
        if (those > 0) queue({ line, place, step: 0, isNew }, due, those);
  // All streams exist from the beginning, because a line must not get one while it looks at them.
  for (const [step, lines] of able.entries())
    for (const line of lines)
      for (const place of places.keys())
        for (const isNew of [true, false]) streamOf({ line, place, step, isNew });
  return {
    messages: plan.leads * steps.length,
    flush(): void {
      for (const { of, count: those, sum } of following.values()) queue(of, sum / those, those);
      following.clear();
    },
  };
}

const keyOf = ({ line, place, step, isNew }: LeadStep): string => `${line} ${place} ${step} ${isNew}`;

/** Divides a count into whole parts that are as close to the shares as possible and add up to it. */
function split(count: number, shares: readonly number[]): number[] {
  const total = shares.reduce((sum, share) => sum + share, 0);
  let [before, dealt] = [0, 0];
  return shares.map((share) => {
    before += share;
    const part = Math.round((count * before) / total) - dealt;
    dealt += part;
    return part;
  });
}

/** The lines of the best channel that can carry a step, by their index. A lead keeps its line, even one without a share. */
export function linesFor(
  { lines, sticky }: Pick<ForecastPlan, 'lines' | 'sticky'>,
  carriers: readonly Channel[],
): number[] {
  for (const channel of carriers) {
    const found = lines.flatMap(({ line }, index) => (line.channel === channel ? [index] : []));
    const shared = found.filter((index) => (lines[index]?.weight ?? 0) > 0);
    if (found.length > 0) return sticky || shared.length === 0 ? found : shared;
  }
  return [];
}

/** How many leads each line gets: those it knows, and the others in turn, as in db/commands/sending. */
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

/** Whether a step starts a conversation on its line: through another channel, or on a line whose turn comes for the first time. */
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
