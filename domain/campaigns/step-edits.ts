import { z } from 'zod';
import { type CampaignStep, placedSteps, stepsById } from './step.ts';
import type { Cursor } from './walk.ts';

/** What becomes of the leads of a campaign when its steps are edited. Pure functions. */

/** Why steps cannot replace those of a campaign that leads have entered; null: they can. */
export function problemOfEdit(
  before: readonly CampaignStep[],
  after: readonly CampaignStep[],
): string | null {
  const known = stepsById(before);
  // Whoever sends steps without their ids would send everything to everybody again.
  return placedSteps(after).some(({ step }) => step.id !== undefined && known.has(step.id))
    ? null
    : 'must keep at least one of the steps by its id, since leads have entered the campaign';
}

/** Steps that follow each other: those of a campaign, or of a branch. */
interface StepList {
  /** The step that branches, and the name of the branch; null: the steps of the campaign. */
  of: { parent: string; branch: string | null } | null;
  steps: readonly CampaignStep[];
}

/** The lists in which steps are, by the ids of the steps. */
function listsOf(steps: readonly CampaignStep[]): Map<string, StepList> {
  const lists = new Map<string, StepList>();
  const add = (list: StepList): void => {
    for (const step of list.steps) {
      const id = step.id ?? '';
      lists.set(id, list);
      if (step.kind !== 'branch') continue;
      for (const { name, steps: inner } of step.branches)
        add({ of: { parent: id, branch: name }, steps: inner });
      add({ of: { parent: id, branch: null }, steps: step.else });
    }
  };
  add({ of: null, steps });
  return lists;
}

/** What has become of a list; null: its branch is gone. A branch that was renamed is known by its number. */
function counterpartOf(
  { of }: StepList,
  before: readonly CampaignStep[],
  after: readonly CampaignStep[],
): readonly CampaignStep[] | null {
  if (of === null) return after;
  const [old, now] = [stepsById(before).get(of.parent)?.step, stepsById(after).get(of.parent)?.step];
  if (old?.kind !== 'branch' || now?.kind !== 'branch') return null;
  if (of.branch === null) return now.else;
  const named = now.branches.find(({ name }) => name === of.branch);
  if (named) return named.steps;
  const sameNumber = now.branches[old.branches.findIndex(({ name }) => name === of.branch)];
  return sameNumber && !old.branches.some(({ name }) => name === sameNumber.name) ? sameNumber.steps : null;
}

const idsWithin = (steps: readonly CampaignStep[]): string[] => placedSteps(steps).map(({ id }) => id);

/** Where a lead is in the steps by which it goes. */
export interface Place {
  stepId: string;
  /** It waits at the step, it comes to it next, or it has passed it. */
  stands: 'at' | 'before' | 'after';
}

/**
 * The step with which a lead goes on after an edit; null: it has come to the end. What is ahead of it stays ahead, whatever is moved, and
 * nothing is ahead that was behind; what is inserted between the two is ahead, unless it waits at a step: then it has come past. Whoever
 * waits at a step that is removed goes on with what is in its place, or else with the next step that remains.
 * @param received the steps that it has got or passed. They are never taken again, wherever they are now.
 */
export function nextAfterEdit(
  before: readonly CampaignStep[],
  after: readonly CampaignStep[],
  { stepId, stands }: Place,
  received: ReadonlySet<string>,
): string | null {
  const lists = listsOf(before);
  const levels: StepList[] = [];
  const [ahead, behind] = [new Set<string>(), new Set(received)];
  for (let id: string | undefined = stepId; id !== undefined;) {
    const list = lists.get(id);
    if (!list) break;
    const number = list.steps.findIndex((step) => step.id === id);
    const first = levels.length === 0 && stands !== 'after' ? number : number + 1;
    levels.push(list);
    for (const one of idsWithin(list.steps.slice(0, first))) behind.add(one);
    for (const step of list.steps.slice(first)) if (!received.has(step.id ?? '')) ahead.add(step.id ?? '');
    id = list.of?.parent;
  }
  const isAhead = ({ id = '' }: CampaignStep): boolean => ahead.has(id);
  const isBehind = ({ id = '' }: CampaignStep): boolean => behind.has(id) && !ahead.has(id);
  for (const level of levels) {
    const list = counterpartOf(level, before, after);
    if (!list) continue;
    const found = list.findIndex(isAhead);
    const end = found === -1 ? list.length : found;
    if (stands === 'at' && list[end]?.id === stepId) return stepId;
    const next = list[list.slice(0, end).findLastIndex(isBehind) + 1];
    if (next) return next.id ?? null;
  }
  return null;
}

interface LeadBefore {
  /** The steps by which it went. */
  old: readonly CampaignStep[];
  steps: readonly CampaignStep[];
  /** What it has got or passed, and the last of it. */
  received: { steps: ReadonlySet<string>; last: { stepId: string; at: Date } | null } | null;
  /** Its messages that were not sent yet. */
  unsent: readonly { stepId: string }[];
  now: Date;
}

