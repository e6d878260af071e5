import { defineQuery } from '@temporalio/workflow';
import type { CampaignRound } from './round.ts';

/** What a workflow waits for. */
export interface Status {
  /** The value of the search attribute `State`. */
  state: string;
  reason: string;
  /** ISO 8601; null: until a signal arrives. */
  until: string | null;
}

/** All long-lived workflows answer this query. */
export const statusQuery = defineQuery<Status>('status');

export interface LinePlan extends Status {
  workspaceId: string;
  lineId: string;
  /** null: the line is not connected to a carrier. */
  carrier: string | null;
}

export const planQuery = defineQuery<LinePlan>('plan');

export interface DraftState extends Status {
  replyId: string;
  approvalChannel: string | null;
}

export const draftQuery = defineQuery<DraftState>('draft');

export interface CampaignState extends Status {
  campaignId: string;
  progress: CampaignRound['progress'];
}

export const progressQuery = defineQuery<CampaignState>('progress');
