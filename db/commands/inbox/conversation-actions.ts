import { sql } from 'slonik';
import { z } from 'zod';
import { Refusal } from '#domain/base/refusal.ts';
import { newId } from '#domain/base/ids.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import type { CapabilitiesOf } from '#domain/lines/capability.ts';
import { type MessageAction, TYPING_MS, TYPING_WITHIN_MS } from '#domain/messages/message-action.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { ANSWER_SOURCES } from '#db/commands/drafts/draft-events.ts';
import { isOptedOutOrSuppressed } from '#db/commands/messages/message-actions.ts';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import {
  hasReadReceipt,
  insertAction,
  moveAction,
  openTyping,
} from '#db/queries/messages/message-actions.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

/** A later action of this kind would say something that is no longer true. */
const TYPING_EXPIRES_MS = 10_000;
const STOP_EXPIRES_MS = 60_000;
const READ_EXPIRES_MS = 24 * 3_600_000;

const HeardRow = z.object({ id: z.string(), lineId: z.string(), receivedAt: z.date() });
type Heard = z.infer<typeof HeardRow>;

/** The last message of a contact; null if there is none. */
const lastHeard = (db: TenantDb, address: string): Promise<Heard | null> =>
  db.maybeOne(sql.type(HeardRow)`
    select id, line_id, received_at from inbound_messages
    where workspace_id = ${db.workspaceId} and address = ${address} and not auto_reply
    order by received_at desc, id desc limit 1`);

interface Wanted {
  line: LineRow;
  messageId: string;
  action: MessageAction;
  actorName: string | null;
  dueAt: Date;
  expiresAt: Date;
}

async function ask(db: TenantDb, { line, ...action }: Wanted, now: Date): Promise<void> {
  await insertAction(db, { id: newId(now), lineId: line.id, ...action });
  wake(db, linePacerId(line.id), action.dueAt, 'messagesDue');
}

const after = (time: Date, ms: number): Date => new Date(time.getTime() + ms);

/**
 * Shows a contact who has just written that somebody types, or no longer does. It ends by itself. Requires the conversation's lock.
 * @throws Refusal: INVALID_STATE, UNSUPPORTED_BY_CARRIER
 */
export async function showTyping(
  db: TenantDb,
  { address, isOn, actorName }: { address: string; isOn: boolean; actorName: string | null },
  capabilitiesOf: CapabilitiesOf,
  now: Date,
): Promise<void> {
  if (isGroupAddress(address))
    throw new Refusal('INVALID_STATE', null, 'Groups are not shown that somebody types');
  const heard = await lastHeard(db, address);
  if (!heard || after(heard.receivedAt, TYPING_WITHIN_MS) <= now)
    throw new Refusal('INVALID_STATE', null, 'The contact has not written within 5 minutes');
  if (await isOptedOutOrSuppressed(db, address))
    throw new Refusal('INVALID_STATE', null, 'The contact may not be written to');
  const line = await findLine(db, heard.lineId);
  if (!line || !capabilitiesOf(line).includes('typing'))
    throw new Refusal('UNSUPPORTED_BY_CARRIER', null, null, { capability: 'typing' });
  const endsAt = isOn ? after(now, TYPING_MS) : now;
  const end = await openTyping(db, { lineId: line.id, address });
  if (end) {
    await moveAction(db, end, { dueAt: endsAt, expiresAt: after(endsAt, STOP_EXPIRES_MS) });
    wake(db, linePacerId(line.id), endsAt, 'messagesDue');
    return;
  }
  if (!isOn) return;
  await typeOn(db, line, { messageId: heard.id, actorName, from: now, until: endsAt }, now);
}

async function typeOn(
  db: TenantDb,
  line: LineRow,
  { from, until, ...about }: { messageId: string; actorName: string | null; from: Date; until: Date },
  now: Date,
): Promise<void> {
  const start = {
    action: { kind: 'typing', on: true },
    dueAt: from,
    expiresAt: after(from, TYPING_EXPIRES_MS),
  } as const;
  const end = {
    action: { kind: 'typing', on: false },
    dueAt: until,
    expiresAt: after(until, STOP_EXPIRES_MS),
  } as const;
  await ask(db, { line, ...about, ...start }, now);
  await ask(db, { line, ...about, ...end }, now);
}

/** Has the line type before it sends a message of ours. */
export const typeBefore = (
  db: TenantDb,
  line: LineRow,
  messageId: string,
  times: { from: Date; until: Date },
  now: Date,
): Promise<void> => typeOn(db, line, { messageId, actorName: null, ...times }, now);

/** Shows a contact that a member has opened the conversation, if the line that they wrote to tells that. */
export async function sendReadReceipt(
  db: TenantDb,
  address: string,
  actorName: string | null,
  now: Date,
): Promise<void> {
  const heard = isGroupAddress(address) ? null : await lastHeard(db, address);
  if (!heard) return;
  const line = await findLine(db, heard.lineId);
  if (line?.readReceipts === 'on_open') await tellRead(db, line, heard, actorName, now);
}

/** Shows contacts whom a member has answered that their messages were read, if the line tells that. */
export async function sendReadReceipts(db: TenantDb, sent: readonly MessageRow[], now: Date): Promise<void> {
  for (const { source, lineId, address } of sent) {
    if (!ANSWER_SOURCES.has(source) || lineId === null || isGroupAddress(address)) continue;
    const line = await findLine(db, lineId);
    if (!line || line.readReceipts === 'off') continue;
    const heard = await lastHeard(db, address);
    if (heard?.lineId === lineId) await tellRead(db, line, heard, null, now);
  }
}

async function tellRead(
  db: TenantDb,
  line: LineRow,
  { id: messageId }: Heard,
  actorName: string | null,
  now: Date,
): Promise<void> {
  if (await hasReadReceipt(db, messageId)) return;
  const expiresAt = after(now, READ_EXPIRES_MS);
  await ask(db, { line, messageId, action: { kind: 'read' }, actorName, dueAt: now, expiresAt }, now);
}
