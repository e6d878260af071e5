import { z } from 'zod';
import { requiredLine } from '../base/required-line.ts';
import { Channel } from '../base/channel.ts';
import { Duration, durationMs } from '../base/duration.ts';
import { Id } from '../base/ids.ts';
import { plainIssue } from '../base/issue-text.ts';
import { isBlank, typedName } from '../base/text.ts';
import { CustomFieldName, CustomFieldValue } from '../contacts/lead.ts';
import { Tags } from '../inbox/conversation.ts';
import { MAX_BODY_LENGTH, MessageInput, SubjectLine } from '../messages/message.ts';
import { TemplateBudget, templateProblem } from '../messages/template.ts';
import { Condition, ConditionBudget, Conditions } from './condition.ts';
import { StepVariants, textsOf } from './step-variants.ts';

/** The steps of a campaign: a tree whose branches meet again after the step that they leave. */

const id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, _ or -')
  .optional()
  .meta({ description: 'Names the step in a campaign, and never changes. Default: a new one.' });

const stopWhen = z.array(Condition).min(1).max(20).optional().meta({
  description: 'Stops the lead instead of taking the step, if one of them holds when its turn comes.',
});

/** One message of a sequence. */
export const MessageStep = z
  .object({
    id,
    kind: z.literal('message').optional(),
    stopWhen,
    message: z.string().max(MAX_BODY_LENGTH).default(''),
    messageType: Channel.default('imessage'),
    subject: z.string().max(500).optional(),
    variants: StepVariants.optional().meta({
      description:
        'A/B variants, named A to D by their position. They replace `message`: each lead gets one of them, chosen by campaign, step and lead in proportion to the weights. Everything else in the step is the same for all.',
    }),
    // After the previous step; of the first one, after the lead enters the campaign.
    delay: Duration.default({}),
    attachmentUrls: MessageInput.shape.attachmentUrls.unwrap().default([]),
    smsFallbackEnabled: z.boolean().default(false),
    smsFallbackMessage: z.string().max(MAX_BODY_LENGTH).optional(),
  })
  .meta({ id: 'CampaignMessageStep' });
export type MessageStep = z.output<typeof MessageStep>;

const Wait = Duration.refine((wait) => durationMs(wait) > 0, 'must be longer than 0');

const WaitStep = z
  .object({ id, kind: z.literal('wait'), stopWhen, for: Wait })
  .meta({ id: 'CampaignWaitStep' });

const WaitUntilStep = z
  .object({
    id,
    kind: z.literal('wait_until'),
    stopWhen,
    any: Conditions.meta({ description: 'The lead continues when one of them holds.' }),
    atMost: Wait.meta({ description: 'From the time at which the lead came to the step.' }),
    else: z
      .enum(['continue', 'end'])
      .default('continue')
      .meta({ description: 'What a lead does for whom none came to hold in time.' }),
  })
  .meta({ id: 'CampaignWaitUntilStep' });

/** What a step of a campaign, or a rule, does with a lead. */
export const LeadActions = z.object({
  addTags: Tags.optional(),
  removeTags: Tags.optional().meta({ description: 'Without regard to case.' }),
  setFields: z.record(z.string().overwrite(typedName), CustomFieldValue).optional().meta({
    description: 'Values by field of the lead: `customFields.x`, `companyName`, `jobTitle` or `notes`.',
  }),
  moveToListId: Id.optional().meta({
    description: "Adds the lead to this list, and takes it out of the campaign's.",
  }),
  assign: z.string().max(200).nullable().optional().meta({
    description:
      'The member to whom the conversations with the lead are assigned; null: nobody; `round_robin`: the member who is not away and has the fewest open conversations, if there is one.',
  }),
  enterCampaignId: Id.optional().meta({
    description: 'The lead also enters this campaign, if it is active.',
  }),
});
export type LeadActions = z.output<typeof LeadActions>;

const DoStep = z
  .object({
    id,
    kind: z.literal('do'),
    stopWhen,
    ...LeadActions.shape,
    webhook: Id.optional().meta({
      description:
        'The webhook (`POST /api/webhooks`) that gets `campaign.step` about the lead, whether or not it subscribes to it, while it is active.',
    }),
  })
  .meta({ id: 'CampaignDoStep' });
export type DoStep = z.output<typeof DoStep>;

const EndStep = z.object({ id, kind: z.literal('end'), stopWhen }).meta({ id: 'CampaignEndStep' });

interface Branch {
  name: string;
  when: Condition[];
  steps: CampaignStep[];
}
export interface BranchStep {
  id?: string | undefined;
  stopWhen?: Condition[] | undefined;
  kind: 'branch';
  branches: Branch[];
  else: CampaignStep[];
}
interface BranchStepInput {
  id?: string | undefined;
  stopWhen?: z.input<typeof Condition>[] | undefined;
  kind: 'branch';
  branches: { name: string; when: z.input<typeof Condition>[]; steps: CampaignStepInput[] }[];
  else?: CampaignStepInput[] | undefined;
}

