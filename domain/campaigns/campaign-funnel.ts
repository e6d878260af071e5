import { z } from 'zod';
import type { MessageStep } from './step.ts';
import { Channel } from '../base/channel.ts';
import { Id } from '../base/ids.ts';
import type { StoredStatus } from '../messages/message-status.ts';
import { newcombe, wilson } from './proportion.ts';
import { textsOf } from './step-variants.ts';
import { VariantName } from '../messages/variant-name.ts';

/** How far the leads of a campaign got, step by step, and how they responded. */

const SKIP_REASONS = [
  'reply',
  'opt_out',
  'suppressed',
  'failed',
  'no_consent',
  'removed',
  'stop_condition',
  'step_removed',
  'lead_deleted',
  'campaign_ended',
  'recipient_opted_out',
  'recipient_suppressed',
  'canceled',
] as const;
const SkipReason = z.enum(SKIP_REASONS);
type SkipReason = z.infer<typeof SkipReason>;

/** The `errorMessage` values of messages that failed without an attempt. */
export const UNTRIED = ['recipient_opted_out', 'recipient_suppressed'] as const satisfies SkipReason[];

const share = z.number().min(0).max(1).nullable();

const Responded = z
  .object({
    leads: z.int(),
    share: share.meta({
      description: 'The share of leads to whom it was sent; null: it was sent to nobody.',
    }),
    low: share,
    high: share,
  })
  .meta({ id: 'FunnelShare', description: '`low` and `high`: the 95 % Wilson interval of the share.' });

const Counts = z.object({
  leads: z.int().meta({
    description: 'Leads that entered with this step: `reached`, `upcoming` and `skipped` together.',
  }),
  reached: z.int().meta({ description: 'Leads whose turn came: `sent`, `failed` and `waiting` together.' }),
  sent: z.int().meta({ description: 'Includes those delivered, and those sent as fallback SMS.' }),
  delivered: z.int(),
  read: z
    .int()
    .nullable()
    .meta({ description: 'Known to be read; null for SMS and email, of which no carrier tells it.' }),
  failed: z.int(),
  waiting: z.int().meta({ description: 'Waiting for their delay, or in the queue of a line.' }),
  upcoming: z.int().meta({ description: 'Leads that wait for an earlier step.' }),
  skipped: z
    .array(z.object({ reason: SkipReason, leads: z.int() }))
    .meta({ description: 'Leads that do not get the step, by reason, the most frequent first.' }),
  replied: Responded.meta({
    description:
      'A reply is attributed to the last step sent before it. Automatic replies and STOP do not count.',
  }),
  optedOut: Responded.meta({
    description:
      'An opt-out is attributed to the last message sent before it, if that is a step of the campaign.',
  }),
});

const METRICS = ['replied', 'optedOut'] as const;

const Comparison = z
  .object({
    variants: z.array(VariantName).length(2),
    metric: z.enum(METRICS),
    difference: z
      .number()
      .meta({ description: 'The share of the first variant minus the share of the second.' }),
    low: z.number(),
    high: z.number(),
    conclusive: z.boolean().meta({ description: 'Whether the interval does not contain 0.' }),
  })
  .meta({
    id: 'FunnelComparison',
    description:
      "Newcombe's interval (method 10) of the difference of two shares: 95 % for two variants; with more, all pairs of a step hold together with 95 % (Bonferroni).",
  });

const FunnelStep = Counts.extend({
  stepId: z.string(),
  stepIndex: z.int().meta({
    description:
      'The number of the step, as in its messages and replies: it stays when steps are put before it. The steps are in reading order.',
  }),
  messageType: Channel,
  isRemoved: z.boolean().meta({
    description: 'It was sent, and is not among the steps any more. Such steps come last.',
  }),
  versions: z.array(z.object({ version: z.int(), sent: z.int() })).meta({
    description: 'How many got the text of which version of the campaign; empty while there is only one.',
  }),
  variants: z
    .array(Counts.extend({ name: VariantName, weight: z.int() }))
    .meta({ description: 'Empty if the step has none.' }),
  comparisons: z
    .array(Comparison)
    .meta({ description: 'The differences between all pairs of variants that were sent, by metric.' }),
}).meta({ id: 'FunnelStep' });
type FunnelStep = z.infer<typeof FunnelStep>;

export const CampaignFunnel = z
  .object({ success: z.literal(true), campaignId: Id, steps: z.array(FunnelStep) })
  .meta({ id: 'CampaignFunnel' });

/** The statuses of messages that wait, and of those that were sent. */
export const QUEUED = ['pending', 'scheduled', 'sending'] as const satisfies StoredStatus[];
export const SENT = ['sent', 'delivered', 'fallback'] as const satisfies StoredStatus[];

interface OfStep {
  stepIndex: number;
  variant: VariantName | null;
}

/** How many messages of a step are in a state. */
export interface StepState extends OfStep {
  status: StoredStatus;
  /** Why the message waits, or why it was canceled. */
  holdReason: string | null;
  leads: number;
  read: number;
}

/** How many messages of a step failed without an attempt. */
export interface StepUntried extends OfStep {
  reason: (typeof UNTRIED)[number];
  leads: number;
}

/** How many leads responded to a step. */
export interface StepResponses extends OfStep {
  kind: 'reply' | 'opt_out';
  leads: number;
}

