import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { IS_BY_MEMBER } from '#db/queries/messages/messages.ts';
import { shownText } from '#db/queries/inbox/replies.ts';
import { Autopilot, HeldBackBy } from '#domain/drafts/autopilot.ts';
import {
  type AutopilotDryRun,
  DRY_RUN_CASES,
  DRY_RUN_DAYS,
  sharedWords,
  summarize,
} from '#domain/drafts/autopilot-dry-run.ts';
import { shownReply } from '#domain/inbox/reply.ts';

const DryRunRow = z.object({
  autopilot: Autopilot,
  requestedAt: z.date(),
  finishedAt: z.date().nullable(),
});

const findDryRun = (db: TenantDb): Promise<z.output<typeof DryRunRow> | null> =>
  db.maybeOne(sql.type(DryRunRow)`
    select autopilot, requested_at, finished_at from autopilot_dry_runs where workspace_id = ${db.workspaceId}`);

const CaseRow = z.object({
  replyId: z.string(),
  messageId: z.string(),
  address: z.string(),
  draft: z.string().nullable(),
  confidence: z.number().nullable(),
  heldBackBy: HeldBackBy.nullable(),
  error: z.string().nullable(),
  receivedAt: z.date(),
  inbound: z.string(),
  body: z.string(),
  sentText: z.string().nullable(),
});

/** The last dry run with its cases, as far as their messages are still there; null: there was none in the last 30 days. */
export async function shownDryRun(db: TenantDb): Promise<AutopilotDryRun | null> {
  const run = await findDryRun(db);
  if (!run) return null;
  const rows = await db.any(sql.type(CaseRow)`
    select c.reply_id, c.message_id, c.address, c.draft, c.confidence, c.held_back_by, c.error,
      i.received_at, i.body inbound, m.body, m.sent_text
    from autopilot_cases c
    join inbound_messages i on i.workspace_id = ${db.workspaceId} and i.id = c.reply_id
    join messages m on m.workspace_id = ${db.workspaceId} and m.id = c.message_id
    where c.workspace_id = ${db.workspaceId} order by c.reply_id desc`);
  const cases = rows.map((row) => {
    const sentText = shownText(row);
    return {
      replyId: row.replyId,
      conversationRecipient: row.address,
      at: row.receivedAt.toISOString(),
      inboundText: shownReply(row.inbound),
      sentMessageId: row.messageId,
      sentText,
      draftMessage: row.draft,
      confidence: row.confidence,
      sharedWords: row.draft === null ? null : sharedWords(row.draft, sentText),
      heldBackBy: row.heldBackBy,
      error: row.error,
    };
  });
  return {
    status: run.finishedAt === null ? 'running' : 'done',
    requestedAt: run.requestedAt.toISOString(),
    finishedAt: run.finishedAt?.toISOString() ?? null,
    autopilot: run.autopilot,
    ...summarize(cases),
  };
}

/** Of the conversations with the latest messages. */
const CONVERSATIONS = 200;
/** Of a conversation, the latest messages of the contact. */
const REPLIES = 20;

/**
 * Replaces the last dry run by one of the latest answers of people to different contacts.
 * @returns false if one is running.
 */
export async function startDryRun(db: TenantDb, autopilot: Autopilot, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into autopilot_dry_runs as r (workspace_id, autopilot, requested_at)
    values (${db.workspaceId}, ${sql.jsonb(autopilot)}, ${sql.timestamp(now)})
    on conflict (workspace_id) do update
      set autopilot = excluded.autopilot, requested_at = excluded.requested_at, finished_at = null
      where r.finished_at is not null`);
  if (rowCount === 0) return false;
  await db.query(sql.type(NoRows)`delete from autopilot_cases where workspace_id = ${db.workspaceId}`);
  const since = new Date(now.getTime() - DRY_RUN_DAYS * 86_400_000);
  await db.query(sql.type(NoRows)`
    with recent as materialized (
      select address, greatest(last_inbound_at, last_outbound_at) active_at from conversations
      where workspace_id = ${db.workspaceId} and greatest(last_inbound_at, last_outbound_at) >= ${sql.timestamp(since)}
        and not starts_with(address, 'group:') and not starts_with(address, 'erased:')
      order by greatest(last_inbound_at, last_outbound_at) desc limit ${CONVERSATIONS}
    )
    insert into autopilot_cases (workspace_id, reply_id, message_id, address)
    select ${db.workspaceId}, c.reply_id, c.message_id, r.address from recent r
    cross join lateral (
      select i.id reply_id, m.id message_id from (
        select id, received_at from inbound_messages
        where workspace_id = ${db.workspaceId} and address = r.address and received_at >= ${sql.timestamp(since)}
          and not auto_reply and warning is null and keyword is distinct from 'stop' and body <> ''
        order by received_at desc, id desc limit ${REPLIES}
      ) i
      cross join lateral (
        select id, source, sent_at, body from messages
        where workspace_id = ${db.workspaceId} and address = r.address and sent_at > i.received_at
        order by sent_at limit 1
      ) m
      where ${IS_BY_MEMBER} and m.body <> '' and not exists (
        select from inbound_messages later
        where later.workspace_id = ${db.workspaceId} and later.address = r.address
          and later.received_at > i.received_at and later.received_at < m.sent_at)
      order by i.received_at desc, i.id desc limit 1
    ) c
    order by r.active_at desc limit ${DRY_RUN_CASES}`);
  return true;
}

const WaitingRow = z.object({ replyId: z.string(), address: z.string(), receivedAt: z.date() });
export type WaitingCase = z.infer<typeof WaitingRow>;

/** The cases that the model has not been asked about. */
export const waitingCases = (db: TenantDb): Promise<readonly WaitingCase[]> =>
  db.any(sql.type(WaitingRow)`
    select c.reply_id, c.address, i.received_at from autopilot_cases c
    join inbound_messages i on i.workspace_id = ${db.workspaceId} and i.id = c.reply_id
    where c.workspace_id = ${db.workspaceId} and c.judged_at is null
    order by c.reply_id desc`);

/** The limits that are tried; null: no dry run is running. */
export async function triedLimits(db: TenantDb): Promise<Autopilot | null> {
  const run = await findDryRun(db);
  return run?.finishedAt === null ? run.autopilot : null;
}

const NO_OUTCOME = { draft: null, confidence: null, heldBackBy: null, error: null };

/** Stores what the autopilot would have done, unless the contact was erased meanwhile. */
export async function settleCase(
  db: TenantDb,
  replyId: string,
  outcome: { draft: string; confidence: number; heldBackBy: HeldBackBy | null } | { error: string },
  now: Date,
): Promise<void> {
  const { draft, confidence, heldBackBy, error } = { ...NO_OUTCOME, ...outcome };
  await db.query(sql.type(NoRows)`
    update autopilot_cases set draft = ${draft}, confidence = ${confidence}, held_back_by = ${heldBackBy}, error = ${error},
      judged_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and reply_id = ${replyId}`);
}

export async function finishDryRun(db: TenantDb, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update autopilot_dry_runs set finished_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and finished_at is null`);
}
