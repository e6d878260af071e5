import type { ResponseOf } from '#console/api/routes.ts';

type Campaign = ResponseOf<'GET /api/campaigns'>['campaigns'][number];
type AnyStep = Campaign['steps'][number];

/** All steps in reading order, with those of branches. */
export const allSteps = (steps: readonly AnyStep[]): AnyStep[] =>
  steps.flatMap((step) =>
    step.kind === 'branch'
      ? [step, ...step.branches.flatMap((branch) => allSteps(branch.steps)), ...allSteps(step.else)]
      : [step],
  );

/** The number of a step in reading order, from 1; 0: it is not among them. A step without an id of its own is known by its number. */
export const placeOf = (steps: readonly AnyStep[], stepId: string): number =>
  allSteps(steps).findIndex(({ id }, index) => (id ?? String(index + 1)) === stepId) + 1;

/** The number of the step of a message or a lead in reading order, from 1; 0: it was removed since. */
export const placeOfIndex = (
  { steps, stepIds }: Pick<Campaign, 'steps' | 'stepIds'>,
  stepIndex: number,
): number => placeOf(steps, stepIds[stepIndex] ?? '');
