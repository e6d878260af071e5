import type { Condition } from './conditions.ts';
import type { LeadActionsDraft, StepDraft } from './step-draft.ts';

const UNITS = ['days', 'hours', 'minutes'];
const MESSAGE = [
  'message',
  'messageType',
  'subject',
  'smsFallbackMessage',
  ...UNITS.map((unit) => `delay.${unit}`),
];
const VARIANT = ['body', 'subject', 'weight'];
const CONDITION = ['field', 'op', 'value', 'campaign'];
const DO = [
  'addTags',
  'addTags.0',
  'removeTags',
  'removeTags.0',
  'moveToListId',
  'assign',
  'enterCampaignId',
];

/** The paths of all fields of steps at which the API's errors are shown. */
export const stepPaths = (steps: readonly StepDraft[], prefix = 'steps'): string[] =>
  steps.flatMap((step, index) => {
    const path = `${prefix}.${index}`;
    return [...ownPaths(step).map((field) => `${path}.${field}`), ...pathsWithin(step, path)];
  });

function ownPaths(step: StepDraft): string[] {
  switch (step.kind) {
    case 'message':
      return [
        ...MESSAGE,
        ...step.variants.flatMap((_, number) => VARIANT.map((field) => `variants.${number}.${field}`)),
      ];
    case 'wait':
      return ['for', ...UNITS.map((unit) => `for.${unit}`)];
    case 'wait_until':
      return ['atMost', ...UNITS.map((unit) => `atMost.${unit}`), ...conditionPaths('any', step.any)];
    case 'branch':
      return [
        'branches',
        ...step.branches.flatMap(({ when }, number) => [
          `branches.${number}.name`,
          ...conditionPaths(`branches.${number}.when`, when),
        ]),
      ];
    case 'do':
      return [...leadActionPaths(step), 'webhook'];
    case 'end':
      return [];
  }
}

export const leadActionPaths = ({ setFields }: LeadActionsDraft): string[] => [
  ...DO,
  ...setFields.map(({ field }) => `setFields.${field}`),
];

export const conditionPaths = (path: string, conditions: readonly Condition[]): string[] =>
  conditions.flatMap((_, number) => CONDITION.map((field) => `${path}.${number}.${field}`));

const pathsWithin = (step: StepDraft, path: string): string[] => [
  // Of the step as a whole.
  ...(step.kind === 'do' ? [path] : []),
  ...(step.kind === 'branch'
    ? [
        ...step.branches.flatMap(({ steps }, number) => stepPaths(steps, `${path}.branches.${number}.steps`)),
        ...stepPaths(step.else, `${path}.else`),
      ]
    : []),
];
