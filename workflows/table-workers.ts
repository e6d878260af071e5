import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { Round } from './protocol/round.ts';
import type { SignalName } from './protocol/signals.ts';
import {
  HOUSEKEEPING_QUEUE,
  MAIL_QUEUE,
  MAIN_QUEUE,
  MEDIA_QUEUE,
  MODEL_QUEUE,
  TEST_QUEUE,
  WEBHOOK_QUEUE,
} from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';
import { createLoop } from './work-loop.ts';

/*
 * The workflows that only work through a table: whenever rows are due, one activity processes many of them. What they do is in the
 * activity and its table, so a workflow that is terminated loses nothing.
 */

interface TableWork {
  /** Says that rows were added, besides `overdue`. */
  signal: SignalName;
  queue?: string;
  summary: string;
  /** Of a round. */
  timeout: string;
  round: (act: ReturnType<typeof proxyActivities<Activities>>, input: WakeInput) => Promise<Round>;
}

function worksThrough({ signal, queue = MAIN_QUEUE, summary, timeout, round }: TableWork) {
  const act = proxyActivities<Activities>({
    ...(queue !== MAIN_QUEUE && { taskQueue: queue }),
    summary,
    startToCloseTimeout: timeout,
    // How soon another worker continues after a crash. Each round commits what it has done in small parts.
    heartbeatTimeout: '20s',
    retry: UNTIL_DONE,
  });
  return async (input: WakeInput): Promise<string> => {
    const loop = createLoop(signal, 'overdue');
    const outcome = await loop.repeat(() => round(act, input));
    return outcome ?? continueAsNew(input);
  };
}

/**
 * One per workspace whose bulk intake takes long, or that no process takes: worker processes take the rounds of the others. Turns buffered
 * drips into messages, in batches.
 */
export const dripDrainer = worksThrough({
  signal: 'dripsBuffered',
  summary: 'Turn buffered drips into scheduled messages',
  timeout: '2 minutes',
  round: (act, { workspaceId }) => act.drainDrips({ workspaceId }),
});

/**
 * One per workspace whose deliveries take long, or that no process takes: worker processes take the rounds of the others. So no tenant
 * waits for another's endpoints. Delivers the outbox; a delivery is claimed before it is sent, and after a crash it counts as interrupted
 * and is not sent again.
 */
export const webhookDispatcher = worksThrough({
  signal: 'deliveriesDue',
  queue: WEBHOOK_QUEUE,
  summary: 'Deliver events to the webhooks subscribed to them',
  timeout: '3 minutes',
  round: (act, { workspaceId }) => act.deliverWebhooks({ workspaceId }),
});

/** One per workspace. Turns due notifications into emails, grouped by the workspace's preferences. */
export const notifier = worksThrough({
  signal: 'notificationsDue',
  summary: 'Write the notification emails that are due',
  timeout: '2 minutes',
  round: (act, { workspaceId }) => act.writeNotifications({ workspaceId }),
});

/** A round lasts a minute, and its last batch may wait for a mail server that does not respond. */
const MAIL_ROUND = '15 minutes';

/** One per workspace. Sends the product's own emails from its outbox, and retries until the mail server accepts them. */
export const mailSender = worksThrough({
  signal: 'mailsDue',
  queue: MAIL_QUEUE,
  summary: 'Send the emails that are due',
  timeout: MAIL_ROUND,
  round: (act, { workspaceId }) => act.sendMails({ workspaceId }),
});

/** One per agency. Sends the invitations of co-admins, like `mailSender` for a workspace. */
export const agencyMailSender = worksThrough({
  signal: 'mailsDue',
  queue: MAIL_QUEUE,
  summary: 'Send the emails of the agency that are due',
  timeout: MAIL_ROUND,
  round: (act, { subjectId: agencyId }) => act.sendAgencyMails({ agencyId }),
});

/** One per workspace with linked chats. Brings each message up to date with its draft. */
export const chatMessenger = worksThrough({
  signal: 'chatsDue',
  queue: MAIL_QUEUE,
  summary: 'Tell the linked chats of drafts, and of what became of them',
  timeout: '3 minutes',
  round: (act, { workspaceId }) => act.updateChats({ workspaceId }),
});

/** One per workspace whose contacts send files. Copies them from the carrier to storage, in batches. */
export const attachmentFetcher = worksThrough({
  signal: 'filesDue',
  queue: MEDIA_QUEUE,
  summary: 'Fetch the files that contacts sent',
  // A round fetches files for 20 seconds, and the last ones may take half an hour: the contact's server can be slow.
  timeout: '40 minutes',
  round: (act, { workspaceId }) => act.fetchReplyAttachments({ workspaceId }),
});

/** A round lasts 45 seconds, and model calls in progress at its end may take 120 more. After a crash, only answers not stored are repeated. */
const MODEL_ROUND = '10 minutes';

/**
 * One per workspace with doubtful replies, or with absences of an unknown length. Asks the model about many in one activity. Campaigns to
 * their contacts wait.
 */
