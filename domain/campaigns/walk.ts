import { z } from 'zod';
import { durationMs } from '../base/duration.ts';
import { changedTags } from '../inbox/bulk-conversations.ts';
import type { Condition } from './condition.ts';
import { type Facts, type Judged, judgeAll, judgeAny, type Judgement } from './judge.ts';
import {
  type CampaignStep,
  conditionsByField,
  type DoStep,
  isMessageStep,
  type MessageStep,
  type Placed,
  placedSteps,
  stepsById,
} from './step.ts';

/** How a lead goes through the steps of a campaign. Pure functions that take the facts and the time as parameters. */

/** Where a lead is. */
export interface Cursor {
  /** null: before the first step. */
  stepId: string | null;
  /** It has passed the step. */
  isPassed: boolean;
  /** When it came there. */
  at: Date;
}

export const DecidingStep = z.enum(['wait', 'wait_until', 'branch', 'do', 'end', 'stop']);

/** A decision on the way. */
export interface Passed {
  stepId: string;
  kind: z.infer<typeof DecidingStep>;
  /** The name of the branch, `else`, `continued`, `timed_out`, `done`, `ended` or `stopped`. */
  outcome: string;
  /** For people. */
  why: string;
  /** The conditions that decided. */
  judged: readonly Judged[];
  at: Date;
}

/** Where a walk stops. */
export type Rest =
  | {
      kind: 'waits';
      stepId: string;
      at: Date;
      /** When time alone may let it continue. */
      until: Date;
      /** Whether a change of a fact may, too. */
      isAwaitingFacts: boolean;
    }
  | {
      kind: 'sends';
      /** Messages that follow each other without a decision. At least one can reach the lead. */
      run: readonly Placed<MessageStep>[];
      /** From when the delay of the first counts. */
      from: Date;
    }
  | { kind: 'ends' }
  /** A condition to stop holds. */
  | { kind: 'stops' };

/** Why a lead stops before a step; null: it does not. */
export function stopsBefore(
  step: Pick<CampaignStep, 'stopWhen'>,
  stopWhen: readonly Condition[],
  facts: Facts,
  now: Date,
): Judgement | null {
  const judgement = judgeAny([...stopWhen, ...(step.stopWhen ?? [])], facts, now);
  return judgement.holds ? judgement : null;
}

