import type { AnyStep, Campaign, CampaignBody } from './campaign.ts';
import type { Condition } from './conditions.ts';
import { draftOf as stepDraftOf, NEW_STEP, type StepDraft, stepOf } from './step-draft.ts';
import { asksAboutReplies } from './step-tree.ts';

/** A campaign as it is being written: what is not set is an empty text or list. */
export interface CampaignDraft {
  name: string;
  description: string;
  listId: string;
  /** The segment that gets it, instead of a list. */
  segmentId: string;
  audience: Campaign['audience'];
  /** None: all lines of the channel. */
  lineIds: readonly string[];
  /** The pool that sends, instead of lines. */
  poolId: string;
  stickinessPolicy: Campaign['stickinessPolicy'];
  start: string;
  end: string;
  /** None: every day. In the numbers of the API. */
  days: readonly number[];
  timezone: string;
  requireConsent: boolean;
  /** Empty: as its steps need it. */
  onReply: Campaign['onReply'] | '';
  /** Any of them stops a lead. */
  stopWhen: readonly Condition[];
  /** An ISO date and time. */
  finishBy: string;
  needsAiPersonalization: boolean;
  steps: readonly StepDraft[];
}

export const NEW_CAMPAIGN = (): CampaignDraft => ({
  name: '',
  description: '',
  listId: '',
  segmentId: '',
  audience: 'snapshot',
  lineIds: [],
  poolId: '',
  stickinessPolicy: 'sticky',
  start: '',
  end: '',
  days: [],
  timezone: '',
  requireConsent: false,
  onReply: '',
  stopWhen: [],
  finishBy: '',
  needsAiPersonalization: false,
  steps: [NEW_STEP()],
});

export const draftOf = (campaign: Campaign): CampaignDraft => ({
  name: campaign.name,
  description: campaign.description,
  listId: campaign.listId ?? '',
  segmentId: campaign.segmentId ?? '',
  audience: campaign.audience,
  lineIds: campaign.eligibleLineIds ?? [],
  poolId: campaign.poolId ?? '',
  stickinessPolicy: campaign.stickinessPolicy,
  start: campaign.sendWindowStart ?? '',
  end: campaign.sendWindowEnd ?? '',
  days: campaign.allowedDaysOfWeek ?? [],
  timezone: campaign.timezone ?? '',
  requireConsent: campaign.requireConsent,
  onReply: campaign.onReply,
  stopWhen: campaign.stopWhen,
  finishBy: campaign.finishBy ?? '',
  needsAiPersonalization: campaign.needsAiPersonalization,
  steps: campaign.steps.map(stepDraftOf),
});

/** The body that makes another campaign like this one. */
export const copyOf = (campaign: Campaign): CampaignBody => ({
  ...bodyOf(draftOf(campaign)),
  quietHours: campaign.quietHours,
});

/** What a reply does: a campaign whose steps ask about replies goes on. */
export const onReplyOf = ({
  onReply,
  steps,
}: Pick<CampaignDraft, 'onReply' | 'steps'>): Campaign['onReply'] =>
  onReply || (asksAboutReplies(steps) ? 'continue' : 'stop');

const given = (text: string): string | null => (text === '' ? null : text);

export const bodyOf = ({
  listId,
  segmentId,
  audience,
  lineIds,
  poolId,
  start,
  end,
  days,
  timezone,
  stopWhen,
  finishBy,
  onReply,
  steps,
  ...same
}: CampaignDraft) =>
  ({
    ...same,
    listId: given(listId),
    segmentId: given(segmentId),
    ...(segmentId !== '' && { audience }),
    poolId: given(poolId),
    eligibleLineIds: poolId !== '' || lineIds.length === 0 ? null : [...lineIds],
    sendWindowStart: given(start),
    sendWindowEnd: given(end),
    allowedDaysOfWeek: days.length === 0 || days.length === 7 ? null : days.toSorted((a, b) => a - b),
    timezone: given(timezone),
    stopWhen: [...stopWhen],
    finishBy: given(finishBy),
    onReply: onReplyOf({ onReply, steps }),
    steps: steps.map(stepOf),
  }) satisfies CampaignBody;

/** The steps as they are to be; null: they have not changed. */
export function changedSteps(draft: CampaignDraft, saved: CampaignDraft): AnyStep[] | null {
  const { steps } = bodyOf(draft);
  return JSON.stringify(steps) === JSON.stringify(bodyOf(saved).steps) ? null : steps;
}

/**
 * What can change in a campaign that has started. Its steps are sent if they have changed, since each change makes a new version.
 * @param version the one that was read.
 */
export function editOf(draft: CampaignDraft, saved: CampaignDraft, version: number) {
  const { name, description, finishBy } = bodyOf(draft);
  const steps = changedSteps(draft, saved);
  return { name, description, finishBy, ...(steps && { steps, version }) };
}