export const optOutJudge = worksThrough({
  signal: 'repliesDoubted',
  queue: MODEL_QUEUE,
  summary: 'Ask the model about replies that no rule decides',
  timeout: MODEL_ROUND,
  round: (act, { workspaceId }) => act.judgeReplies({ workspaceId }),
});

/** One per workspace that tries the autopilot. Asks the model what it would have answered, and ends after the last conversation. */
export const autopilotDryRun = worksThrough({
  signal: 'requested',
  queue: MODEL_QUEUE,
  summary: 'Ask the model what the autopilot would have answered',
  timeout: MODEL_ROUND,
  round: (act, { workspaceId }) => act.tryAutopilot({ workspaceId }),
});

/** One per workspace with opt-in links. Saves the contacts who wrote with a code as leads, and enters them into campaigns. */
export const optInCollector = worksThrough({
  signal: 'contactsJoined',
  summary: 'Save the contacts who opted in as leads',
  timeout: '2 minutes',
  round: (act, { workspaceId }) => act.enterOptIns({ workspaceId }),
});

/**
 * One per connected CRM, which worker processes ask. It runs a round when the CRM is connected, and when it begins to fail or answers again,
 * so that it shows that.
 */
export const crmConnection = worksThrough({
  signal: 'connected',
  queue: MAIL_QUEUE,
  summary: 'Take over changes of contacts from the CRM, and tell it what has happened',
  timeout: '5 minutes',
  round: (act, { workspaceId, subjectId: connectionId }) => act.syncCrm({ workspaceId, connectionId }),
});

/** One per workspace with rules. Does what they say about what has happened, or about what has not happened in time. */
export const ruleRunner = worksThrough({
  signal: 'rulesDue',
  summary: 'Do what the rules say that are due',
  timeout: '2 minutes',
  round: (act, { workspaceId }) => act.runRules({ workspaceId }),
});

/**
 * One per campaign whose messages are written for each lead. Writes many messages in one activity, some minutes before
 * they are due. If the model fails, the message is sent as its template.
 */
export const personalizer = worksThrough({
  signal: 'personalizationsDue',
  queue: MODEL_QUEUE,
  summary: 'Have the model write the due messages',
  timeout: MODEL_ROUND,
  round: (act, { workspaceId, subjectId: campaignId }) => act.writeMessages({ workspaceId, campaignId }),
});

/** Of long work that nobody waits for. A retry continues after the last committed chunk, so a crash repeats at most one. */
const CHUNKS_ROUND = '5 minutes';

/**
 * One per line and workspace, for a line that left the workspace or stopped sending with more messages than one
 * transaction reassigns. Assigns them to other lines in chunks, in queue order, and ends with the last.
 */
export const lineHandover = worksThrough({
  signal: 'messagesDue',
  queue: HOUSEKEEPING_QUEUE,
  summary: 'Give the next messages to other lines',
  timeout: CHUNKS_ROUND,
  round: (act, input) => act.handOver(input),
});

/** One per availability check of many leads. Ends after the last lead. */
export const availabilityJob = worksThrough({
  signal: 'requested',
  queue: HOUSEKEEPING_QUEUE,
  summary: 'Check the next leads',
  timeout: CHUNKS_ROUND,
  round: (act, { workspaceId, subjectId: jobId }) => act.checkLeads({ workspaceId, jobId }),
});

/** One per CSV file. Saves its rows to a list and ends with the file. */
export const leadImport = worksThrough({
  signal: 'requested',
  queue: HOUSEKEEPING_QUEUE,
  summary: 'Save the next rows of the file',
  timeout: CHUNKS_ROUND,
  round: (act, { workspaceId, subjectId: importId }) => act.importLeads({ workspaceId, importId }),
});

/** One per deleted list that is too large for one request. Deletes its leads in chunks and ends with the last. */
export const listDeletion = worksThrough({
  signal: 'requested',
  queue: HOUSEKEEPING_QUEUE,
  summary: 'Delete the next leads of the list',
  timeout: CHUNKS_ROUND,
  round: (act, { workspaceId, subjectId: listId }) => act.clearList({ workspaceId, listId }),
});

/** One per erased contact. Erases its rows and files in chunks, and again what was in progress in the meantime. */
export const contactErasure = worksThrough({
  signal: 'requested',
  queue: HOUSEKEEPING_QUEUE,
  summary: 'Erase the next rows and files of the contact',
  timeout: CHUNKS_ROUND,
  round: (act, { workspaceId, subjectId: erasureId }) => act.eraseContactData({ workspaceId, erasureId }),
});

/** One per workspace in test mode whose clock is moving. */
export const testClock = worksThrough({
  signal: 'requested',
  queue: TEST_QUEUE,
  summary: 'Move the clock from one due time to the next, and wait for the work of each',
  // A round lasts two minutes, but completes a step that has started. A retry continues from the current time of the clock.
  timeout: '5 minutes',
  round: (act, { workspaceId }) => act.moveTestClock({ workspaceId }),
});
