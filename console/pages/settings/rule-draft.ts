import { plural, t } from '@lingui/core/macro';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import { spanText } from '#console/pages/campaigns/campaign.ts';
import type { Condition } from '#console/pages/campaigns/conditions.ts';
import {
  lengthOf,
  linesOf,
  type LeadActionsDraft,
  leadActionsDraftOf,
  leadActionsOf,
  NO_TIME,
  type SpanDraft,
  spanOf,
} from '#console/pages/campaigns/step-draft.ts';
import { conditionPaths, leadActionPaths } from '#console/pages/campaigns/step-paths.ts';

export type Rule = ResponseOf<'GET /api/rules'>['rules'][number];
type RuleBody = NonNullable<RequestTo<'POST /api/rules'>['body']>;
type Action = RuleBody['do'][number];
type Trigger = Rule['on'];
export type Deed = keyof ResponseOf<'POST /api/rules/dry-run'>['dryRun']['did'];
export type Withheld = keyof ResponseOf<'POST /api/rules/dry-run'>['dryRun']['withheld'];

/** A rule as it is being written. */
export interface RuleDraft {
  name: string;
  on: Trigger;
  after: SpanDraft;
  /** One tag a line; empty: any tag. */
  tags: string;
  when: readonly Condition[];
  do: readonly ActionDraft[];
}

export interface ActionDraft extends LeadActionsDraft {
  key: string;
  /** What the contact is sent. */
  reply: 'none' | 'text' | 'snippet';
  text: string;
  snippetId: string;
  outsideHoursOnly: boolean;
  /** What becomes of the conversation. */
  conversation: 'stays' | 'close' | 'snooze';
  snooze: SpanDraft;
  notify: boolean;
}

export const triggers = (): { value: Trigger; label: string }[] => [
  { value: 'reply', label: t`A contact replies` },
  { value: 'missed_call', label: t`A call is missed` },
  { value: 'conversation_opened', label: t`A conversation opens` },
  { value: 'tag_added', label: t`A tag is added` },
  { value: 'no_answer_for', label: t`Nobody has answered for a while` },
  { value: 'draft', label: t`A draft waits for a decision` },
];

/** The API returns a time span in minutes. */
const inUnits = ({ minutes = 0 }: NonNullable<Rule['after']>) => ({
  days: Math.floor(minutes / 1440),
  hours: Math.floor(minutes / 60) % 24,
  minutes: minutes % 60,
});

export function triggerText({ on, after, tags }: Pick<Rule, 'on' | 'after' | 'tags'>): string {
  const trigger = triggers().find(({ value }) => value === on)?.label ?? on;
  const detail = after ? spanText(inUnits(after)) : (tags?.join(', ') ?? '');
  return detail === '' ? trigger : `${trigger}: ${detail}`;
}

export const deedNames = (): Record<Deed, string> => ({
  addTags: t`adds tags`,
  removeTags: t`removes tags`,
  setFields: t`sets fields`,
  moveToListId: t`adds to a list`,
  assign: t`assigns`,
  enterCampaignId: t`starts a campaign`,
  reply: t`sends a text`,
  close: t`closes the conversation`,
  snooze: t`snoozes the conversation`,
  notify: t`sends an email to the team`,
});

export const withheldNames = (): Record<Withheld, string> => ({
  opted_out: t`the contact has opted out`,
  opt_out_suspected: t`the contact may have asked to be left alone`,
  no_consent: t`the consent was withdrawn`,
  texted_lately: t`an automatic text was sent within 12 hours`,
  open_hours: t`somebody was there`,
  no_snippet: t`the snippet was deleted`,
  cannot_send: t`no line can send to the contact`,
});

/** What a rule does, in the order of its names. */
export function deedsText(actions: readonly object[]): string[] {
  const done = new Set(actions.flatMap(Object.keys));
  return Object.entries(deedNames()).flatMap(([deed, name]) => (done.has(deed) ? [name] : []));
}

export const timesText = (count: number): string => plural(count, { one: '# time', other: '# times' });

export const newAction = (): ActionDraft => actionDraftOf({});

export const newRule = (): RuleDraft => ({
  name: '',
  on: 'reply',
  after: { ...NO_TIME, hours: '1' },
  tags: '',
  when: [],
  do: [newAction()],
});

export const ruleDraftOf = ({ name, on, after, tags, when, do: actions }: Rule): RuleDraft => ({
  name,
  on,
  after: after ? spanOf(inUnits(after)) : newRule().after,
  tags: (tags ?? []).join('\n'),
  when,
  do: actions.map(actionDraftOf),
});

function actionDraftOf({ reply, close, snooze, notify, ...changes }: Action): ActionDraft {
  return {
    ...leadActionsDraftOf(changes),
    key: crypto.randomUUID(),
    reply: !reply ? 'none' : reply.snippetId === undefined ? 'text' : 'snippet',
    text: reply?.text ?? '',
    snippetId: reply?.snippetId ?? '',
    outsideHoursOnly: reply?.outsideHoursOnly ?? false,
    conversation: close ? 'close' : snooze ? 'snooze' : 'stays',
    snooze: snooze ? spanOf(snooze) : { ...NO_TIME, days: '1' },
    notify: notify ?? false,
  };
}

/** The rule as the API takes it. */
export const ruleOf = ({ name, on, after, tags, when, do: actions }: RuleDraft): RuleBody => ({
  name,
  on,
  ...(on === 'no_answer_for' && { after: lengthOf(after) }),
  ...(on === 'tag_added' && linesOf(tags).length > 0 && { tags: linesOf(tags) }),
  when: [...when],
  do: actions.map(actionOf),
});

function actionOf(draft: ActionDraft): Action {
  const { reply, text, snippetId, outsideHoursOnly, conversation, snooze, notify } = draft;
  return {
    ...leadActionsOf(draft),
    ...(reply !== 'none' && {
      reply: { ...(reply === 'text' ? { text } : { snippetId }), outsideHoursOnly },
    }),
    ...(conversation === 'close' && { close: true }),
    ...(conversation === 'snooze' && { snooze: lengthOf(snooze) }),
    ...(notify && { notify: true }),
  };
}

const SPAN = ['', '.days', '.hours', '.minutes'];

/** The paths of the fields at which the API's errors are shown. */
export const rulePaths = ({ when, do: actions }: RuleDraft): string[] => [
  'name',
  'on',
  'tags',
  'tags.0',
  'do',
  ...SPAN.map((unit) => `after${unit}`),
  ...conditionPaths('when', when),
  ...actions.flatMap((action, index) =>
    [...leadActionPaths(action), 'reply.text', 'reply.snippetId', ...SPAN.map((unit) => `snooze${unit}`)].map(
      (field) => `do.${index}.${field}`,
    ),
  ),
  ...actions.map((_, index) => `do.${index}`),
];
