import { sql } from 'slonik';
import { z } from 'zod';
import { CampaignStatus } from '#domain/campaigns/campaign.ts';
import type { Moved } from '#domain/sending/holds.ts';
import type { Message } from '#domain/messages/message.ts';
import { shownStatus } from '#domain/messages/message-status.ts';
import type { WaitFacts } from '#domain/sending/waiting.ts';
import { type NoLine, whyItWaits } from '#domain/sending/why-it-waits.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { answersDue } from '../sending/attempts.ts';
import { recipientOf } from './message-recipient.ts';
import { sendWindow } from './message-window.ts';
import {
  listMessages,
  listSentMessages,
  type MessageFilter,
  type MessageRow,
  presentMessage,
} from './messages.ts';
import { optedOutAmong } from '../contacts/opt-outs.ts';
import { findPacedLines, type LinePace } from '../sending/paced-lines.ts';
import { workspacePace } from '../accounts/workspaces.ts';

/** For a filter on a derived status: messages read at once, and at most for one page. */
const CHUNK = 500;
const MAX_READ = 5000;

/** A message with the facts that determine why it waits; null: it does not wait. */
export interface FoundMessage {
  row: MessageRow;
  facts: (WaitFacts & { line: LinePace | NoLine }) | null;
}

/** Messages as the API shows them: a waiting message with its earliest send time and its hold reason. */
export async function showMessages(db: TenantDb, rows: readonly MessageRow[], now: Date): Promise<Message[]> {
  return (await findWaits(db, rows, now)).map((found) => presentFound(found, now));
}

/** Like `showMessages`, for one message. */
export async function showMessage(db: TenantDb, row: MessageRow, now: Date): Promise<Message> {
  const [shown] = await showMessages(db, [row], now);
  return shown ?? presentMessage(row);
}

/** A message as the API shows it. */
export const presentFound = (found: FoundMessage, now: Date): Message =>
  presentMessage(showWait(found, now).row);

/** A message with what callers see of its wait, and the rule that delays it. */
export function showWait({ row, facts }: FoundMessage, now: Date): { row: MessageRow; moved: Moved | null } {
  const wait = facts && whyItWaits(facts.line, facts.message, now);
  if (!wait) return { row, moved: null };
  const { reason, scheduledAt, moved } = wait;
  const isMoved = moved !== null || scheduledAt > row.scheduledAt;
  const shown = {
    ...row,
    scheduledAt,
    status: isMoved ? ('scheduled' as const) : row.status,
    // Waiting for its time or its turn, nothing holds it.
    holdReason: reason === 'scheduled' ? null : reason,
  };
  return { row: shown, moved };
}

/**
 * A page of `showMessages`, in the order of the filter, starting after the message with the id `cursor`. A message that a cap or window holds is shown as
 * `scheduled`, whatever is stored, so a filter on a status may read more than it returns and end a page early.
 */
export async function listShownMessages(
  db: TenantDb,
  { order, ...filter }: MessageFilter & { order?: 'created' | 'sent' },
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  now: Date,
): Promise<{ messages: FoundMessage[]; nextCursor: string | null }> {
  const list = order === 'sent' ? listSentMessages : listMessages;
  const isStored = filter.status !== 'pending' && filter.status !== 'scheduled';
  const size = isStored ? limit + 1 : Math.min(CHUNK, 2 * (limit + 1));
  const found: FoundMessage[] = [];
  let after = cursor;
  for (let read = 0; read < MAX_READ; read += size) {
    const rows = await list(db, filter, { limit: size, cursor: after });
    const shown = await findWaits(db, rows, now);
    const isListed = (one: FoundMessage): boolean =>
      filter.status === undefined || shownStatus(showWait(one, now).row.status) === filter.status;
    found.push(...shown.filter(isListed));
    if (found.length > limit) {
      const messages = found.slice(0, limit);
      return { messages, nextCursor: messages.at(-1)?.row.id ?? null };
    }
    if (rows.length < size) return { messages: found, nextCursor: null };
    after = rows.at(-1)?.id;
  }
  return { messages: found, nextCursor: after ?? null };
}