/** Where a lead that goes by an earlier version of the steps is in the current one. */
export function cursorAfterEdit(
  lead: Pick<Cursor, 'stepId' | 'isPassed'> & { arrivedAt: Date | null; enteredAt: Date },
  before: LeadBefore,
): Cursor {
  const { old, steps, received, now } = before;
  const { stepId, arrivedAt, enteredAt } = lead;
  const place = placeBefore(lead, before);
  if (place === null) return { stepId: null, isPassed: false, at: enteredAt };
  // A process of an earlier release, which knows no versions, goes by the current steps.
  const from = stepsById(old).has(place.stepId) ? old : steps;
  const next = nextAfterEdit(from, steps, place, received?.steps ?? new Set());
  // Past the last step.
  if (next === null) return { stepId: place.stepId, isPassed: true, at: now };
  const hasLeft = place.stands === 'at' && next !== stepId;
  const since = stepId === null ? (received?.last?.at ?? enteredAt) : (arrivedAt ?? enteredAt);
  return { stepId: next, isPassed: false, at: hasLeft ? now : since };
}

/** null: before the first step. */
function placeBefore(
  { stepId, isPassed }: Pick<Cursor, 'stepId' | 'isPassed'>,
  { old, received, unsent }: LeadBefore,
): Place | null {
  if (stepId !== null) return { stepId, stands: isPassed ? 'after' : 'at' };
  const placed = stepsById(old);
  const indexOf = (id: string) => placed.get(id)?.index ?? 0;
  const [next] = unsent.map((one) => one.stepId).toSorted((a, b) => indexOf(a) - indexOf(b));
  if (next !== undefined) return { stepId: next, stands: 'before' };
  return received?.last ? { stepId: received.last.stepId, stands: 'after' } : null;
}

/** What an edit changed, by the ids of the steps. */
export const StepChanges = z
  .object({
    added: z.array(z.string()),
    removed: z.array(z.string()),
    moved: z.array(z.string()),
    changed: z.array(z.string()).meta({ description: 'Those whose own content changed.' }),
  })
  .meta({ id: 'CampaignStepChanges' });
type StepChanges = z.infer<typeof StepChanges>;

const CHANGES = ['added', 'removed', 'moved', 'changed'] as const;

/** How many leads an edit of a step concerns. */
export const StepEffect = z
  .object({
    stepId: z.string(),
    changes: z.array(z.enum(CHANGES)),
    waiting: z
      .int()
      .meta({ description: 'Leads that have not got it: they wait at it, or its message waits.' }),
    received: z.int().meta({ description: 'Leads that have got its message. They do not get it again.' }),
  })
  .meta({ id: 'CampaignStepEffect' });

/** @param leads how many wait at each step, and have got it. */
export const effectsOf = (
  changes: StepChanges,
  leads: ReadonlyMap<string, { waiting: number; received: number }>,
): z.infer<typeof StepEffect>[] =>
  [...new Set(CHANGES.flatMap((change) => changes[change]))].map((stepId) => ({
    stepId,
    changes: CHANGES.filter((change) => changes[change].includes(stepId)),
    waiting: leads.get(stepId)?.waiting ?? 0,
    received: leads.get(stepId)?.received ?? 0,
  }));

export function changesBetween(before: readonly CampaignStep[], after: readonly CampaignStep[]): StepChanges {
  const [old, now] = [stepsById(before), stepsById(after)];
  const [oldLists, lists] = [listsOf(before), listsOf(after)];
  const kept = [...now.values()].filter(({ id }) => old.has(id));
  const stayed = longestRising(kept.map(({ id }) => old.get(id)?.index ?? 0));
  const placeOf = (id: string, all: ReadonlyMap<string, StepList>) => JSON.stringify(all.get(id)?.of);
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    moved: kept.flatMap(({ id }, number) =>
      stayed.has(number) && placeOf(id, oldLists) === placeOf(id, lists) ? [] : id,
    ),
    changed: kept.flatMap(({ id, step }) => (contentOf(step) === contentOf(old.get(id)?.step) ? [] : id)),
  };
}

/** A step without what is in its branches. */
const contentOf = (step: CampaignStep | undefined): string =>
  JSON.stringify(
    step?.kind === 'branch'
      ? { ...step, branches: step.branches.map(({ name, when }) => ({ name, when })), else: [] }
      : { ...step, kind: step?.kind ?? 'message' },
    // A delay of 2 days is one of 2 days and 0 hours.
    (_, value: unknown) => (value === 0 ? undefined : value),
  );

/** The positions of a longest rising subsequence: what kept its order. */
function longestRising(numbers: readonly number[]): ReadonlySet<number> {
  const best: { length: number; from: number | null }[] = [];
  for (const [position, number] of numbers.entries()) {
    let chosen: (typeof best)[number] = { length: 1, from: null };
    for (let earlier = 0; earlier < position; earlier += 1) {
      const length = (best[earlier]?.length ?? 0) + 1;
      if ((numbers[earlier] ?? 0) < number && length > chosen.length) chosen = { length, from: earlier };
    }
    best.push(chosen);
  }
  const kept = new Set<number>();
  const longest = Math.max(0, ...best.map(({ length }) => length));
  let at: number | null = best.findIndex(({ length }) => length === longest);
  while (at !== null && at >= 0) {
    kept.add(at);
    at = best[at]?.from ?? null;
  }
  return kept;
}
