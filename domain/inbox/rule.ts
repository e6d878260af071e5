import { z } from 'zod';
import { requiredLine } from '../base/required-line.ts';
import { Duration, durationMs } from '../base/duration.ts';
import { Id } from '../base/ids.ts';
import { NOT_BLANK } from '../base/text.ts';
import { askedByNoCampaign, Condition, fitTogether } from '../campaigns/condition.ts';
import { KNOWN_FIELDS, LeadActions, unknownFields } from '../campaigns/step.ts';
import { Tags } from './conversation.ts';
import { TemplateText } from '../messages/message.ts';

/** What a rule is about. Contacts, people and programs cause it; what rules and campaigns do is none of it. */
export const RuleTrigger = z
  .enum(['reply', 'missed_call', 'conversation_opened', 'tag_added', 'no_answer_for', 'draft'])
  .meta({
    id: 'RuleTrigger',
    description:
      '`reply`: the contact wrote, and not automatically. `missed_call`: the contact called a line, and nobody answered. `conversation_opened`: the contact wrote for the first time, or again after the conversation was closed or snoozed, or somebody opened it. `tag_added`: somebody, the copilot or an opt-in link added a tag to the lead or the conversation. `no_answer_for`: nobody has answered the contact for `after`; automatic texts are no answers. `draft`: a draft waits for a decision.',
  });
export type RuleTrigger = z.infer<typeof RuleTrigger>;

const MAX_AFTER_MS = 30 * 86_400_000;

const RuleReply = z
  .object({
    text: TemplateText.refine(...NOT_BLANK).optional(),
    snippetId: Id.optional().meta({ description: 'The text of this snippet, as it is then.' }),
    outsideHoursOnly: z.boolean().default(false).meta({
      description: 'Only when nobody is there, by `GET /api/workspace/opening-hours`.',
    }),
  })
  .refine(({ text, snippetId }) => (text === undefined) !== (snippetId === undefined), {
    path: ['text'],
    message: 'either text or snippetId is required',
  })
  .meta({
    id: 'RuleReply',
    description:
      'A text to the contact, from the line that they wrote to or called. A contact gets at most one automatic text in 12 hours, and none after an opt-out.',
  });
export type RuleReply = z.output<typeof RuleReply>;

