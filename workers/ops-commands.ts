import type { UpdateDefinition } from '@temporalio/common';
import { pauseAll, resumeAll } from '#db/commands/lines/pause-all.ts';
import { hasOwner, replaceSetupCode, SETUP_CODE_MINUTES } from '#db/queries/accounts/installation.ts';
import { recordLostTime } from '#db/queries/sending/line-orders.ts';
import { lineRecord } from '#db/queries/lines/line-record.ts';
import { findSignals } from '#db/queries/lines/line-signals.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { findWorkspaceOf } from '#db/queries/accounts/find-workspace.ts';
import { recordRun } from '#db/queries/sending/recorded-runs.ts';
import { noteUnserved } from '#db/queries/messages/shown-messages.ts';
import { findTimeline } from '#db/queries/messages/timeline.ts';
import { hasWorkspace } from '#db/queries/accounts/tenants.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { DraftAction } from '#domain/drafts/ai-draft.ts';
import { byOperator } from '#domain/accounts/audit.ts';
import { daysBefore, startOfDayAfter } from '#domain/lines/line-signals.ts';
import { historyOf, judge, JUDGED_DAYS } from '#domain/lines/reputation.ts';
import { hashSecretToken, newSecretToken } from '#domain/base/secret-token.ts';
import { replaySignals } from '#domain/lines/signal-replay.ts';
import { presentTimeline } from '#domain/messages/timeline.ts';
import { waitingFor } from '#domain/sending/waiting.ts';
import { FIND_BY_CONTENT } from '#providers/carriers/registry.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import {
  archiveCampaign,
  checkPayment,
  decide,
  giveUp,
  type Order,
  pauseCampaign,
  pauseLine,
  resumeCampaign,
  resumeLine,
  sendNow,
  skipMessage,
} from '#workflows/protocol/updates.ts';
import {
  aiDraftId,
  campaignWorkflowId,
  linePacerId,
  lineRequestId,
} from '#workflows/protocol/workflow-ids.ts';
import {
  type Command,
  type Options,
  orderCommand,
  Refused,
  type Session,
  timeOf,
  WrongUsage,
} from './ops-command.ts';
import { BULK_COMMANDS } from './ops-bulk.ts';
import { probe, restart, top } from './ops-look.ts';
import { linkOrganizationCommand } from './ops-organizations.ts';
import { release } from './ops-release.ts';
import { replay } from './ops-replay.ts';
import { setAside } from './ops-set-aside.ts';
import { TENANT_COMMANDS } from './ops-tenants.ts';
import { startSweep } from './schedules.ts';

/** @throws if a workspace is named that does not exist. */
async function known(pools: Session['pools'], workspace: string | undefined): Promise<string | null> {
  if (workspace === undefined) return null;
  if (!(await hasWorkspace(systemDb(pools), workspace)))
    throw new Refused('NOT_FOUND', 'There is no such workspace');
  return workspace;
}

