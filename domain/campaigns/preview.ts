import { z } from 'zod';
import { Channel } from '../base/channel.ts';
import { durationMs } from '../base/duration.ts';
import { BLANK_LEAD } from '../contacts/lead.ts';
import type { OnReply } from './campaign.ts';
import type { Condition } from './condition.ts';
import type { Facts } from './judge.ts';
import {
  type BranchStep,
  type CampaignStep,
  isMessageStep,
  type MessageStep,
  placedSteps,
  stepsById,
} from './step.ts';
import { type Cursor, DecidingStep, fieldsAfter, type Passed, walk } from './walk.ts';

/** Where the steps of a campaign lead, without sending anything: for a lead under assumptions, and all ways there are. Pure functions. */

/** What is taken for true about the lead. */
export const Assumptions = z
  .object({
    replies: z
      .array(z.string().max(2000))
      .max(20)
      .meta({ description: 'Texts that the contact answers to the first message.' }),
    tags: z.array(z.string().max(100)).max(50).meta({ description: 'Instead of those of the lead.' }),
    fields: z
      .record(z.string(), z.string().max(2000))
      .meta({ description: 'By field of the lead: `customFields.x`, `companyName`, `jobTitle` or `notes`.' }),
    delivered: z.boolean(),
    read: z.boolean(),
    clicked: z.boolean(),
    failed: z.boolean(),
    consented: z.array(Channel).max(3).meta({ description: 'Instead of the consents of the lead.' }),
  })
  .partial()
  .meta({ id: 'CampaignAssumptions' });
export type Assumptions = z.infer<typeof Assumptions>;

const At = z.iso.datetime();

/** Something that happens to a lead on its way. */
export const PreviewEvent = z
  .object({
    stepId: z.string(),
    kind: z.enum(['message', ...DecidingStep.options, 'reply']).meta({
      description: '`reply`: the answer, of a campaign that then stops or pauses, in place of the step.',
    }),
    at: At.meta({ description: 'At the earliest: without windows, quiet hours and the pace of lines.' }),
    outcome: z.string().nullable().meta({
      description:
        'The name of the branch, `else`, `continued`, `timed_out`, `done`, `ended`, `stopped` or `paused`; null: a message.',
    }),
    why: z.string().nullable(),
    message: z.string().nullable().meta({
      description:
        'Of a message: the text that the lead would get now; null: no lead is given, or it cannot be rendered.',
    }),
  })
  .meta({ id: 'CampaignPreviewEvent' });
export type PreviewEvent = z.infer<typeof PreviewEvent>;

/** One of the ways through a campaign. */
export const PreviewPath = z
  .object({
    decisions: z
      .array(z.object({ stepId: z.string(), outcome: z.string() }))
      .meta({ description: 'What is decided on this way, in order.' }),
    messages: z
      .array(z.string())
      .meta({ description: 'The ids of the steps whose messages are sent, in order.' }),
    longestMinutes: z.int().meta({
      description: 'How long the delays and waits on this way take, if nothing ends them before.',
    }),
  })
  .meta({ id: 'CampaignPreviewPath' });
export type PreviewPath = z.infer<typeof PreviewPath>;

const BLANK: Facts['lead'] = {
  ...BLANK_LEAD,
  tags: [],
  status: null,
  source: null,
  createdAt: new Date(0),
};

/** What is known of a lead of whom nothing is known. */
export const NO_FACTS: Facts = {
  lead: BLANK,
  replies: [],
  lastMessage: null,
  contactedAt: { this: null, any: null },
  consented: new Set(),
};

const AFTER_REPLY = {
  stop: { outcome: 'stopped', why: 'a reply stops the campaign for the lead' },
  pause: { outcome: 'paused', why: 'a reply pauses the campaign for the lead' },
} as const;

/**
 * What happens to a lead that enters now, if what is assumed holds and nothing else changes. Waits pass at once.
 * @param reaches whether a message of the step can be sent to the lead.
 * @param textOf what the lead would get.
 */
