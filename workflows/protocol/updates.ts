import { defineUpdate } from '@temporalio/workflow';

/**
 * The updates that operators send from Temporal's UI or CLI, or with `npm run ops`. Each runs the same command as the API,
 * records it in the audit log, and returns the result (the verdict). An order whose effect already holds changes nothing and succeeds.
 *
 * A command refuses by itself, so an order can do nothing that the API refuses. Refusals are `ApplicationFailure`s whose type is the API's
 * code: `VALIDATION_ERROR`, `NOT_FOUND`, `INVALID_STATE`, `MESSAGE_NOT_CANCELABLE`, `NO_ACTIVE_LINE`, `LIMIT_REACHED`,
 * `WORKSPACE_SUSPENDED`, `READ_ONLY`, `SUBSCRIPTION_REQUIRED` and `DRAFT_ALREADY_RESOLVED`, whose details say who was first.
 */

/** Who gives the order, and why. The workflow history keeps both, so they must not name contacts or numbers. */
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
  /** The status in `GET /api/messages/{id}`. */
  status: string;
}

export interface RequestVerdict {
  lineId: string;
  /** The status in `GET /api/line-requests/{id}`. */
  status: string;
}

export interface DraftOrder extends Order {
  action: 'approve' | 'reject' | 'mark_sent';
  /** With `approve`: the text to send instead of the draft. Kept in the workflow history. */
  message?: string;
}

export interface DraftVerdict {
  replyId: string;
  /** The resulting status of the draft. */
  status: string;
  /** The message that is sent; null if none is. */
  messageId: string | null;
}

export interface CampaignVerdict {
  campaignId: string;
  status: string;
}

/** Updates of `line-pacer:{line}`. */
export const pauseLine = defineUpdate<LineVerdict, [Order]>('pauseLine');
export const resumeLine = defineUpdate<LineVerdict, [Order]>('resumeLine');
export const sendNow = defineUpdate<MessageVerdict, [Order & Partial<MessageOrder>]>('sendNow');
export const skipMessage = defineUpdate<MessageVerdict, [MessageOrder]>('skipMessage');

/** Updates of `line-request:{line}`. */
export const checkPayment = defineUpdate<RequestVerdict, [Order]>('checkPayment');
export const giveUp = defineUpdate<RequestVerdict, [Order]>('giveUp');

/** Updates of `ai-draft:{reply}`. The first decision wins, whether it comes from an operator or from the API. */
export const decide = defineUpdate<DraftVerdict, [DraftOrder]>('decide');

/** Updates of `campaign:{campaign}`. */
export const pauseCampaign = defineUpdate<CampaignVerdict, [Order]>('pauseCampaign');
export const resumeCampaign = defineUpdate<CampaignVerdict, [Order]>('resumeCampaign');
export const archiveCampaign = defineUpdate<CampaignVerdict, [Order]>('archiveCampaign');