/** The commands of operators. Most update a workflow, as the Temporal UI can. */
export const COMMANDS: Record<string, Command> = {
  'pause-line': lineOrder(pauseLine, 'the line sends nothing until it is resumed'),
  'resume-line': lineOrder(resumeLine, 'the line sends again'),
  'pause-all-lines': {
    ...orderCommand({
      argument: null,
      options: '[--workspace WORKSPACE_ID]',
      summary:
        'no line, of the workspace or of all, sends until it is resumed; works while nothing else runs',
      run: async ({ pools }, _id, order, { workspace }) => ({
        pausedLines: await pauseAll(pools, await known(pools, workspace), byOperator(order)),
      }),
    }),
    needsTemporal: false,
  },
  'resume-all-lines': {
    ...orderCommand({
      argument: null,
      options: '[--workspace WORKSPACE_ID]',
      summary:
        'the lines that were paused with all others send again; those that somebody has paused by themselves stay paused',
      run: async ({ pools }, _id, order, { workspace }) => ({
        resumedLines: await resumeAll(pools, await known(pools, workspace), byOperator(order)),
      }),
    }),
    needsTemporal: false,
    wakes: true,
  },
  'after-restore': {
    ...orderCommand({
      argument: null,
      options: '--from TIME [--until TIME]',
      summary:
        'before the first start on a restored database, which has no record of what was sent between the times of its last commit and of the failure: carriers are asked before a message is sent; lines whose carriers cannot tell are paused',
      async run({ pools }, _id, order, times) {
        const from = timeOf(times.from, '--from');
        const until = timeOf(times.until ?? new Date().toISOString(), '--until');
        if (from >= until) throw new WrongUsage('--from must be before --until');
        const isAsked = (carrier: string): boolean => FIND_BY_CONTENT.includes(carrier);
        const askedLines = await recordLostTime(systemDb(pools), FIND_BY_CONTENT, { from, until });
        return {
          askedLines,
          pausedLines: await pauseAll(pools, null, byOperator(order), (carrier) => !isAsked(carrier)),
        };
      },
    }),
    needsTemporal: false,
  },
  'send-now': orderCommand({
    argument: 'LINE_ID',
    options: '[--message MESSAGE_ID]',
    summary: 'a message, or the next in turn, is sent now, whatever its time and the gaps',
    run: (session, lineId, order, { message }) =>
      updateOfLine(session, lineId, linePacerId(lineId), sendNow, {
        ...order,
        ...(message !== undefined && { messageId: message }),
      }),
  }),
  'skip-message': orderCommand({
    argument: 'MESSAGE_ID',
    summary: 'a message that waits is canceled',
    async run(session, messageId, order) {
      const lineId = await lineOfMessage(session, messageId);
      return updateOfLine(session, lineId, linePacerId(lineId), skipMessage, { ...order, messageId });
    },
  }),
  'check-payment': requestOrder(
    checkPayment,
    'the payment provider is asked whether a requested line is paid for',
  ),
  'give-up': requestOrder(giveUp, 'a line that is being set up fails, and its payment is credited'),
  'decide-draft': orderCommand({
    argument: 'REPLY_ID',
    options: '--action approve|reject|mark_sent [--message TEXT]',
    summary: 'a draft is approved, as it stands or as the text given, rejected, or claimed',
    async run(session, replyId, order, { action, message }) {
      if (!isDraftAction(action)) throw new WrongUsage('--action must be approve, reject or mark_sent');
      const workspaceId = await ownerOf(session, 'draft', replyId);
      const decision = { ...order, action, ...(message !== undefined && { message }) };
      return updateWorkflow(
        session.client,
        { workflowId: aiDraftId(replyId), workspaceId },
        decide,
        decision,
      );
    },
  }),
  'pause-campaign': campaignOrder(
    pauseCampaign,
    'nothing of the campaign is sent, and every message keeps its place',
  ),
  'resume-campaign': campaignOrder(resumeCampaign, 'a paused campaign resumes'),
  'archive-campaign': campaignOrder(
    archiveCampaign,
    'the campaign ends for good, and what was not sent is canceled',
  ),
  reputation: {
    argument: 'LINE_ID',
    options: '[--history]',
    summary:
      'how a line is judged and why; with --history by all that is stored, also of the time before it was counted',
    needsTemporal: false,
    run: reputation,
  },
  timeline: {
    argument: 'MESSAGE_ID',
    summary: 'what has happened to a message, and what it waits for',
    run: timeline,
  },
  sweep: {
    argument: null,
    summary: 'wakes every workflow that is overdue, as the schedule does every two minutes',
    async run({ client }) {
      await startSweep(client, 'sweep-by-operator');
      return { triggered: 'sweep' };
    },
  },
  'setup-code': {
    argument: null,
    summary:
      'makes a one-time code that sets up an installation without an owner (POST /api/setup), and ends the one before',
    needsTemporal: false,
    async run({ pools }) {
      const db = systemDb(pools);
      if (await hasOwner(db)) throw new Refused('ALREADY_SET_UP', 'This installation has an owner already');
      const code = newSecretToken();
      await replaceSetupCode(db, hashSecretToken(code));
      return { code, validMinutes: SETUP_CODE_MINUTES };
    },
  },
  ...TENANT_COMMANDS,
  ...BULK_COMMANDS,
  top,
  probe,
  restart,
  'set-aside': setAside,
  replay,
  release,
  'link-organization': linkOrganizationCommand,
  'record-backup': {
    argument: null,
    summary: 'records that a backup of the database was completed, for the alert on its age',
    needsTemporal: false,
    async run({ pools }) {
      await recordRun(systemDb(pools), 'backup');
      return { recorded: 'backup' };
    },
  },
};

type OrderUpdate<Verdict> = UpdateDefinition<Verdict, [Order]>;

function lineOrder<Verdict>(update: OrderUpdate<Verdict>, summary: string): Command {
  return orderCommand({
    argument: 'LINE_ID',
    summary,
    run: (session, lineId, order) => updateOfLine(session, lineId, linePacerId(lineId), update, order),
  });
}

