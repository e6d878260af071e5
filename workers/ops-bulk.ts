import { pauseAll, pauseLine, resumeAll } from '#db/commands/lines/pause-all.ts';
import { canTake, changeCampaignStatus } from '#db/commands/campaigns/campaign-status.ts';
import {
  type BulkAction,
  canceling,
  channelsOfLine,
  countBulk,
  type MessageChoice,
  movingTo,
  resending,
  runBulk,
} from '#db/commands/sending/bulk-messages.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findWorkspaceOf } from '#db/queries/accounts/find-workspace.ts';
import { linesPausedWithAll, unpausedLines } from '#db/queries/sending/line-orders.ts';
import { hasWorkspace, liveWorkspaceIds } from '#db/queries/accounts/tenants.ts';
import { findLineOwner } from '#db/queries/accounts/workspaces.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { byOperator } from '#domain/accounts/audit.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { currentTime } from '#domain/base/clock.ts';
import { isId } from '#domain/base/ids.ts';
import type { StoredStatus } from '#domain/messages/message-status.ts';
import type { Order } from '#workflows/protocol/updates.ts';
import {
  type Command,
  type Options,
  orderCommand,
  Refused,
  type Session,
  timeOf,
  WrongUsage,
} from './ops-command.ts';

/** Commands for many messages, lines or campaigns at once. Without `--yes` they only say how many. */

const FILTER =
  '[--workspace WORKSPACE_ID] [--line LINE_ID] [--campaign CAMPAIGN_ID] [--status STATUS] [--since TIME]';

/** More workspaces are not listed by name. */
const LISTED = 20;

interface Found {
  workspaceIds: readonly string[];
  choice: MessageChoice;
}

/** The workspaces and the messages that the options name. */
async function find({ pools }: Session, options: Options, statuses: readonly StoredStatus[]): Promise<Found> {
  const { workspace, line, campaign, since, status } = options;
  if (workspace === undefined && line === undefined && campaign === undefined && since === undefined)
    throw new WrongUsage('Name at least one of --workspace, --line, --campaign and --since');
  const wanted = statuses.find((one) => one === status);
  if (status !== undefined && wanted === undefined)
    throw new WrongUsage(`--status must be one of ${statuses.join(', ')}`);
  const db = systemDb(pools);
  const owners = [
    ...(workspace === undefined ? [] : [(await hasWorkspace(db, workspace)) ? workspace : null]),
    ...(line === undefined ? [] : [(await findLineOwner(db, idOf(line, '--line')))?.workspaceId ?? null]),
    ...(campaign === undefined ? [] : [await findWorkspaceOf(db, 'campaign', idOf(campaign, '--campaign'))]),
  ];
  if (owners.includes(null)) throw new Refused('NOT_FOUND', 'There is no such object');
  if (new Set(owners).size > 1)
    throw new Refused('NOT_FOUND', 'The line or the campaign does not belong to that workspace');
  const [owner] = owners;
  return {
    workspaceIds: owner ? [owner] : await liveWorkspaceIds(db),
    choice: {
      lineId: line ?? null,
      campaignId: campaign ?? null,
      since: since === undefined ? null : timeOf(since, '--since'),
      status: wanted ?? null,
    },
  };
}

function idOf(given: string, option: string): string {
  if (!isId(given)) throw new WrongUsage(`${option} must be an id`);
  return given;
}

interface OfMessages {
  summary: string;
  options?: string;
  statuses: readonly StoredStatus[];
  /** What it does, for the verdict. */
  done: string;
  actionFor(session: Session, options: Options, found: Found): Promise<BulkAction> | BulkAction;
}

const bulkOfMessages = ({ summary, options, statuses, done, actionFor }: OfMessages): Command => ({
  ...orderCommand({
    argument: null,
    options: [FILTER, options, '[--yes]'].filter((part) => part !== undefined).join(' '),
    summary: `${summary}; without --yes, only says how many`,
    async run(session, _id, order, given) {
      const found = await find(session, given, statuses);
      const action = await actionFor(session, given, found);
      const counts: { workspaceId: string; messages: number }[] = [];
      const refused: { workspaceId: string; code: string }[] = [];
      const run = (workspaceId: string): Promise<number> =>
        given.yes === true
          ? runBulk(session.pools, workspaceId, action, found.choice, byOperator(order), currentTime)
          : countBulk(session.pools, workspaceId, action, found.choice);
      for (const workspaceId of found.workspaceIds) {
        try {
          const messages = await run(workspaceId);
          if (messages > 0) counts.push({ workspaceId, messages });
        } catch (error) {
          if (!(error instanceof Refusal) || found.workspaceIds.length === 1) throw error;
          refused.push({ workspaceId, code: error.code });
        }
      }
      const total = counts.reduce((sum, { messages }) => sum + messages, 0);
      return {
        [given.yes === true ? done : `toBe${done.charAt(0).toUpperCase()}${done.slice(1)}`]: total,
        ...(given.yes !== true && { dryRun: true }),
        workspaces: counts.toSorted((a, b) => b.messages - a.messages).slice(0, LISTED),
        ...(refused.length > 0 && { refused: refused.slice(0, LISTED) }),
      };
    },
  }),
  needsTemporal: false,
  wakes: true,
  timeoutMs: null,
});