const isWaiting = ({ status, fallbackSms }: MessageRow): boolean =>
  status === 'pending' || status === 'scheduled' || status === 'sending' || fallbackSms === 'due';

/** Loads the facts that determine why messages wait. */
export async function findWaits(
  db: TenantDb,
  rows: readonly MessageRow[],
  now: Date,
): Promise<FoundMessage[]> {
  const waiting = rows.filter(isWaiting);
  if (waiting.length === 0) return rows.map((row) => ({ row, facts: null }));
  const workspace = await workspacePace(db);
  const lineIds = new Set(waiting.flatMap(({ lineId }) => lineId ?? []));
  const lines = await findPacedLines(db, [...lineIds], now, workspace);
  const stopped = await stoppedCampaigns(db, waiting);
  const unsent = waiting.filter(({ status }) => status === 'pending' || status === 'scheduled');
  const optedOut = await optedOutAmong(db, [...new Set(unsent.map(({ address }) => address))]);
  const sending = waiting.filter(({ status }) => status === 'sending');
  const answers = await answersDue(
    db,
    sending.map(({ id }) => id),
  );
  const { suspended, pastDue } = workspace;
  return rows.map((row) => {
    if (!isWaiting(row)) return { row, facts: null };
    const { id, campaignId, fallbackSms, answersUntil } = row;
    const message = {
      status: row.status,
      holdReason: row.holdReason,
      unqueued: row.held,
      smsOnly: row.forceFallback,
      scheduledAt: row.scheduledAt,
      isNew: row.isNew,
      isAnswer: answersUntil !== null && answersUntil > now,
      recipient: recipientOf(row),
      ...sendWindow(row),
      optedOut: optedOut.has(row.address),
      campaign: campaignId === null ? null : (stopped.get(campaignId) ?? 'active'),
      fallbackAt: fallbackSms === 'due' ? row.fallbackAt : null,
      answerBy: answers.get(id) ?? null,
    };
    return { row, facts: { line: lines.get(row.lineId ?? '') ?? { id: null, suspended, pastDue }, message } };
  });
}

/**
 * Adds which messages only wait for a worker, because none serves the task queue of their carrier. Asks Temporal, so outside of
 * transactions.
 */
export async function noteUnserved(
  found: readonly FoundMessage[],
  { unservedFor }: { unservedFor: (carrier: string) => Promise<string | null> },
  now: Date,
): Promise<FoundMessage[]> {
  const needed = found.map(({ facts }) => (facts ? neededCarrier(facts, now) : null));
  const carriers = [...new Set(needed)].filter((carrier) => carrier !== null);
  const queues = await Promise.all(carriers.map(unservedFor));
  const unserved = new Map<string | null, string | null>(
    carriers.map((carrier, index) => [carrier, queues[index] ?? null]),
  );
  return found.map(({ row, facts }, index) => {
    const queue = unserved.get(needed[index] ?? null) ?? null;
    if (queue === null || !facts || facts.line.id === null) return { row, facts };
    return { row, facts: { ...facts, line: { ...facts.line, unserved: queue } } };
  });
}

/** The carrier whose worker must send the message now; null: it waits for something else. */
function neededCarrier({ line, message }: NonNullable<FoundMessage['facts']>, now: Date): string | null {
  if (line.id === null) return null;
  const wait = whyItWaits({ ...line, unserved: line.carrier }, message, now);
  return wait?.reason === 'worker_unavailable' ? line.carrier : null;
}

const StoppedCampaignRow = z.object({ id: z.string(), status: CampaignStatus });

/** The campaigns of these messages that are not active. */
async function stoppedCampaigns(
  db: TenantDb,
  rows: readonly MessageRow[],
): Promise<Map<string, CampaignStatus>> {
  const ids = [...new Set(rows.flatMap(({ campaignId }) => campaignId ?? []))];
  if (ids.length === 0) return new Map();
  const stopped = await db.any(sql.type(StoppedCampaignRow)`
    select id, status from campaigns
    where workspace_id = ${db.workspaceId} and id = any(${sql.array(ids, 'text')}) and status <> 'active'`);
  return new Map(stopped.map(({ id, status }) => [id, status]));
}