/** One step of a campaign. */
export type CampaignStep =
  | MessageStep
  | z.output<typeof WaitStep>
  | z.output<typeof WaitUntilStep>
  | DoStep
  | z.output<typeof EndStep>
  | BranchStep;
type CampaignStepInput =
  | z.input<typeof MessageStep>
  | z.input<typeof WaitStep>
  | z.input<typeof WaitUntilStep>
  | z.input<typeof DoStep>
  | z.input<typeof EndStep>
  | BranchStepInput;
type Steps = z.ZodType<CampaignStep[], CampaignStepInput[]>;

const BranchStep = z
  .object({
    id,
    kind: z.literal('branch'),
    stopWhen,
    branches: z
      .array(
        z.object({
          name: requiredLine(100),
          when: Conditions.meta({ description: 'All of them have to hold.' }),
          get steps(): Steps {
            return z.array(CampaignStep).max(50);
          },
        }),
      )
      .min(1)
      .max(5)
      .meta({ description: 'The first that holds is taken.' }),
    get else(): z.ZodType<CampaignStep[], CampaignStepInput[] | undefined> {
      return z.array(CampaignStep).max(50).default([]);
    },
  })
  .meta({ id: 'CampaignBranchStep' });

export const CampaignStep: z.ZodType<CampaignStep, CampaignStepInput> = z
  .discriminatedUnion('kind', [MessageStep, WaitStep, WaitUntilStep, DoStep, EndStep, BranchStep])
  .meta({
    id: 'CampaignStep',
    description: 'A step without `kind` is a message.',
    // OpenAPI's discriminator would require it.
    override: ({ jsonSchema }: { jsonSchema: { discriminator?: unknown } }) => {
      delete jsonSchema.discriminator;
    },
  });

export const isMessageStep = (step: CampaignStep): step is MessageStep =>
  step.kind === undefined || step.kind === 'message';

/** A step with its place in the tree. */
export interface Placed<Step extends CampaignStep = CampaignStep> {
  id: string;
  step: Step;
  /** Its number in reading order; of a step without branches before it, the index. */
  index: number;
  /** From the steps of the campaign to it. */
  path: readonly (string | number)[];
  /** The step after it, for whoever has passed it and its branches; null: it is the last one. */
  next: string | null;
  /** How many branches it is in. */
  depth: number;
}

/** The steps of campaigns that were placed before, since thousands of leads walk through the same ones. */
const placedBefore = new WeakMap<readonly CampaignStep[], ReadonlyMap<string, Placed>>();

/** All steps by their ids, in reading order. Steps without an id get one by their number. */
export function stepsById(steps: readonly CampaignStep[]): ReadonlyMap<string, Placed> {
  const known = placedBefore.get(steps) ?? new Map(placedSteps(steps).map((one) => [one.id, one]));
  placedBefore.set(steps, known);
  return known;
}

/** All steps in reading order, also of a request, whose ids may not be different yet. */
export function placedSteps(steps: readonly CampaignStep[]): Placed[] {
  const found: Placed[] = [];
  function placeIn(
    list: readonly CampaignStep[],
    path: readonly (string | number)[],
    next: () => string | null,
    depth: number,
  ): void {
    for (const [number, step] of list.entries()) {
      const index = found.length;
      const placed: Placed = {
        id: idOf(step, index),
        step,
        index,
        path: [...path, number],
        next: null,
        depth,
      };
      found.push(placed);
      // Its number is known only when the branches before it are placed.
      const following = list[number + 1];
      const after = following
        ? idOf(following, index + 1 + (step.kind === 'branch' ? sizeOf(step) : 0))
        : next();
      placed.next = after;
      if (step.kind !== 'branch') continue;
      for (const [branch, { steps: inner }] of step.branches.entries())
        placeIn(inner, [...placed.path, 'branches', branch, 'steps'], () => after, depth + 1);
      placeIn(step.else, [...placed.path, 'else'], () => after, depth + 1);
    }
  }
  placeIn(steps, [], () => null, 0);
  return found;
}

const idOf = ({ id: own }: CampaignStep, index: number): string => own ?? String(index + 1);

/** How many steps are in the branches of a step. */
const sizeOf = ({ branches, else: others }: BranchStep): number =>
  [...branches.map(({ steps }) => steps), others]
    .flat()
    .reduce((sum, step) => sum + 1 + (step.kind === 'branch' ? sizeOf(step) : 0), 0);

/** The messages among all steps, in reading order. */
export const messageSteps = (steps: readonly CampaignStep[]): Placed<MessageStep>[] =>
  placedSteps(steps).filter((placed): placed is Placed<MessageStep> => isMessageStep(placed.step));

/**
 * The numbers of steps by their ids, by which messages and replies name them. A step keeps its number when others are put before it.
 * @param stepIds all steps that the campaign ever had, in the order in which they came; null: only these, in reading order.
 */
export const stepNumbers = ({
  steps,
  stepIds,
}: {
  steps: readonly CampaignStep[];
  stepIds: readonly string[] | null;
}): ReadonlyMap<string, number> =>
  new Map((stepIds ?? [...stepsById(steps).keys()]).map((id, number) => [id, number]));

