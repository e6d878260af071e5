import { sql } from 'slonik';
import { z } from 'zod';
import { complainsInText } from '#domain/lines/complaint.ts';
import { type DaySignals, type LineSignal, LINE_SIGNALS, SILENT_FROM } from '#domain/lines/line-signals.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

const counts = Object.fromEntries(LINE_SIGNALS.map((name) => [name, z.int()])) as Record<
  LineSignal,
  z.ZodInt
>;
const SignalsRow = z.object({ lineId: z.string(), day: z.string(), ...counts });

const comma = sql.fragment`, `;
const names = LINE_SIGNALS.map((name) => sql.identifier([name]));
const signalColumns = sql.join(names, comma);

/** The signals of lines since a UTC day, by line, oldest first. */
export async function findSignals(
  db: TenantDb,
  lineIds: readonly string[],
  since: string,
): Promise<Map<string, DaySignals[]>> {
  const rows = await db.any(sql.type(SignalsRow)`
    select line_id, day::text, ${signalColumns} from line_signals
    where workspace_id = ${db.workspaceId} and line_id = any(${sql.array([...lineIds], 'text')}) and day >= ${since}::date
    order by line_id, day`);
  const found = new Map<string, DaySignals[]>(lineIds.map((id) => [id, []]));
  for (const { lineId, ...signals } of rows) found.get(lineId)?.push(signals);
  return found;
}

const AnsweredRow = z.object({ openedOn: z.string().nullable(), unanswered: z.int().nullable() });

/** A contact's reply that is neither automatic nor an opt-out. Requires the lock of the conversation. */
export async function countReply(
  db: TenantDb,
  { lineId, address, text, at }: { lineId: string; address: string; text: string; at: Date },
): Promise<void> {
  const complains = complainsInText(text);
  if (complains) db.lineSignals.add(lineId, at, { complained: 1 });
  const { openedOn, unanswered } = await db.one(sql.type(AnsweredRow)`
    with conversation as (
      update line_contacts set opened_on = null
      from (select opened_on was from line_contacts
        where workspace_id = ${db.workspaceId} and line_id = ${lineId} and address = ${address} for no key update) old
      where workspace_id = ${db.workspaceId} and line_id = ${lineId} and address = ${address} and opened_on is not null
      returning old.was
    ), contact as (
      update conversations set unanswered = 0
      from (select unanswered was from conversations
        where workspace_id = ${db.workspaceId} and address = ${address} for no key update) old
      where workspace_id = ${db.workspaceId} and address = ${address} and unanswered > 0
      returning old.was
    )
    select (select was::text from conversation) opened_on, (select was from contact) unanswered`);
  if (complains) return;
  if (openedOn !== null) db.lineSignals.addToDay(lineId, openedOn, { answered: 1 });
  if (unanswered !== null && unanswered >= SILENT_FROM) db.lineSignals.add(lineId, at, { revived: 1 });
}

/** The signals of a line that moves to another workspace, where some may be left of an earlier stay. */
export async function moveSignals(db: SystemDb, lineId: string, from: string, to: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into line_signals as s (workspace_id, line_id, day, ${signalColumns})
    select ${to}, line_id, day, ${signalColumns} from line_signals where workspace_id = ${from} and line_id = ${lineId}
    on conflict (workspace_id, line_id, day) do update set ${sql.join(
      names.map((column) => sql.fragment`${column} = s.${column} + excluded.${column}`),
      comma,
    )}`);
  await db.query(sql.type(NoRows)`
    delete from line_signals where workspace_id = ${from} and line_id = ${lineId}`);
}

export async function deleteSignals(db: TenantDb, lineId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from line_signals where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
}