function requestOrder<Verdict>(update: OrderUpdate<Verdict>, summary: string): Command {
  return orderCommand({
    argument: 'LINE_ID',
    summary,
    run: (session, lineId, order) => updateOfLine(session, lineId, lineRequestId(lineId), update, order),
  });
}

function campaignOrder<Verdict>(update: OrderUpdate<Verdict>, summary: string): Command {
  return orderCommand({
    argument: 'CAMPAIGN_ID',
    summary,
    async run(session, campaignId, order) {
      const workspaceId = await ownerOf(session, 'campaign', campaignId);
      const workflowId = campaignWorkflowId(campaignId);
      return updateWorkflow(session.client, { workflowId, workspaceId }, update, order);
    },
  });
}

const isDraftAction = (action: string | undefined): action is DraftAction =>
  DraftAction.options.some((known) => known === action);

/** Updates a workflow of a line, in the workspace that the line is in now. */
async function updateOfLine<Verdict, O extends Order>(
  { client, pools }: Session,
  lineId: string,
  workflowId: string,
  update: UpdateDefinition<Verdict, [O]>,
  order: O,
): Promise<Verdict> {
  const owner = await findLineOwner(systemDb(pools), lineId);
  if (!owner) throw new Refused('NOT_FOUND', `There is no line ${lineId}`);
  return updateWorkflow(client, { workflowId, workspaceId: owner.workspaceId }, update, order);
}

async function ownerOf(
  { pools }: Session,
  kind: Parameters<typeof findWorkspaceOf>[1],
  id: string,
): Promise<string> {
  const workspaceId = await findWorkspaceOf(systemDb(pools), kind, id);
  if (workspaceId === null) throw new Refused('NOT_FOUND', `There is no ${kind} ${id}`);
  return workspaceId;
}

async function lineOfMessage(session: Session, messageId: string): Promise<string> {
  const workspaceId = await ownerOf(session, 'message', messageId);
  const message = await withTenant(session.pools, workspaceId, (db) => findMessage(db, messageId));
  if (!message?.lineId) throw new Refused('INVALID_STATE', 'The message has no line yet');
  return message.lineId;
}

async function timeline(session: Session, messageId: string): Promise<unknown> {
  const workspaceId = await ownerOf(session, 'message', messageId);
  const { pools, client, namespace } = session;
  const now = new Date();
  const told = await withTenant(pools, workspaceId, (db) => findTimeline(db, messageId, now));
  if (!told) throw new Refused('NOT_FOUND', `There is no message ${messageId}`);
  const queues = createTaskQueues(client.connection, namespace);
  const [found = told.found] = await noteUnserved([told.found], queues, now);
  const { lineId } = found.row;
  return {
    ...presentTimeline(messageId, told.record, found.facts && waitingFor(found.facts, told.said, now)),
    ...(lineId !== null && { pacer: workflowLink(session, linePacerId(lineId)) }),
  };
}

/** A workflow, and its page in the Temporal UI if its origin is known. */
const workflowLink = ({ temporalUi, namespace }: Session, workflowId: string) => ({
  workflowId,
  ...(temporalUi !== null && {
    url: `${temporalUi}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}`,
  }),
});

/** The days that are replayed, as long as attempts are kept by default. */
const REPLAYED_DAYS = 400;

async function reputation(
  { pools }: Session,
  lineId: string,
  { history = false }: Options,
): Promise<unknown> {
  const owner = await findLineOwner(systemDb(pools), lineId);
  if (!owner) throw new Refused('NOT_FOUND', `There is no line ${lineId}`);
  const now = new Date();
  return withTenant(pools, owner.workspaceId, async (db) => {
    const line = await findLine(db, lineId);
    if (!line) throw new Refused('NOT_FOUND', `There is no line ${lineId}`);
    const { channel } = line;
    const days = history
      ? replaySignals(channel, await lineRecord(db, lineId, startOfDayAfter(now, -REPLAYED_DAYS)))
      : ((await findSignals(db, [lineId], daysBefore(now, JUDGED_DAYS - 1))).get(lineId) ?? []);
    const { state, score, terms } = judge(channel, days, now);
    return {
      lineId,
      state,
      score,
      terms,
      ...(history && { history: historyOf(channel, days, now, REPLAYED_DAYS), days }),
    };
  });
}
