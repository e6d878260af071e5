import type { MessageDraft, StepDraft } from './step-draft.ts';

/** Changes of the tree of steps that is being written. A step is found by its `key`. */

type Steps = readonly StepDraft[];

/** The lists of steps in a branch step, in reading order. */
const listsOf = (step: StepDraft): readonly Steps[] =>
  step.kind === 'branch' ? [...step.branches.map(({ steps }) => steps), step.else] : [];

/** A step with other lists of steps, as many as it has. */
function withLists(step: StepDraft, lists: readonly Steps[]): StepDraft {
  if (step.kind !== 'branch') return step;
  return {
    ...step,
    branches: step.branches.map((branch, index) => ({ ...branch, steps: lists[index] ?? branch.steps })),
    else: lists.at(-1) ?? step.else,
  };
}

/** Changes all lists of steps, those within branches first. */
const changeLists = (steps: Steps, change: (list: Steps) => Steps): Steps =>
  change(
    steps.map((step) =>
      step.kind === 'branch'
        ? withLists(
            step,
            listsOf(step).map((list) => changeLists(list, change)),
          )
        : step,
    ),
  );

/** All steps in reading order. */
export const flatSteps = (steps: Steps): StepDraft[] =>
  steps.flatMap((step) => [step, ...listsOf(step).flatMap(flatSteps)]);

export const updateStep = (steps: Steps, key: string, update: (step: StepDraft) => StepDraft): Steps =>
  changeLists(steps, (list) => list.map((step) => (step.key === key ? update(step) : step)));

export const removeStep = (steps: Steps, key: string): Steps =>
  changeLists(steps, (list) => list.filter((step) => step.key !== key));

export const insertAfter = (steps: Steps, key: string, added: StepDraft): Steps =>
  changeLists(steps, (list) => list.flatMap((step) => (step.key === key ? [step, added] : [step])));

/** Adds a step at the end of a list of a branch step. */
export const appendIn = (steps: Steps, key: string, number: number, added: StepDraft): Steps =>
  updateStep(steps, key, (step) =>
    withLists(
      step,
      listsOf(step).map((list, index) => (index === number ? [...list, added] : list)),
    ),
  );

/**
 * Moves a step by one place in reading order: past its neighbour, into a branch beside it, or out of its own. At the end of all
 * steps nothing changes.
 */
export function moveStep(steps: Steps, key: string, by: 1 | -1): Steps {
  const found = flatSteps(steps).find((step) => step.key === key);
  return found ? moved(steps, found, by) : steps;
}

function moved(list: Steps, step: StepDraft, by: 1 | -1): Steps {
  const index = list.indexOf(step);
  if (index >= 0) {
    const neighbour = list[index + by];
    if (!neighbour) return list;
    const others = list.filter((one) => one !== step);
    if (neighbour.kind !== 'branch') return others.toSpliced(index + by, 0, step);
    const inner = listsOf(neighbour);
    const entered = by === 1 ? 0 : inner.length - 1;
    return others.map((one) =>
      one === neighbour
        ? withLists(
            one,
            inner.map((steps, number) => (number === entered ? added(steps, step, by) : steps)),
          )
        : one,
    );
  }
  return list.flatMap((parent) => movedWithin(parent, step, by));
}

/** Into a list from its beginning or its end. */
const added = (list: Steps, step: StepDraft, by: 1 | -1): Steps =>
  by === 1 ? [step, ...list] : [...list, step];

/** A branch step without a step that leaves it, and that step; or with the step in another place. */
function movedWithin(parent: StepDraft, step: StepDraft, by: 1 | -1): Steps {
  const lists = listsOf(parent);
  const from = lists.findIndex((list) => list.includes(step));
  if (from < 0)
    return [
      withLists(
        parent,
        lists.map((list) => moved(list, step, by)),
      ),
    ];
  const list = lists[from] ?? [];
  if (list[list.indexOf(step) + by]) return [withLists(parent, lists.with(from, moved(list, step, by)))];
  const left = lists.with(
    from,
    list.filter((one) => one !== step),
  );
  const to = lists[from + by];
  if (to) return [withLists(parent, left.with(from + by, added(to, step, by)))];
  const rest = withLists(parent, left);
  return by === 1 ? [rest, step] : [step, rest];
}

/** What comes before a step on the way to it, the nearest last; null: the step is not among these. */
function stepsBefore(steps: Steps, key: string): Steps | null {
  const index = steps.findIndex((step) => step.key === key);
  if (index >= 0) return steps.slice(0, index);
  for (const [number, step] of steps.entries())
    for (const list of listsOf(step)) {
      const within = stepsBefore(list, key);
      if (within) return [...steps.slice(0, number), ...within];
    }
  return null;
}

/** Whether time has passed before a message, so that it needs no delay of its own: a wait comes before it, or nothing does. */
export function comesAfterWait(steps: Steps, key: string): boolean {
  const last = stepsBefore(steps, key)?.findLast(({ kind }) => kind !== 'do');
  return last === undefined || last.kind === 'wait' || last.kind === 'wait_until';
}

/** The channel of the message before a step on the way to it, or of the first message; undefined: there is no other one. */
export function channelBefore(steps: Steps, key: string): MessageDraft['messageType'] | undefined {
  const isOther = (step: StepDraft): step is MessageDraft => step.kind === 'message' && step.key !== key;
  return (stepsBefore(steps, key)?.findLast(isOther) ?? flatSteps(steps).find(isOther))?.messageType;
}

/** Whether a step asks for a reply, which a campaign that a reply stops never sees. */
export const asksAboutReplies = (steps: Steps): boolean =>
  flatSteps(steps)
    .flatMap((step) =>
      step.kind === 'wait_until'
        ? step.any
        : step.kind === 'branch'
          ? step.branches.flatMap(({ when }) => when)
          : [],
    )
    .some(({ field }) => field === 'replied');
