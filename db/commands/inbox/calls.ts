import { sql } from 'slonik';
import { z } from 'zod';
import { CALL_PROGRESS } from '#domain/inbox/call.ts';
import { type CallRecording, fileNameInUrl, type InboundCall } from '#domain/lines/carrier-event.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { newId } from '#domain/base/ids.ts';
import { phoneOf } from '#domain/base/phone.ts';
import { attachmentFetcherId } from '#workflows/protocol/workflow-ids.ts';
import { deferEvent, takeDeferredEvents } from './carrier-events.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { findCallsById, presentParties } from '#db/queries/inbox/calls.ts';
import { triggerRules } from './rule-triggers.ts';
import { senderAddress } from '#db/queries/contacts/contact-address.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

const PartiesRow = IdRow.extend({ fromNumber: z.string(), toNumber: z.string() });

const CallRow = PartiesRow.extend({ isMissed: z.boolean() });

/** Whether a number is that of a line, which places calls, and is no contact. */
const isOurs = (db: TenantDb, number: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from lines where workspace_id = ${db.workspaceId} and phone = ${number}`);

/** Advances a call. A late event fills in missing fields and never moves the call back. */
export async function applyCall(db: TenantDb, lineId: string, event: InboundCall, now: Date): Promise<void> {
  const { callId, status, at } = event;
  const ends = status === 'billed' || status === 'failed';
  // Some carriers report only the end of a call.
  const talkBegan =
    status === 'billed' && event.durationSec !== undefined
      ? new Date(at.getTime() - event.durationSec * 1000)
      : null;
  const answeredAt = status === 'answered' ? at : talkBegan;
  // Default: the talk time is billed.
  const billedSec = event.billedSec ?? (status === 'billed' ? event.durationSec : undefined);
  const from = await senderAddress(db, event.from);
  const to = await senderAddress(db, event.to);
  const endedBefore = await db.exists(sql.type(NoRows)`
    select from calls where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_call_id = ${callId}
      and ended_at is not null`);
  const isAdvance = sql.fragment`${progress('excluded')} > ${progress('calls')}`;
  const { id, fromNumber, toNumber, isMissed } = await db.one(sql.type(CallRow)`
    insert into calls (workspace_id, id, line_id, carrier_call_id, from_number, to_number, surface, status, requested_at,
      answered_at, ended_at, duration_sec, billed_sec, billed_cents, hangup_cause)
    values (${db.workspaceId}, ${newId(now)}, ${lineId}, ${callId}, ${from}, ${to}, 'carrier', ${status},
      ${sql.timestamp(talkBegan ?? at)}, ${answeredAt && sql.timestamp(answeredAt)}, ${ends ? sql.timestamp(at) : null}, ${event.durationSec ?? null},
      ${billedSec ?? null}, ${event.billedCents ?? null}, ${event.hangupCause ?? null})
    on conflict (workspace_id, line_id, carrier_call_id) do update set
      status = case when ${isAdvance} then excluded.status else calls.status end,
      requested_at = least(calls.requested_at, excluded.requested_at),
      answered_at = case when excluded.status = 'answered' then excluded.answered_at
        else coalesce(calls.answered_at, excluded.answered_at) end,
      ended_at = coalesce(calls.ended_at, excluded.ended_at),
      -- Some carriers report only when it was answered and when it ended.
      duration_sec = coalesce(calls.duration_sec, excluded.duration_sec,
        extract(epoch from excluded.ended_at - calls.answered_at)::double precision),
      billed_sec = coalesce(calls.billed_sec, excluded.billed_sec),
      billed_cents = coalesce(calls.billed_cents, excluded.billed_cents),
      hangup_cause = coalesce(calls.hangup_cause, excluded.hangup_cause)
    returning id, from_number, to_number, status = 'failed' and answered_at is null is_missed`);
  if (isErased(fromNumber) || isErased(toNumber)) return;
  if (ends && !endedBefore) await emitCallEnded(db, lineId, id, now);
  if (ends && !endedBefore && isMissed && phoneOf(fromNumber) !== null && !(await isOurs(db, fromNumber)))
    await triggerRules(db, [{ on: 'missed_call', address: contactKey(fromNumber), lineId, callId: id }], now);
  for (const { event: early } of await takeDeferredEvents(db, [{ lineId, carrierMessageId: callId }]))
    if (early.kind === 'recording') await recordRecording(db, id, early.recordingUrl, now);
  if (event.recordingUrl !== undefined) await recordRecording(db, id, event.recordingUrl, now);
}

async function emitCallEnded(db: TenantDb, lineId: string, id: string, now: Date): Promise<void> {
  const events = (await findCallsById(db, [id])).map((row) => ({
    event: 'call.ended' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    callId: id,
    lineId,
    call: presentParties(row),
  }));
  await emitEvents(db, events, now);
}

/** Records the recording of a call. An event that arrives before the call is kept until then. */
export async function applyRecording(
  db: TenantDb,
  lineId: string,
  event: CallRecording,
  now: Date,
): Promise<void> {
  const call = await db.maybeOne(sql.type(PartiesRow)`
    select id, from_number, to_number from calls
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_call_id = ${event.callId}`);
  if (call && (isErased(call.fromNumber) || isErased(call.toNumber))) return;
  if (call) await recordRecording(db, call.id, event.recordingUrl, now);
  else await deferEvent(db, { lineId, event });
}

const progress = (row: string) =>
  sql.fragment`(${sql.jsonb(CALL_PROGRESS)} ->> ${sql.identifier([row, 'status'])})::int`;

/** Records the first recording of a call, to be fetched later; further ones are ignored. */
async function recordRecording(db: TenantDb, callId: string, url: string, now: Date): Promise<void> {
  const name = fileNameInUrl(url) || 'recording';
  await db.query(sql.type(NoRows)`
    insert into attachments (workspace_id, id, name, status, call_id, told_at, source_url, try_at, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${name}, 'waiting', ${callId}, ${sql.timestamp(now)}, ${url}, ${sql.timestamp(now)},
      ${sql.timestamp(now)})
    on conflict (workspace_id, call_id) where call_id is not null do nothing`);
  wake(db, attachmentFetcherId(db.workspaceId), now, 'filesDue');
}
