import { z } from 'zod';
import { durationMs } from '../base/duration.ts';
import { changedTags } from '../inbox/bulk-conversations.ts';
import { type Condition, type Facts, type Judged, judgeAll, judgeAny, type Judgement } from './condition.ts';
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
    facts: known,
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
  const passed: Passed[] = [];
  const does: DoStep[] = [];
  let facts = known;
  let { at } = cursor;
  const start = cursor.stepId === null ? undefined : placed.get(cursor.stepId);
  let current: Placed | undefined =
    cursor.stepId === null ? placed.values().next().value : cursor.isPassed ? follow(start) : start;

  function follow(one: Placed | undefined): Placed | undefined {
    return placed.get(one?.next ?? '');
  }
  const decide = (one: Placed, outcome: string, why: string, judged: readonly Judged[] = []): void => {
    const { kind } = one.step;
    if (kind !== undefined && kind !== 'message')
      passed.push({ stepId: one.id, kind, outcome, why, judged, at: at > now ? now : at });
  };

  while (current) {
    yield;
    const { step } = current;
    if (received.has(current.id) && !isMessageStep(step)) {
      current = follow(current);
      continue;
    }
    const stops = received.has(current.id) ? null : stopsBefore(step, stopWhen, facts, now);
    if (stops !== null) {
      passed.push({
        stepId: current.id,
        kind: 'stop',
        outcome: 'stopped',
        why: stops.why,
        judged: stops.judged,
        at: at > now ? now : at,
      });
      return { passed, does, rest: { kind: 'stops' } };
    }
    yield;
    switch (step.kind) {
      case 'wait': {
        const until = new Date(at.getTime() + durationMs(step.for));
        if (until > now) return { passed, does, rest: waits(current, at, until, false) };
        at = until;
        decide(current, 'continued', 'the time is over');
        break;
      }
      case 'wait_until': {
        const deadline = new Date(at.getTime() + durationMs(step.atMost));
        const judged = judgeAny(step.any, facts, now);
        if (!judged.holds && deadline > now)
          return { passed, does, rest: waits(current, at, earlier(judged, deadline), true) };
        at = judged.holds ? now : deadline;
        if (!judged.holds && step.else === 'end') {
          decide(current, 'ended', `the time is over: ${judged.why}`, judged.judged);
          return { passed, does, rest: { kind: 'ends' } };
        }
        decide(
          current,
          judged.holds ? 'continued' : 'timed_out',
          judged.holds ? judged.why : `the time is over: ${judged.why}`,
          judged.judged,
        );
        break;
      }
      case 'branch': {
        const judged: (Judgement & { branch: (typeof step.branches)[number] })[] = [];
        for (const branch of step.branches) {
          yield;
          judged.push({ branch, ...judgeAll(branch.when, facts, now) });
        }
        const taken = judged.find(({ holds }) => holds);
        decide(
          current,
          taken?.branch.name ?? 'else',
          taken?.why ?? judged.map(({ branch, why }) => `${branch.name}: ${why}`).join('; '),
          (taken ? [taken] : judged).flatMap(({ branch: { name }, judged: conditions }) =>
            conditions.map((one) => ({ ...one, branch: name })),
          ),
        );
        const [first] = taken?.branch.steps ?? step.else;
        if (first) {
          const inner: Placed | undefined = [...placed.values()].find((one) => one.step === first);
          current = inner;
          continue;
        }
        break;
      }
      case 'do':
        does.push(step);
        facts = { ...facts, lead: changedLead(facts.lead, step) };
        decide(current, 'done', describeDo(step));
        break;
      case 'end':
        decide(current, 'ended', 'the campaign ends here');
        return { passed, does, rest: { kind: 'ends' } };
      case 'message':
      case undefined: {
        const run = runFrom(current, placed);
        if (run.some(({ id, step }) => !received.has(id) && reaches(step)))
          return { passed, does, rest: { kind: 'sends', run, from: at } };
        current = follow(run.at(-1));
        continue;
      }
    }
    current = follow(current);
  }
  return { passed, does, rest: { kind: 'ends' } };
}

const waits = (
  { id: stepId }: Placed,
  at: Date,
  until: Date,
  isAwaitingFacts: boolean,
): Extract<Rest, { kind: 'waits' }> => ({ kind: 'waits', stepId, at, until, isAwaitingFacts });

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