const setPaused = (isPaused: boolean): Command => ({
  ...orderCommand({
    argument: null,
    options: '[--workspace WORKSPACE_ID] [--line LINE_ID] [--campaign CAMPAIGN_ID] [--yes]',
    summary: isPaused
      ? 'pauses a campaign, a line, or all lines of a workspace; without --yes, only says how many'
      : 'resumes a campaign, a line, or the lines of a workspace that were paused together; without --yes, only says how many',
    async run(session, _id, order, given) {
      const { pools } = session;
      if (given.line !== undefined && given.campaign !== undefined)
        throw new WrongUsage('Name a line or a campaign, not both');
      const { workspaceIds } = await find(session, given, []);
      const [workspaceId = ''] = workspaceIds;
      const done = isPaused ? 'paused' : 'resumed';
      const verdict = (kind: string, count: number) =>
        given.yes === true
          ? { [`${done}${kind}`]: count }
          : { [`toBe${isPaused ? 'Paused' : 'Resumed'}${kind}`]: count, dryRun: true };
      if (given.campaign !== undefined)
        return verdict(
          'Campaigns',
          await campaign(session, workspaceId, given.campaign, isPaused, order, given.yes),
        );
      const db = systemDb(pools);
      if (given.line !== undefined) {
        const changed = await pauseLine(
          pools,
          workspaceId,
          given.line,
          isPaused,
          byOperator(order),
          given.yes !== true,
        );
        return verdict('Lines', changed ? 1 : 0);
      }
      if (given.yes !== true) {
        const lines = isPaused
          ? await unpausedLines(db, workspaceId)
          : await linesPausedWithAll(db, workspaceId);
        return verdict('Lines', lines.length);
      }
      const change = isPaused ? pauseAll : resumeAll;
      return verdict('Lines', await change(pools, workspaceId, byOperator(order)));
    },
  }),
  needsTemporal: false,
  wakes: true,
});

/** @returns 1 if the campaign changes, otherwise 0. */
async function campaign(
  { pools }: Session,
  workspaceId: string,
  campaignId: string,
  isPaused: boolean,
  order: Order,
  yes = false,
): Promise<number> {
  const action = isPaused ? 'pause' : 'resume';
  return withTenant(pools, workspaceId, async (db) => {
    const row = await lockCampaign(db, campaignId);
    if (!row || !canTake(action, row.status)) return 0;
    if (!yes) return 1;
    await changeCampaignStatus(db, row, action, currentTime());
    await insertAuditEntry(
      { db, workspaceId },
      {
        ...byOperator(order),
        action: isPaused ? 'campaign.paused' : 'campaign.resumed',
        target: { type: 'campaign', id: campaignId },
      },
    );
    return 1;
  });
}

export const BULK_COMMANDS: Record<string, Command> = {
  cancel: bulkOfMessages({
    summary: 'cancels messages that wait',
    statuses: ['pending', 'scheduled'],
    done: 'canceled',
    actionFor: () => canceling,
  }),
  resend: bulkOfMessages({
    summary:
      'sends messages that have failed in the last 30 days again, each once, as new messages; never one that may have been sent (`outcome_unknown`, or accepted by its carrier)',
    statuses: ['failed'],
    done: 'resent',
    actionFor: () => resending,
  }),
  move: bulkOfMessages({
    summary: 'moves messages that wait to another line of their workspace',
    options: '--to LINE_ID',
    statuses: ['pending', 'scheduled'],
    done: 'moved',
    async actionFor({ pools }, { to }, { workspaceIds }) {
      if (to === undefined) throw new WrongUsage('--to LINE_ID is required');
      const [workspaceId = ''] = workspaceIds;
      const channels =
        workspaceIds.length === 1 ? await channelsOfLine(pools, workspaceId, idOf(to, '--to')) : null;
      if (channels === null)
        throw new Refused(
          'NOT_FOUND',
          'The workspace of these messages has no active line with the id of --to',
        );
      return movingTo(to, channels);
    },
  }),
  pause: setPaused(true),
  resume: setPaused(false),
};
