import { sql } from 'slonik';
import { z } from 'zod';
import { CampaignStatus } from '#domain/campaigns/campaign.ts';
import type { Message } from '#domain/messages/message.ts';
import {
  type PacedLine,
  quietUntil,
  type ShownWait,
  shownWait,
  workspaceStop,
} from '#domain/sending/pacing.ts';
import { awaitsOpening } from '#domain/sending/send-window.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { recipientOf } from './message-recipient.ts';
import { sendWindow } from './message-window.ts';
import { listMessages, type MessageFilter, type MessageRow, presentMessage } from './messages.ts';
import { findPacedLines, type LinePace } from '../sending/paced-lines.ts';
import { findWorkspaceStop } from '../accounts/workspaces.ts';

/** For a filter on a derived status: messages read at once, and at most for one page. */
const CHUNK = 500;
const MAX_READ = 5000;

/** Messages as the API shows them: a waiting message with its earliest send time and its hold reason. */
export async function showMessages(db: TenantDb, rows: readonly MessageRow[], now: Date): Promise<Message[]> {
  return (await showWaits(db, rows, now)).map(({ row }) => presentMessage(row));
}

/** Like `showMessages`, for one message. */
export async function showMessage(db: TenantDb, row: MessageRow, now: Date): Promise<Message> {
  const [shown] = await showWaits(db, [row], now);
  return presentMessage(shown?.row ?? row);
}

/** Like `showMessages`, with what delays each message. */
export async function showWaits(
  db: TenantDb,
  rows: readonly MessageRow[],
  now: Date,
): Promise<{ row: MessageRow; moved: ShownWait['moved'] }[]> {
  const waiting = rows.filter(isUnsent);
  const lineIds = new Set(waiting.flatMap((row) => (isQueued(row) ? (row.lineId ?? []) : [])));
  for (const { status, lineId } of rows) if (status === 'sending' && lineId !== null) lineIds.add(lineId);
  const lines = await findPacedLines(db, [...lineIds], now);
  const stopped = await stoppedCampaigns(db, waiting);
  const isUnpaced = (row: MessageRow): boolean => !isQueued(row) || row.lineId === null;
  const stop = waiting.some(isUnpaced) ? await findWorkspaceStop(db) : null;
  return rows.map((row) => {
    if (row.status === 'sending') return { row: withAnswer(row, lines), moved: null };
    if (!isUnsent(row)) return { row, moved: null };
    if (stop && isUnpaced(row)) return { row: { ...row, holdReason: stop }, moved: null };
    const campaign = stopped.get(row.campaignId ?? '');
    if (campaign) return { row: withCampaign(row, campaign, lines), moved: null };
    if (!isQueued(row)) return { row, moved: null };
    if (row.lineId === null) return { row: { ...row, holdReason: 'no_line' }, moved: null };
    const pace = lines.get(row.lineId);
    return pace ? withWait(row, pace, now) : { row, moved: null };
  });
}

/**
 * A page of `showMessages`, newest first, starting after the id `cursor`. A message that a cap or window holds is shown as
 * `scheduled`, whatever is stored, so a filter on a status may read more than it returns and end a page early.
 */
export async function listShownMessages(
  db: TenantDb,
  filter: MessageFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  now: Date,
): Promise<{ messages: Message[]; nextCursor: string | null }> {
  const isStored = filter.status !== 'pending' && filter.status !== 'scheduled';
  const size = isStored ? limit + 1 : Math.min(CHUNK, 2 * (limit + 1));
  const found: Message[] = [];
  let after = cursor;
  for (let read = 0; read < MAX_READ; read += size) {
    const rows = await listMessages(db, filter, { limit: size, cursor: after });
    const shown = await showMessages(db, rows, now);
    found.push(...shown.filter(({ status }) => filter.status === undefined || status === filter.status));
    if (found.length > limit) {
      const messages = found.slice(0, limit);
      return { messages, nextCursor: messages.at(-1)?._id ?? null };
    }
    if (rows.length < size) return { messages: found, nextCursor: null };
    after = rows.at(-1)?.id;
  }
  return { messages: found, nextCursor: after ?? null };
}

const isUnsent = ({ status }: MessageRow): boolean => status === 'pending' || status === 'scheduled';

const isQueued = (row: MessageRow): boolean => isUnsent(row) && !row.held;

/** A message that was handed to a carrier which answers nothing any more. */
function withAnswer(row: MessageRow, lines: ReadonlyMap<string, LinePace>): MessageRow {
  const circuit = lines.get(row.lineId ?? '')?.line.circuit;
  const isFailing = circuit !== undefined && (circuit.state !== 'closed' || circuit.failing === true);
  return isFailing ? { ...row, holdReason: 'carrier_pause' } : row;
}

/** The reasons are those of `waitingFor`, in the same order. */
function withCampaign(
  row: MessageRow,
  status: CampaignStatus,
  lines: ReadonlyMap<string, LinePace>,
): MessageRow {
  const stop = workspaceStop(lines.get(row.lineId ?? '')?.line ?? {});
  if (stop) return { ...row, holdReason: stop };
  if (status === 'paused') return { ...row, holdReason: 'campaign_paused' };
  return row.held ? row : { ...row, holdReason: 'campaign_inactive' };
}

function withWait(row: MessageRow, { line, lastSentAt }: LinePace, now: Date) {
  if (row.forceFallback) return { row: withForcedWait(row, line, now), moved: null };
  const wait = shownWait(
    line,
    { lastSentAt },
    {
      scheduledAt: row.scheduledAt,
      isNew: row.isNew,
      isAnswer: row.answersUntil !== null && row.answersUntil > now,
      recipient: recipientOf(row),
      ...sendWindow(row),
    },
    now,
  );
  const shown = {
    ...row,
    status: wait.moved ? ('scheduled' as const) : row.status,
    scheduledAt: wait.scheduledAt,
  };
  const holdReason = wait.holdReason === undefined ? holdOfLater(shown, now) : wait.holdReason;
  return { row: { ...shown, holdReason }, moved: wait.moved };
}

/** Why a message would not be sent before its scheduled time either; null: it is only scheduled. */
function holdOfLater(row: MessageRow, now: Date): string | null {
  const { window } = sendWindow(row);
  const awaitsWindow = window && awaitsOpening(window, row.scheduledAt, now);
  return row.holdReason ?? (awaitsWindow ? 'send_window' : null);
}

/** A forced SMS is not paced, but waits for the subscription, a paused line, its window and quiet hours. */
function withForcedWait(row: MessageRow, line: PacedLine, now: Date): MessageRow {
  const isDue = row.scheduledAt <= now;
  const stop = workspaceStop(line);
  if (isDue && stop) return { ...row, holdReason: stop };
  if (isDue && line.paused) return { ...row, holdReason: 'line_paused' };
  const isAnswer = row.answersUntil !== null && row.answersUntil > now;
  const message = { isAnswer, recipient: recipientOf(row), ...sendWindow(row) };
  const until = quietUntil(line, message, isDue ? now : row.scheduledAt);
  if (until) return { ...row, status: 'scheduled', scheduledAt: until, holdReason: 'recipient_quiet_hours' };
  return isDue ? row : { ...row, holdReason: holdOfLater(row, now) };
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