export function* previewWalk(
  steps: readonly CampaignStep[],
  known: Facts,
  {
    assume,
    reaches,
    textOf = () => null,
    stopWhen,
    onReply,
    now,
  }: {
    assume: Assumptions;
    reaches: (step: MessageStep) => boolean;
    textOf?: (step: MessageStep, stepId: string) => string | null;
    stopWhen: readonly Condition[];
    onReply: OnReply;
    now: Date;
  },
): Generator<void, PreviewEvent[]> {
  const { tags, fields = {}, replies = [], consented } = assume;
  const lead = { ...known.lead, ...fieldsAfter(known.lead, fields), ...(tags && { tags }) };
  let facts: Facts = { ...known, lead, ...(consented && { consented: new Set(consented) }) };
  const events: PreviewEvent[] = [];
  const record = ({ stepId, kind, outcome, why, at }: Passed): void => {
    events.push({ stepId, kind, outcome, why, at: at.toISOString(), message: null });
  };
  let cursor: Cursor = { stepId: null, isPassed: false, at: now };
  let time = now;
  // A walk ends after its last step; each turn takes at least one.
  for (let turns = 0; turns <= 2 * placedSteps(steps).length; turns += 1) {
    const { passed, rest } = yield* walk(steps, cursor, { facts, reaches, stopWhen, now: time });
    passed.forEach(record);
    if (rest.kind === 'ends' || rest.kind === 'stops') return events;
    if (rest.kind === 'waits') {
      cursor = { stepId: rest.stepId, isPassed: false, at: rest.at };
      time = rest.until > time ? rest.until : time;
      continue;
    }
    let at = rest.from;
    for (const { id, step, next } of rest.run) {
      at = new Date(at.getTime() + durationMs(step.delay));
      if (!reaches(step)) continue;
      const sentAt = at.toISOString();
      const message = textOf(step, id);
      events.push({ stepId: id, kind: 'message', at: sentAt, outcome: null, why: null, message });
      if (replies.length === 0 || onReply === 'continue') continue;
      const outcome = AFTER_REPLY[onReply];
      if (next !== null) events.push({ stepId: next, kind: 'reply', at: sentAt, ...outcome, message: null });
      return events;
    }
    const sent = at;
    facts = {
      ...facts,
      lastMessage: {
        at: sent,
        isDelivered: assume.delivered ?? true,
        isRead: assume.read ?? false,
        isClicked: assume.clicked ?? false,
        isFailed: assume.failed ?? false,
      },
      contactedAt: { this: sent, any: sent },
      replies: replies.map((text) => ({ at: sent, text })),
    };
    if (assume.failed) return events;
    cursor = { stepId: rest.run.at(-1)?.id ?? null, isPassed: true, at: sent };
    time = sent > time ? sent : time;
  }
  return events;
}

const MAX_PATHS = 500;

/** All ways through the steps of a campaign. @returns at most 500. */
export function allPaths(steps: readonly CampaignStep[]): PreviewPath[] {
  const placed = stepsById(steps);
  const idOf = new Map([...placed.values()].map(({ id, step }) => [step, id]));
  interface Way extends PreviewPath {
    isOver: boolean;
  }
  const decided = (way: Way, stepId: string, outcome: string, isOver = false): Way => ({
    ...way,
    decisions: [...way.decisions, { stepId, outcome }],
    isOver,
  });
  const lasts = (way: Way, ms: number): Way => ({
    ...way,
    longestMinutes: way.longestMinutes + Math.round(ms / 60_000),
  });
  const through = (list: readonly CampaignStep[], ways: readonly Way[]): Way[] =>
    list.reduce<Way[]>(
      (sofar, step) => sofar.flatMap((way) => (way.isOver ? [way] : after(step, way))).slice(0, MAX_PATHS),
      [...ways],
    );
  const branches = (step: BranchStep, id: string, way: Way): Way[] => [
    ...step.branches.flatMap(({ name, steps: inner }) => through(inner, [decided(way, id, name)])),
    ...through(step.else, [decided(way, id, 'else')]),
  ];
  function after(step: CampaignStep, way: Way): Way[] {
    const id = idOf.get(step) ?? '';
    if (isMessageStep(step))
      return [lasts({ ...way, messages: [...way.messages, id] }, durationMs(step.delay))];
    switch (step.kind) {
      case 'wait':
        return [lasts(way, durationMs(step.for))];
      case 'wait_until':
        return [
          decided(lasts(way, durationMs(step.atMost)), id, 'continued'),
          decided(
            lasts(way, durationMs(step.atMost)),
            id,
            step.else === 'end' ? 'ended' : 'timed_out',
            step.else === 'end',
          ),
        ];
      case 'branch':
        return branches(step, id, way);
      case 'do':
        return [way];
      case 'end':
        return [decided(way, id, 'ended', true)];
    }
  }
  const start: Way = { decisions: [], messages: [], longestMinutes: 0, isOver: false };
  return through(steps, [start]).map(({ decisions, messages, longestMinutes }) => ({
    decisions,
    messages,
    longestMinutes,
  }));
}