const RuleAction = z
  .object({
    ...LeadActions.shape,
    moveToListId: LeadActions.shape.moveToListId.meta({ description: 'Adds the lead to this list.' }),
    reply: RuleReply.optional(),
    close: z.literal(true).optional().meta({ description: 'Closes the conversation.' }),
    snooze: Duration.refine((span) => durationMs(span) > 0, 'must be longer than 0')
      .optional()
      .meta({ description: 'Snoozes the conversation for so long.' }),
    notify: z.literal(true).optional().meta({
      description:
        "An email to the assignee of the conversation; if there is none, to the contact's owner, or else to the admins.",
    }),
  })
  .superRefine((action, context) => {
    const refuse = (path: string[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    if (Object.values(action).every((value) => value === undefined))
      refuse([], 'at least one action is required');
    if (action.close && action.snooze) refuse(['snooze'], 'cannot be combined with close');
    for (const field of unknownFields(action)) refuse(['setFields', field], KNOWN_FIELDS);
  })
  .meta({ id: 'RuleAction' });
export type RuleAction = z.output<typeof RuleAction>;

const After = Duration.refine(
  (span) => durationMs(span) > 0 && durationMs(span) <= MAX_AFTER_MS,
  'must be longer than 0, and at most 30 days',
);

const fields = {
  name: requiredLine(100),
  on: RuleTrigger,
  after: After.optional().meta({
    description: 'For `no_answer_for`: how long, since the first message that is not answered.',
  }),
  tags: Tags.min(1).optional().meta({
    description: 'For `tag_added`: one of these tags, in any case. Default: any tag.',
  }),
  when: z.array(Condition).max(20).meta({
    description:
      'All of them have to hold for the contact. `replied` is judged by the message that the rule is about, if it is about one. Default: none, so it is always done.',
  }),
  do: z.array(RuleAction).min(1, 'at least one action is required').max(10).meta({
    description: 'Of several replies, the first that may be sent is.',
  }),
};

const when = fields.when.superRefine(fitTogether).superRefine(askedByNoCampaign);

const Fields = z.object({ ...fields, when });

/** What belongs to one trigger only. */
export function ownFieldProblem({
  on,
  after,
  tags,
}: Pick<z.output<typeof Fields>, 'on' | 'after' | 'tags'>): { path: string; message: string } | null {
  if (on === 'no_answer_for' && after === undefined) return { path: 'after', message: 'is required' };
  if (on !== 'no_answer_for' && after !== undefined)
    return { path: 'after', message: 'is only for no_answer_for' };
  return on !== 'tag_added' && tags !== undefined ? { path: 'tags', message: 'is only for tag_added' } : null;
}

/** The body of `POST /api/rules`. */
export const RuleInput = Fields.extend({ when: when.default([]) })
  .superRefine((rule, context) => {
    const problem = ownFieldProblem(rule);
    if (problem) context.addIssue({ code: 'custom', path: [problem.path], message: problem.message });
  })
  .meta({ id: 'RuleInput' });
export type RuleInput = z.output<typeof RuleInput>;

/** The body of `PATCH /api/rules/{id}`. */
export const RulePatch = Fields.partial().meta({ id: 'RulePatch' });
export type RulePatch = z.output<typeof RulePatch>;

/** What a workspace does by itself. */
export const Rule = z
  .object({
    _id: Id,
    ...fields,
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Rule' });
export type Rule = z.infer<typeof Rule>;

/** What a rule did, by its actions. */
export const RuleDeed = z.enum([
  'addTags',
  'removeTags',
  'setFields',
  'moveToListId',
  'assign',
  'enterCampaignId',
  'reply',
  'close',
  'snooze',
  'notify',
]);
export type RuleDeed = z.infer<typeof RuleDeed>;

/** Why a rule did not send its text. */
export const TextWithheld = z
  .enum([
    'opted_out',
    'opt_out_suspected',
    'no_consent',
    'texted_lately',
    'open_hours',
    'no_snippet',
    'cannot_send',
  ])
  .meta({
    id: 'TextWithheld',
    description:
      '`opted_out`: the contact has opted out or is suppressed. `opt_out_suspected`: they may have asked to be left alone. `no_consent`: they have withdrawn their consent. `texted_lately`: they got an automatic text within 12 hours. `open_hours`: somebody is there, and the text is for other hours. `no_snippet`: the snippet was deleted. `cannot_send`: the workspace has no line for the contact, or may not send.',
  });
export type TextWithheld = z.infer<typeof TextWithheld>;

/** The body of `POST /api/rules/dry-run`. */
export const RuleDryRunInput = Fields.extend({ name: fields.name.optional(), when: when.default([]) })
  .superRefine((rule, context) => {
    const problem = ownFieldProblem(rule);
    if (problem) context.addIssue({ code: 'custom', path: [problem.path], message: problem.message });
  })
  .meta({ id: 'RuleDryRunInput' });
export type RuleDryRunInput = z.output<typeof RuleDryRunInput>;

/** What a rule would have done in the last 30 days. */
export const RuleDryRun = z
  .object({
    since: z.iso.datetime(),
    happened: z.int().meta({ description: 'How often it happened what the rule is about.' }),
    matched: z
      .int()
      .meta({ description: 'How often its conditions hold, by what is known of the contacts now.' }),
    did: z.partialRecord(RuleDeed, z.int()).meta({ description: 'How often it would have done what.' }),
    withheld: z
      .partialRecord(TextWithheld, z.int())
      .meta({ description: 'Why how many texts would not have been sent.' }),
    examples: z
      .array(
        z
          .object({
            at: z.iso.datetime(),
            address: z.string(),
            leadId: Id.nullable(),
            did: z.array(RuleDeed),
            withheld: TextWithheld.nullable(),
            why: z.string().meta({ description: 'What was judged, for people; may change.' }),
          })
          .meta({ id: 'RuleDryRunExample' }),
      )
      .meta({ description: 'The latest 50.' }),
    isPartial: z.boolean().meta({ description: 'More has happened than is looked at: the latest 2,000.' }),
  })
  .meta({ id: 'RuleDryRun' });
export type RuleDryRun = z.infer<typeof RuleDryRun>;