/** How many leads got the text of a version of the campaign. */
export interface StepVersion {
  stepIndex: number;
  version: number;
  sent: number;
}

export interface FunnelCounts {
  versions?: readonly StepVersion[];
  states: readonly StepState[];
  untried: readonly StepUntried[];
  responses: readonly StepResponses[];
}

/** The funnel of a campaign's steps, whether or not leads have entered. */
export function funnelOf(
  steps: readonly {
    id: string;
    /** The number of the step. */
    index: number;
    isRemoved?: boolean;
    step: Pick<MessageStep, 'messageType' | 'message'> & Partial<Pick<MessageStep, 'variants'>>;
  }[],
  counts: FunnelCounts,
): FunnelStep[] {
  return steps.map(({ id: stepId, step, index: stepIndex, isRemoved = false }) => {
    const within = (name?: VariantName) => countsOf(step, only(counts, stepIndex, isRemoved, name));
    const variants = textsOf(step).flatMap(({ variant, weight }) =>
      variant === null ? [] : { name: variant, weight, ...within(variant) },
    );
    return {
      stepId,
      stepIndex,
      messageType: step.messageType,
      isRemoved,
      ...within(),
      versions: (counts.versions ?? []).flatMap(({ stepIndex: of, ...version }) =>
        of === stepIndex ? version : [],
      ),
      variants,
      comparisons: METRICS.flatMap((metric) => comparisonsOf(variants, metric)),
    };
  });
}

function only(
  { states, untried, responses }: FunnelCounts,
  stepIndex: number,
  isRemoved: boolean,
  name?: VariantName,
): FunnelCounts {
  const isMeant = (row: OfStep): boolean =>
    row.stepIndex === stepIndex && (name === undefined || row.variant === name);
  // A message that was canceled when its step was removed, or got another channel, has another one in its place.
  const isReplaced = ({ holdReason }: StepState): boolean => !isRemoved && holdReason === 'step_removed';
  return {
    states: states.filter((row) => isMeant(row) && !isReplaced(row)),
    untried: untried.filter(isMeant),
    responses: responses.filter(isMeant),
  };
}

const sum = (rows: readonly { leads: number }[]): number =>
  rows.reduce((total, { leads }) => total + leads, 0);

function countsOf(
  { messageType }: Pick<MessageStep, 'messageType'>,
  { states, untried, responses }: FunnelCounts,
): z.infer<typeof Counts> {
  const within = (...statuses: StoredStatus[]) => states.filter(({ status }) => statuses.includes(status));
  const queued = within(...QUEUED);
  const upcoming = sum(queued.filter(({ holdReason }) => holdReason === 'previous_step'));
  const waiting = sum(queued) - upcoming;
  const sent = sum(within(...SENT));
  const failed = sum(within('failed')) - sum(untried);
  const skipped = skippedOf([
    ...within('canceled').map(({ holdReason, leads }) => ({ reason: skipReason(holdReason), leads })),
    ...untried,
  ]);
  const reached = sent + failed + waiting;
  const respondedBy = (kind: StepResponses['kind']) =>
    responded(sum(responses.filter((row) => row.kind === kind)), sent);
  return {
    leads: reached + upcoming + sum(skipped),
    reached,
    sent,
    delivered: sum(within('delivered')),
    read: messageType !== 'imessage' ? null : states.reduce((total, { read }) => total + read, 0),
    failed,
    waiting,
    upcoming,
    skipped,
    replied: respondedBy('reply'),
    optedOut: respondedBy('opt_out'),
  };
}

/** A message that was canceled by hand has no reason. */
const skipReason = (holdReason: string | null): SkipReason =>
  SKIP_REASONS.find((known) => known === holdReason) ?? 'canceled';

function skippedOf(rows: readonly { reason: SkipReason; leads: number }[]) {
  const byReason = Map.groupBy(rows, ({ reason }) => reason);
  return [...byReason]
    .map(([reason, group]) => ({ reason, leads: sum(group) }))
    .toSorted((a, b) => b.leads - a.leads || SKIP_REASONS.indexOf(a.reason) - SKIP_REASONS.indexOf(b.reason));
}

function responded(leads: number, sent: number): z.infer<typeof Responded> {
  if (sent === 0) return { leads, share: null, low: null, high: null };
  const count = countable(leads, sent);
  return { leads, share: count / sent, ...wilson(count, sent) };
}

/** A contact can respond to a message that the carrier reports as failed later. */
const countable = (leads: number, sent: number): number => Math.min(leads, sent);

function comparisonsOf(
  variants: readonly (z.infer<typeof Counts> & { name: VariantName })[],
  metric: (typeof METRICS)[number],
): z.infer<typeof Comparison>[] {
  const pairs = variants.flatMap((first, index) =>
    variants.slice(index + 1).map((second) => [first, second] as const),
  );
  const counted = ({ sent, [metric]: { leads } }: z.infer<typeof Counts>) => ({
    count: countable(leads, sent),
    total: sent,
  });
  return pairs
    .filter(([first, second]) => first.sent > 0 && second.sent > 0)
    .map(([first, second]) => {
      const interval = newcombe(counted(first), counted(second), pairs.length);
      const conclusive = interval.low > 0 || interval.high < 0;
      return { variants: [first.name, second.name], metric, ...interval, conclusive };
    });
}
