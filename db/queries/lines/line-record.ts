import { sql } from 'slonik';
import { z } from 'zod';
import type { PastEvent } from '#domain/lines/signal-replay.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const SendRow = z.object({
  at: z.date(),
  address: z.string(),
  isNew: z.boolean(),
  outcome: z.string(),
  reason: z.string().nullable(),
  finishedAt: z.date().nullable(),
  status: z.string().nullable(),
  errorMessage: z.string().nullable(),
  changedAt: z.date().nullable(),
  body: z.string().nullable(),
  attachmentUrls: z.array(z.string()).nullable(),
});

const ReplyRow = z.object({
  at: z.date(),
  address: z.string(),
  text: z.string(),
  keyword: z.string().nullable(),
});

/** The stored sends and replies of a line since a time, in order. Reads all of them: for operators, not for requests. */
export async function lineRecord(db: TenantDb, lineId: string, since: Date): Promise<PastEvent[]> {
  const sends = await db.any(sql.type(SendRow)`
    select a.started_at at, a.address, a.is_new, a.outcome, a.reason, a.finished_at, m.status, m.error_message,
      m.updated_at changed_at, m.body, m.attachment_urls
    from attempts a left join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
    where a.workspace_id = ${db.workspaceId} and a.line_id = ${lineId} and a.kind = 'primary'
      and a.outcome in ('accepted', 'unknown', 'refused') and a.started_at >= ${sql.timestamp(since)}`);
  const replies = await db.any(sql.type(ReplyRow)`
    select created_at at, address, body text, keyword from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and not auto_reply and counted
      and created_at >= ${sql.timestamp(since)}`);
  return [...sends.map(sendOf), ...replies.map((reply) => ({ kind: 'reply' as const, ...reply }))].toSorted(
    (a, b) => a.at.getTime() - b.at.getTime(),
  );
}

function sendOf(row: z.infer<typeof SendRow>): PastEvent {
  const { at, address, isNew, outcome } = row;
  return {
    kind: 'send',
    at,
    address,
    isNew,
    outcome: outcome === 'refused' ? 'refused' : 'carried',
    body: row.body ?? '',
    attachmentUrls: row.attachmentUrls ?? [],
    problem: problemOf(row),
  };
}

/** The carrier's rejection of a message: in its response, or later in a receipt. */
function problemOf({
  at,
  outcome,
  reason,
  finishedAt,
  status,
  errorMessage,
  changedAt,
}: z.infer<typeof SendRow>): Extract<PastEvent, { kind: 'send' }>['problem'] {
  const optedOut = errorMessage === 'recipient_opted_out';
  if (outcome === 'refused') return { at: finishedAt ?? at, reason: reason ?? '', optedOut };
  if (outcome !== 'accepted' || (status !== 'failed' && status !== 'fallback')) return null;
  return { at: changedAt ?? at, reason: errorMessage ?? '', optedOut };
}
