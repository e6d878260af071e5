import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { type FileLinks, linkExpiry, linkName, REPLY_LINK_DAYS } from '#domain/messages/attachment.ts';
import { Call } from '#domain/inbox/call.ts';

const CallRow = z.object({
  id: z.string(),
  fromNumber: z.string(),
  toNumber: z.string(),
  surface: z.string(),
  status: Call.shape.status,
  requestedAt: z.date(),
  answeredAt: z.date().nullable(),
  endedAt: z.date().nullable(),
  durationSec: z.number().nullable(),
  billedSec: z.number().nullable(),
  billedCents: z.number().nullable(),
  hangupCause: z.string().nullable(),
  recordingId: z.string().nullable(),
  recordingName: z.string().nullable(),
  recordingAt: z.date().nullable(),
  recordingFailure: z.string().nullable(),
});
type CallRow = z.infer<typeof CallRow>;

const CALLS = sql.fragment`
  select c.*, r.id recording_id, r.name recording_name, r.created_at recording_at, f.failure recording_failure
  from calls c
  left join attachments r on r.workspace_id = c.workspace_id and r.call_id = c.id and r.status = 'stored' and c.ended_at is not null
  left join attachments f on f.workspace_id = c.workspace_id and f.call_id = c.id and f.status = 'failed'`;

/** The calls from or to any of these numbers, newest first. @param numbers in E.164. */
export async function findCalls(
  db: TenantDb,
  numbers: readonly string[],
  { limit, withRecordingOnly }: { limit: number; withRecordingOnly: boolean },
): Promise<CallRow[]> {
  const wanted = sql.array([...numbers], 'text');
  const rows = await db.any(sql.type(CallRow)`
    ${CALLS} where c.workspace_id = ${db.workspaceId} and (c.to_number = any(${wanted}) or c.from_number = any(${wanted}))
      and (${!withRecordingOnly} or r.id is not null)
    order by c.requested_at desc, c.id desc limit ${limit}`);
  return [...rows];
}

/** By their ids, in any order. */
export async function findCallsById(db: TenantDb, ids: readonly string[]): Promise<readonly CallRow[]> {
  return db.any(sql.type(CallRow)`
    ${CALLS} where c.workspace_id = ${db.workspaceId} and c.id = any(${sql.array([...ids], 'text')})`);
}

/** The calls from or to any of these numbers, by id, after the id `after`. */
export async function callsOf(
  db: TenantDb,
  numbers: readonly string[],
  { limit, after }: { limit: number; after: string },
): Promise<readonly CallRow[]> {
  const wanted = sql.array([...numbers], 'text');
  return db.any(sql.type(CallRow)`
    ${CALLS} where c.workspace_id = ${db.workspaceId} and (c.to_number = any(${wanted}) or c.from_number = any(${wanted}))
      and c.id > ${after}
    order by c.id limit ${limit}`);
}

/** What is known of a call itself. */
export const presentParties = (row: CallRow): Omit<Call, 'recordingUrl' | 'recordingFailure'> => ({
  callId: row.id,
  from: row.fromNumber,
  to: row.toNumber,
  surface: row.surface,
  status: row.status,
  requestedAt: row.requestedAt.toISOString(),
  ...(row.answeredAt !== null && { answeredAt: row.answeredAt.toISOString() }),
  ...(row.endedAt !== null && { endedAt: row.endedAt.toISOString() }),
  ...(row.durationSec !== null && { durationSec: row.durationSec }),
  ...(row.billedSec !== null && { billedSec: row.billedSec }),
  ...(row.billedCents !== null && { billedCents: row.billedCents }),
  ...(row.hangupCause !== null && { hangupCause: row.hangupCause }),
});

export function presentCall(workspaceId: string, row: CallRow, links: FileLinks, now: Date): Call {
  const { recordingId, recordingName, recordingAt, recordingFailure } = row;
  return {
    ...presentParties(row),
    recordingUrl:
      recordingId === null || recordingName === null || recordingAt === null
        ? null
        : links.sign(
            { workspaceId, attachmentId: recordingId, name: linkName(recordingName) },
            linkExpiry(recordingAt, now, REPLY_LINK_DAYS),
          ),
    ...(recordingFailure !== null && { recordingFailure }),
  };
}
