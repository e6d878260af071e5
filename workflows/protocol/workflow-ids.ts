import { startAttributes } from './search-attributes.ts';
import { MAIN_QUEUE, PRIORITY } from './task-queues.ts';

/** The input of a long-lived workflow. Ids, and the name of a carrier. */
export interface WakeInput {
  workspaceId: string;
  /** The id after the kind in the workflow's id, for example the id of a pacer's line. */
  subjectId: string;
  /** The carrier of a line; null: it has none; undefined: unknown when the workflow started. */
  carrier?: string | null;
}

interface LongLivedWorkflow {
  type: string;
  summary: string;
  /** The id after the kind is that of a line. */
  subject?: 'line';
  /** The page of the console that shows its subject, below `/console`. */
  page?: (subjectId: string) => string;
  /** The state until the first round, unless it is `idle`. */
  startsAs?: string;
  /** Of its tasks, unless it is `default`. */
  priority?: keyof typeof PRIORITY;
  /**
   * An activity of each worker process takes its rounds from the table (`activities/base/round-poller.ts`), which costs nothing in Temporal.
   * The workflow runs while there is more to see: a backlog, a failure, or no process that takes them.
   */
  isPolled?: true;
}

const linePage = (lineId: string): string => `lines?line=${lineId}`;
const campaignPage = (campaignId: string): string => `campaigns/${campaignId}`;

/** The long-lived workflows, by the first part of their id. */
export const WORKFLOWS: Readonly<Record<string, LongLivedWorkflow>> = {
  'line-pacer': {
    type: 'linePacer',
    summary: 'Sends the messages of one line within its limits',
    page: linePage,
    subject: 'line',
  },
  'drip-drainer': {
    type: 'dripDrainer',
    summary: 'Turns the bulk intake of one workspace into scheduled messages',
    isPolled: true,
  },
  'webhook-dispatcher': {
    page: () => 'webhooks',
    type: 'webhookDispatcher',
    summary: 'Delivers the events of one workspace to its webhooks',
    isPolled: true,
  },
  notifier: {
    type: 'notifier',
    summary: 'Writes the notification emails of one workspace when they are due',
  },
  'mail-sender': { type: 'mailSender', summary: "Sends the product's own emails of one workspace" },
  'agency-mail-sender': { type: 'agencyMailSender', summary: 'Sends the emails of one agency' },
  'attachment-fetcher': {
    type: 'attachmentFetcher',
    summary: 'Fetches the files that contacts sent to one workspace',
  },
  'opt-out-judge': {
    type: 'optOutJudge',
    summary: 'Asks the model whether doubtful replies of one workspace ask to be left alone',
  },
  'autopilot-dry-run': {
    type: 'autopilotDryRun',
    summary: 'Tries the autopilot over past conversations of one workspace, and sends nothing',
  },
  'opt-in-collector': {
    type: 'optInCollector',
    summary: 'Saves the contacts who wrote with an opt-in link as leads of one workspace',
    page: () => 'contacts',
  },
  'chat-messenger': {
    type: 'chatMessenger',
    summary: 'Tells the linked chats of one workspace of drafts, and what became of them',
  },
  'crm-connection': {
    type: 'crmConnection',
    summary: 'Brings the leads of one workspace and one of its CRMs together',
    isPolled: true,
  },
  'rule-runner': {
    type: 'ruleRunner',
    summary: 'Does what the rules of one workspace say about what has happened',
  },
  'line-request': {
    type: 'lineRequest',
    summary: 'Brings one requested line from its payment to its first health check',
    page: linePage,
    subject: 'line',
    startsAs: 'provisioning',
  },
  'line-handover': {
    type: 'lineHandover',
    summary: 'Assigns the messages of a line that left its workspace, or stopped sending, to other lines',
  },
  'mailbox-reader': {
    type: 'mailboxReader',
    summary: 'Reads what one line has received from the mailbox or the list of its carrier',
    page: linePage,
    subject: 'line',
    isPolled: true,
  },
  campaign: {
    type: 'campaign',
    summary: 'Enters the leads of one campaign and completes it',
    page: campaignPage,
    startsAs: 'active',
  },
  personalizer: {
    type: 'personalizer',
    summary: 'Personalizes the messages of one campaign with the model',
    page: campaignPage,
  },
  'availability-job': {
    type: 'availabilityJob',
    summary: 'Checks which of many leads can be reached by iMessage',
    priority: 'housekeeping',
  },
  'lead-import': {
    type: 'leadImport',
    summary: 'Saves the leads of one CSV file to a list',
    priority: 'housekeeping',
  },
  'list-deletion': {
    type: 'listDeletion',
    summary: 'Deletes the leads of one deleted list',
    priority: 'housekeeping',
  },
  'contact-erasure': {
    type: 'contactErasure',
    summary: 'Erases the stored data of one contact',
    priority: 'housekeeping',
  },
  'test-clock': { type: 'testClock', summary: 'Moves the clock of one workspace in test mode' },
  'ai-draft': {
    type: 'aiDraft',
    summary:
      'Drafts an answer to one reply, or follows a draft that somebody wrote, and waits for its review',
    page: () => 'inbox',
    startsAs: 'waiting',
  },
};

