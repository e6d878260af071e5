import { z } from 'zod';
import { Duration, durationMs } from '../base/duration.ts';
import { Id } from '../base/ids.ts';
import { isBlank, SINGLE_LINE } from '../base/text.ts';
import { Condition } from '../campaigns/condition.ts';
import { KNOWN_FIELDS, LeadActions, unknownFields } from '../campaigns/step.ts';
import { TemplateText } from '../messages/message.ts';

/** What a rule is about. Contacts, people and programs cause it; what rules and campaigns do is none of it. */
export const RuleTrigger = z.enum(['reply', 'missed_call']).meta({
  id: 'RuleTrigger',
  description:
    '`reply`: the contact wrote, and not automatically. `missed_call`: the contact called a line, and nobody answered.',
});
export type RuleTrigger = z.infer<typeof RuleTrigger>;

const RuleReply = z
  .object({
    text: TemplateText.refine((text) => !isBlank(text), 'must not be blank').optional(),
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
    snooze: Duration.refine((span) => durationMs(span) > 0, 'must be longer than nothing')
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
    if (Object.values(action).every((value) => value === undefined)) refuse([], 'does nothing');
    if (action.close && action.snooze) refuse(['snooze'], 'cannot be combined with close');
    for (const field of unknownFields(action)) refuse(['setFields', field], KNOWN_FIELDS);
  })
  .meta({ id: 'RuleAction' });
export type RuleAction = z.output<typeof RuleAction>;

const fields = {
  name: z
    .string()
    .trim()
    .max(100)
    .refine(...SINGLE_LINE)
    .refine((text) => !isBlank(text), 'must not be blank'),
  on: RuleTrigger,
  when: z.array(Condition).max(20).meta({
    description:
      'All of them have to hold for the contact. `replied` is judged by the message that the rule is about, if it is about one. Default: none, so it is always done.',
  }),
  do: z.array(RuleAction).min(1, 'at least one action is required').max(10).meta({
    description: 'Of several replies, the first that may be sent is.',
  }),
};

/** The body of `POST /api/rules`. */
export const RuleInput = z.object({ ...fields, when: fields.when.default([]) }).meta({ id: 'RuleInput' });
export type RuleInput = z.output<typeof RuleInput>;

/** The body of `PATCH /api/rules/{id}`. */
export const RulePatch = z.object(fields).partial().meta({ id: 'RulePatch' });
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