export interface Walk {
  passed: readonly Passed[];
  /** What is to be done, in order. */
  does: readonly DoStep[];
  rest: Rest;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Walks on from where a lead is, as far as it gets now; others may get a turn after each list of conditions. What a `do` changes in the lead counts for the conditions after it.
 * @param received steps that are not taken again. In a campaign whose steps never changed places, there are none ahead.
 * @param stopWhen what stops a lead before any step.
 * @param reaches whether a message of the step can be sent to the lead.
 */
export function* walk(
  steps: readonly CampaignStep[],
  cursor: Cursor,
  {
    facts,
    reaches,
    received = NONE,
    stopWhen = [],
    now,
  }: {
    facts: Facts;
    reaches: (step: MessageStep) => boolean;
    received?: ReadonlySet<string>;
    stopWhen?: readonly Condition[];
    now: Date;
  },
): Generator<void, Walk> {
  const placed = stepsById(steps);
  const journey: Journey = { facts, at: cursor.at, now, passed: [], does: [] };
  const restsAt = (rest: Rest): Walk => ({ passed: journey.passed, does: journey.does, rest });

  for (let current = startOf(placed, cursor); current;) {
    yield;
    const { id, step } = current;
    const isReceived = received.has(id);
    if (isReceived && !isMessageStep(step)) {
      current = follow(placed, current);
      continue;
    }
    const stops = isReceived ? null : stopsBefore(step, stopWhen, journey.facts, now);
    if (stops) {
      pass(journey, id, { kind: 'stop', outcome: 'stopped', ...stops });
      return restsAt({ kind: 'stops' });
    }
    yield;
    if (isMessageStep(step)) {
      const run = runFrom(current, placed);
      if (run.some((one) => !received.has(one.id) && reaches(one.step)))
        return restsAt({ kind: 'sends', run, from: journey.at });
      current = follow(placed, run.at(-1));
      continue;
    }
    const taken = yield* take(journey, id, step);
    if (taken.kind !== 'goes_on') return restsAt(taken);
    current = taken.into ? placedAs(placed, taken.into) : follow(placed, current);
  }
  return restsAt({ kind: 'ends' });
}

/** What a lead is and has been through, from the start of a walk to its current step. */
interface Journey {
  facts: Facts;
  /** When it came to the step. */
  at: Date;
  readonly now: Date;
  readonly passed: Passed[];
  readonly does: DoStep[];
}

type ById = ReadonlyMap<string, Placed>;
const follow = (placed: ById, one: Placed | undefined): Placed | undefined => placed.get(one?.next ?? '');
const placedAs = (placed: ById, step: CampaignStep): Placed | undefined =>
  [...placed.values()].find((one) => one.step === step);

function startOf(placed: ById, { stepId, isPassed }: Cursor): Placed | undefined {
  if (stepId === null) return placed.values().next().value;
  const start = placed.get(stepId);
  return isPassed ? follow(placed, start) : start;
}

function pass(
  { passed, at, now }: Journey,
  stepId: string,
  {
    kind,
    outcome,
    why,
    judged = [],
  }: Omit<Passed, 'stepId' | 'judged' | 'at'> & Partial<Pick<Passed, 'judged'>>,
): void {
  passed.push({ stepId, kind, outcome, why, judged, at: at > now ? now : at });
}

type Deciding = Exclude<CampaignStep, MessageStep>;
type Step<K extends Deciding['kind']> = Extract<Deciding, { kind: K }>;
/** A lead rests at the step; or it goes on: into a branch, otherwise to what follows the step. */
type Taken = Rest | { kind: 'goes_on'; into?: CampaignStep | undefined };
const GOES_ON: Taken = { kind: 'goes_on' };

function* take(journey: Journey, id: string, step: Deciding): Generator<void, Taken> {
  switch (step.kind) {
    case 'wait':
      return takeWait(journey, id, step);
    case 'wait_until':
      return takeWaitUntil(journey, id, step);
    case 'branch':
      return yield* takeBranch(journey, id, step);
    case 'do':
      journey.does.push(step);
      journey.facts = { ...journey.facts, lead: changedLead(journey.facts.lead, step) };
      pass(journey, id, { kind: 'do', outcome: 'done', why: describeDo(step) });
      return GOES_ON;
    case 'end':
      pass(journey, id, { kind: 'end', outcome: 'ended', why: 'the campaign ends here' });
      return { kind: 'ends' };
  }
}

function takeWait(journey: Journey, stepId: string, step: Step<'wait'>): Taken {
  const { at, now } = journey;
  const until = new Date(at.getTime() + durationMs(step.for));
  if (until > now) return { kind: 'waits', stepId, at, until, isAwaitingFacts: false };
  journey.at = until;
  pass(journey, stepId, { kind: 'wait', outcome: 'continued', why: 'the time is over' });
  return GOES_ON;
}

function takeWaitUntil(journey: Journey, stepId: string, step: Step<'wait_until'>): Taken {
  const { at, now, facts } = journey;
  const { kind } = step;
  const deadline = new Date(at.getTime() + durationMs(step.atMost));
  const judgement = judgeAny(step.any, facts, now);
  const { holds, why, judged } = judgement;
  if (!holds && deadline > now)
    return { kind: 'waits', stepId, at, until: earlier(judgement, deadline), isAwaitingFacts: true };
  journey.at = holds ? now : deadline;
  if (holds) pass(journey, stepId, { kind, outcome: 'continued', why, judged });
  else {
    const outcome = step.else === 'end' ? 'ended' : 'timed_out';
    pass(journey, stepId, { kind, outcome, why: `the time is over: ${why}`, judged });
    if (step.else === 'end') return { kind: 'ends' };
  }
  return GOES_ON;
}

function* takeBranch(journey: Journey, stepId: string, step: Step<'branch'>): Generator<void, Taken> {
  const judged: (Judgement & { branch: (typeof step.branches)[number] })[] = [];
  for (const branch of step.branches) {
    yield;
    judged.push({ branch, ...judgeAll(branch.when, journey.facts, journey.now) });
  }
  const taken = judged.find(({ holds }) => holds);
  pass(journey, stepId, {
    kind: 'branch',
    outcome: taken?.branch.name ?? 'else',
    why: taken?.why ?? judged.map(({ branch, why }) => `${branch.name}: ${why}`).join('; '),
    judged: (taken ? [taken] : judged).flatMap(({ branch: { name }, judged: conditions }) =>
      conditions.map((one) => ({ ...one, branch: name })),
    ),
  });
  const [into] = taken?.branch.steps ?? step.else;
  return { kind: 'goes_on', into };
}

const earlier = ({ mayChangeAt }: Judgement, deadline: Date): Date =>
  mayChangeAt !== null && mayChangeAt < deadline ? mayChangeAt : deadline;

/** The messages that follow each other from a step on, without a decision between them. */
function runFrom(first: Placed, placed: ReadonlyMap<string, Placed>): Placed<MessageStep>[] {
  const run: Placed<MessageStep>[] = [];
  for (let one: Placed | undefined = first; one && isMessageStep(one.step); one = placed.get(one.next ?? ''))
    run.push(one as Placed<MessageStep>);
  return run;
}

/** Whether a step follows a message that was the last of its run. */
export function goesOnAfter(steps: readonly CampaignStep[], stepId: string): boolean {
  const placed = stepsById(steps);
  return placed.has(placed.get(stepId)?.next ?? '');
}

/** The delays from one message of a run to another, by their ids. */
export function pauseBetween(steps: readonly CampaignStep[], done: string, next: string): number {
  const placed = stepsById(steps);
  const first = placed.get(placed.get(done)?.next ?? '');
  const run = first ? runFrom(first, placed) : [];
  return run
    .slice(0, run.findIndex(({ id }) => id === next) + 1)
    .reduce((sum, { step: { delay } }) => sum + durationMs(delay), 0);
}

/** A lead after a `do`, as far as conditions see it. */
function changedLead(lead: Facts['lead'], { addTags, removeTags, setFields = {} }: DoStep): Facts['lead'] {
  const tags = changedTags(lead.tags, { addTags, removeTags });
  return { ...lead, ...fieldsAfter(lead, setFields), tags };
}

/** The fields of a lead that `setFields` changes. */
export function fieldsAfter(
  {
    customFields,
    companyName,
    jobTitle,
    notes,
  }: Pick<Facts['lead'], 'customFields' | 'companyName' | 'jobTitle' | 'notes'>,
  setFields: Readonly<Record<string, string>>,
) {
  const custom = Object.entries(setFields).flatMap(([field, value]) => {
    const name = /^customFields\.(.+)$/.exec(field)?.[1];
    return name === undefined ? [] : [[name, value] as const];
  });
  return {
    customFields: { ...customFields, ...Object.fromEntries(custom) },
    companyName: setFields['companyName'] ?? companyName,
    jobTitle: setFields['jobTitle'] ?? jobTitle,
    notes: setFields['notes'] ?? notes,
  };
}

/** Without the values of fields, which are about the contact. */
const describeDo = ({
  addTags = [],
  removeTags = [],
  setFields = {},
  moveToListId,
  assign,
  enterCampaignId,
  webhook,
}: DoStep): string =>
  [
    ...addTags.map((tag) => `adds the tag “${tag}”`),
    ...removeTags.map((tag) => `removes the tag “${tag}”`),
    ...Object.keys(setFields).map((field) => `sets ${field}`),
    moveToListId !== undefined && 'moves the contact to another list',
    assign !== undefined &&
      (assign === null ? 'assigns the conversation to nobody' : 'assigns the conversation'),
    enterCampaignId !== undefined && 'starts another campaign',
    webhook !== undefined && 'calls a webhook',
  ]
    .filter((text) => text !== false)
    .join('; ');

/** All conditions that are judged on the way. */
export const conditionsOf = (steps: readonly CampaignStep[]): Condition[] =>
  placedSteps(steps).flatMap(({ step }) => conditionsByField(step).flatMap(([, conditions]) => conditions));

/** Whether it is decided by replies how leads go on. */
export const asksAboutReplies = (
  steps: readonly CampaignStep[],
  stopWhen: readonly Condition[] = [],
): boolean => [...stopWhen, ...conditionsOf(steps)].some(({ field }) => field === 'replied');

/** The messages for a contact about whom no condition holds, as one sequence: waits add to the delay of what follows. */
export function quietPath(steps: readonly CampaignStep[]): MessageStep[] {
  const path: MessageStep[] = [];
  let waited = 0;
  const go = (list: readonly CampaignStep[]): boolean =>
    list.every((step) => {
      switch (step.kind) {
        case 'wait':
          waited += durationMs(step.for);
          return true;
        case 'wait_until':
          waited += durationMs(step.atMost);
          return step.else === 'continue';
        case 'branch':
          return go(step.else);
        case 'do':
          return true;
        case 'end':
          return false;
        case 'message':
        case undefined: {
          const minutes = (durationMs(step.delay) + waited) / 60_000;
          path.push(waited === 0 ? step : { ...step, delay: { minutes } });
          waited = 0;
          return true;
        }
      }
    });
  go(steps);
  return path;
}