/** The input of the workflow that shows which rounds a worker process takes itself. */
export interface PolledRoundsInput {
  /** Its name, which no other process has or will have. */
  process: string;
  /** The kinds of rounds, as the ids of their workflows begin. */
  kinds: string[];
}

/** Of a worker process, which starts it: no table asks for it. */
export const polledRoundsId = (process: string): string => `polled-rounds:${process}`;
export const linePacerId = (lineId: string): string => `line-pacer:${lineId}`;
export const lineRequestId = (lineId: string): string => `line-request:${lineId}`;
export const mailboxReaderId = (lineId: string): string => `mailbox-reader:${lineId}`;
/** Includes the workspace, because a line may leave several within a short time. @param lineId null: for messages that no line could send. */
export const lineHandoverId = (lineId: string | null, workspaceId: string): string =>
  `line-handover:${lineId ?? 'none'}:${workspaceId}`;
export const dripDrainerId = (workspaceId: string): string => `drip-drainer:${workspaceId}`;
export const webhookDispatcherId = (workspaceId: string): string => `webhook-dispatcher:${workspaceId}`;
export const notifierId = (workspaceId: string): string => `notifier:${workspaceId}`;
export const mailSenderId = (workspaceId: string): string => `mail-sender:${workspaceId}`;
export const agencyMailSenderId = (agencyId: string): string => `agency-mail-sender:${agencyId}`;
export const attachmentFetcherId = (workspaceId: string): string => `attachment-fetcher:${workspaceId}`;
export const optOutJudgeId = (workspaceId: string): string => `opt-out-judge:${workspaceId}`;
export const autopilotDryRunId = (workspaceId: string): string => `autopilot-dry-run:${workspaceId}`;
export const optInCollectorId = (workspaceId: string): string => `opt-in-collector:${workspaceId}`;
export const chatMessengerId = (workspaceId: string): string => `chat-messenger:${workspaceId}`;
export const crmConnectionId = (connectionId: string): string => `crm-connection:${connectionId}`;
export const ruleRunnerId = (workspaceId: string): string => `rule-runner:${workspaceId}`;
export const campaignWorkflowId = (campaignId: string): string => `campaign:${campaignId}`;
export const personalizerId = (campaignId: string): string => `personalizer:${campaignId}`;
export const availabilityJobId = (jobId: string): string => `availability-job:${jobId}`;
export const leadImportId = (importId: string): string => `lead-import:${importId}`;
export const listDeletionId = (listId: string): string => `list-deletion:${listId}`;
export const contactErasureId = (erasureId: string): string => `contact-erasure:${erasureId}`;
export const testClockId = (workspaceId: string): string => `test-clock:${workspaceId}`;
export const aiDraftId = (replyId: string): string => `ai-draft:${replyId}`;

/** The kind of a workflow whose rounds worker processes take; null: it runs its rounds itself. */
export function polledKind(workflowId: string): string | null {
  const [kind = ''] = workflowId.split(':');
  return WORKFLOWS[kind]?.isPolled ? kind : null;
}

/** The line whose workflow has this id; null: its subject is not a line. */
export function lineOf(workflowId: string): string | null {
  const [kind = '', subjectId = ''] = workflowId.split(':');
  return WORKFLOWS[kind]?.subject === 'line' ? subjectId : null;
}

/** A workflow id of an unknown kind. */
export class UnknownWorkflow extends Error {}

/**
 * How to start a workflow. The id and the workspace are sufficient, so the sweep can wake it from its row in the database.
 * @param carrier the carrier of its line; null: unknown.
 */
export function wakeStart(workflowId: string, workspaceId: string, carrier: string | null = null) {
  const [kind = '', subjectId = ''] = workflowId.split(':');
  const workflow = WORKFLOWS[kind];
  if (!workflow) throw new UnknownWorkflow(`unknown workflow id ${workflowId}`);
  const { type, summary, subject, page, startsAs = 'idle', priority = 'default' } = workflow;
  const input: WakeInput = { workspaceId, subjectId, ...(carrier !== null && { carrier }) };
  return {
    type,
    args: [input] as [WakeInput],
    taskQueue: MAIN_QUEUE,
    // Activities inherit both. No workspace waits for the backlog of another.
    priority: { fairnessKey: workspaceId, priorityKey: PRIORITY[priority] },
    staticSummary: summary,
    page: page?.(subjectId) ?? null,
    attributes: startAttributes({
      state: startsAs,
      workspaceId,
      ...(subject === 'line' && { lineId: subjectId }),
    }),
  };
}
