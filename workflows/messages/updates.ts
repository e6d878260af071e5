import { defineUpdate } from '@temporalio/workflow';

/**
 * What operators do, in Temporal's UI, by its client or by `npm run ops`. Each runs the command that the API runs, is
 * written to the audit log with it, and returns its verdict. What is so already succeeds, and changes nothing.
 *
 * Refused with an `ApplicationFailure` of these types: `VALIDATION_ERROR`, `NOT_FOUND`, `INVALID_STATE`,
 * `NO_ACTIVE_LINE`, and `DRAFT_ALREADY_RESOLVED` with who was first as its details.
 */

/** Who asks for it, and why. The history keeps it: no names of contacts, no numbers. */
export interface Order {
  by: string;
  reason?: string;
}

export interface MessageOrder extends Order {
  messageId: string;
}

export interface LineVerdict {
  lineId: string;
  isPaused: boolean;
}

export interface MessageVerdict {
  messageId: string;
  /** As `GET /api/messages/{id}` shows it. */
  status: string;
}

export interface RequestVerdict {
  lineId: string;
  /** As `GET /api/line-requests/{id}` shows it. */
  status: string;
}

export interface DraftOrder extends Order {
  action: 'approve' | 'reject' | 'mark_sent';
  /** With `approve`: what is sent instead of the draft as it stands. The history keeps it. */
  message?: string;
}

export interface DraftVerdict {
  replyId: string;
  /** What became of the draft. */
  status: string;
  /** The message that is sent; null: none is. */
  messageId: string | null;
}

export interface CampaignVerdict {
  campaignId: string;
  status: string;
}

/** Of `line-pacer:{line}`. */
export const pauseLine = defineUpdate<LineVerdict, [Order]>('pauseLine');
export const resumeLine = defineUpdate<LineVerdict, [Order]>('resumeLine');
export const sendNow = defineUpdate<MessageVerdict, [Order & Partial<MessageOrder>]>('sendNow');
export const skipMessage = defineUpdate<MessageVerdict, [MessageOrder]>('skipMessage');

/** Of `line-request:{line}`. */
export const checkPayment = defineUpdate<RequestVerdict, [Order]>('checkPayment');
export const giveUp = defineUpdate<RequestVerdict, [Order]>('giveUp');

/** Of `ai-draft:{reply}`. The first decision wins, whether it comes from here or from the API. */
export const decide = defineUpdate<DraftVerdict, [DraftOrder]>('decide');

/** Of `campaign:{campaign}`. */
export const pauseCampaign = defineUpdate<CampaignVerdict, [Order]>('pauseCampaign');
export const resumeCampaign = defineUpdate<CampaignVerdict, [Order]>('resumeCampaign');
export const archiveCampaign = defineUpdate<CampaignVerdict, [Order]>('archiveCampaign');