/** The same steps, where each has an id. @param mint makes an id for a step that has none. */
export function identified(steps: readonly CampaignStep[], mint: (index: number) => string): CampaignStep[] {
  let index = 0;
  const name = (list: readonly CampaignStep[]): CampaignStep[] =>
    list.map((step) => {
      const named = { ...step, id: step.id ?? mint(index) };
      index += 1;
      if (named.kind !== 'branch') return named;
      return {
        ...named,
        branches: named.branches.map((branch) => ({ ...branch, steps: name(branch.steps) })),
        else: name(named.else),
      };
    });
  return name(steps);
}

/** The steps of a campaign as they are stored. Those of earlier releases have no ids, and cannot change. */
export const StoredSteps = z
  .array(CampaignStep)
  .transform((steps) => identified(steps, (index) => String(index + 1)));

const MAX_STEPS = 50;
const MAX_DEPTH = 4;
const SET_FIELDS = new Set(['companyName', 'jobTitle', 'notes']);

/** Validated steps of a request. All their templates share one budget. */
export const NewSteps = z
  .array(CampaignStep)
  .min(1, 'at least one step is required')
  .max(MAX_STEPS)
  .superRefine((steps, context) => {
    const budget = new TemplateBudget();
    const conditions = new ConditionBudget();
    const all = placedSteps(steps);
    const seen = new Set<string>();
    if (all.length > MAX_STEPS)
      context.addIssue({
        code: 'custom',
        path: [],
        message: `at most ${MAX_STEPS} steps, with those of branches`,
      });
    for (const { step, path, depth } of all) {
      const refuse = (field: readonly (string | number)[], problem: string | null): void => {
        if (problem !== null)
          context.addIssue({ code: 'custom', path: [...path, ...field], message: problem });
      };
      if (step.id !== undefined && seen.has(step.id)) refuse(['id'], 'is the id of another step');
      if (step.id !== undefined) seen.add(step.id);
      if (step.kind === 'branch' && depth >= MAX_DEPTH)
        refuse(['branches'], `branches are at most ${MAX_DEPTH} deep`);
      for (const [field, when] of conditionsByField(step)) refuse(field, conditions.take(when));
      if (isMessageStep(step))
        for (const [field, problem] of problemsOf(step, budget)) refuse(field, problem);
      if (step.kind === 'do') for (const [field, problem] of problemsOfDo(step)) refuse(field, problem);
    }
  });

/** The lists of conditions of a step, by the fields that have them. */
export function conditionsByField(step: CampaignStep): [field: (string | number)[], Condition[]][] {
  const own: ReturnType<typeof conditionsByField> = [[['stopWhen'], step.stopWhen ?? []]];
  if (step.kind === 'wait_until') own.push([['any'], step.any]);
  if (step.kind === 'branch')
    own.push(
      ...step.branches.map(({ when }, index): (typeof own)[number] => [['branches', index, 'when'], when]),
    );
  return own;
}

type Problems = [field: readonly (string | number)[], problem: string | null][];

function problemsOf(step: MessageStep, budget: TemplateBudget): Problems {
  const { message, variants, smsFallbackMessage, subject, attachmentUrls } = step;
  const problems: Problems = [];
  for (const { variant, body, path } of textsOf(step)) {
    if (isBlank(body) && attachmentUrls.length === 0)
      problems.push([path, `a ${variant === null ? 'message' : 'body'} or attachmentUrls is required`]);
    problems.push([path, templateProblem(body, budget)]);
  }
  // Sent only if the step has no variants.
  if (variants) problems.push([['message'], templateProblem(message, budget)]);
  problems.push([['subject'], subjectProblem(subject, budget)]);
  variants?.forEach((variant, number) =>
    problems.push([['variants', number, 'subject'], subjectProblem(variant.subject, budget)]),
  );
  problems.push([['smsFallbackMessage'], templateProblem(smsFallbackMessage ?? '', budget)]);
  return problems;
}

const subjectProblem = (subject = '', budget: TemplateBudget): string | null =>
  SubjectLine.safeParse(subject, { error: plainIssue }).error?.issues[0]?.message ??
  templateProblem(subject, budget);

function problemsOfDo(step: DoStep): Problems {
  const problems: Problems = [];
  const actions = Object.entries(step).filter(
    ([name, value]) => !['id', 'kind', 'stopWhen'].includes(name) && value !== undefined,
  );
  if (actions.length === 0) problems.push([[], 'at least one action is required']);
  for (const field of unknownFields(step)) problems.push([['setFields', field], KNOWN_FIELDS]);
  return problems;
}

/** What the fields are that `setFields` may name. */
export const KNOWN_FIELDS = `must be customFields.x, or one of ${[...SET_FIELDS].join(', ')}`;

/** Those of `setFields` that no lead has. */
export const unknownFields = ({ setFields = {} }: LeadActions): string[] =>
  Object.keys(setFields).filter((field) => {
    const custom = /^customFields\.(.+)$/.exec(field)?.[1];
    return !(custom === undefined ? SET_FIELDS.has(field) : CustomFieldName.safeParse(custom).success);
  });
