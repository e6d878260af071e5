import { type Campaign, type CampaignBody, isMessage } from './campaign.ts';
import { draftOf as stepDraftOf, NEW_STEP, type StepDraft, stepOf } from './step-draft.ts';

/** A campaign as it is being written: what is not set is an empty text or list. */
export interface CampaignDraft {
  name: string;
  description: string;
  listId: string;
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
  onReply: Campaign['onReply'];
  needsAiPersonalization: boolean;
  steps: readonly StepDraft[];
}

export const NEW_CAMPAIGN = (): CampaignDraft => ({
  name: '',
  description: '',
  listId: '',
  lineIds: [],
  poolId: '',
  stickinessPolicy: 'sticky',
  start: '',
  end: '',
  days: [],
  timezone: '',
  requireConsent: false,
  onReply: 'stop',
  needsAiPersonalization: false,
  steps: [NEW_STEP()],
});

export const draftOf = (campaign: Campaign): CampaignDraft => ({
  name: campaign.name,
  description: campaign.description,
  listId: campaign.listId ?? '',
  lineIds: campaign.eligibleLineIds ?? [],
  poolId: campaign.poolId ?? '',
  stickinessPolicy: campaign.stickinessPolicy,
  start: campaign.sendWindowStart ?? '',
  end: campaign.sendWindowEnd ?? '',
  days: campaign.allowedDaysOfWeek ?? [],
  timezone: campaign.timezone ?? '',
  requireConsent: campaign.requireConsent,
  onReply: campaign.onReply,
  needsAiPersonalization: campaign.needsAiPersonalization,
  steps: campaign.steps.filter(isMessage).map(stepDraftOf),
});

const given = (text: string): string | null => (text === '' ? null : text);

export const bodyOf = ({
  listId,
  lineIds,
  poolId,
  start,
  end,
  days,
  timezone,
  steps,
  ...same
}: CampaignDraft) =>
  ({
    ...same,
    listId: given(listId),
    poolId: given(poolId),
    eligibleLineIds: poolId !== '' || lineIds.length === 0 ? null : [...lineIds],
    sendWindowStart: given(start),
    sendWindowEnd: given(end),
    allowedDaysOfWeek: days.length === 0 || days.length === 7 ? null : days.toSorted((a, b) => a - b),
    timezone: given(timezone),
    steps: steps.map(stepOf),
  }) satisfies CampaignBody;
