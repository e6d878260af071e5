import { type CampaignStep, isMessageStep, type Placed, placedSteps } from './step.ts';
import { textsOf } from './step-variants.ts';

/** What may change in the steps of a campaign that leads have entered. Pure functions. */

export interface EditProblem {
  path: readonly (string | number)[];
  message: string;
}

/**
 * Why steps cannot replace those of a campaign that leads have entered; null: they can. All steps stay in their places, by their ids:
 * their texts, delays, conditions and actions may change, and steps may be added at the end, so nobody moves backwards or gets a step
 * twice.
 */
export function problemOfEdit(
  before: readonly CampaignStep[],
  after: readonly CampaignStep[],
): EditProblem | null {
  const [old, changed] = [placedSteps(before), placedSteps(after)];
  for (const [index, placed] of old.entries()) {
    const now = changed[index];
    if (!now || now.id !== placed.id || now.step.id === undefined)
      return {
        path: now ? [...now.path, 'id'] : [],
        message: `step ${placed.id} must stay in its place, since leads have entered the campaign`,
      };
    const message = problemOfStep(placed, now);
    if (message !== null) return { path: now.path, message };
  }
  const added = changed.slice(old.length).find(({ depth, path }) => depth === 0 && path.length > 1);
  return added ? { path: added.path, message: 'must be added at the end' } : null;
}

function problemOfStep(before: Placed, after: Placed): string | null {
  if (JSON.stringify(before.path) !== JSON.stringify(after.path)) return 'must stay in its branch';
  if (!isMessageStep(before.step) || !isMessageStep(after.step))
    return (before.step.kind ?? 'message') === (after.step.kind ?? 'message')
      ? null
      : 'must stay of its kind, since leads have entered the campaign';
  if (before.step.messageType !== after.step.messageType)
    return 'must stay of its messageType, since leads have entered the campaign';
  return textsOf(before.step).length === textsOf(after.step).length
    ? null
    : 'must keep the number of its variants, since leads have got them';
}
