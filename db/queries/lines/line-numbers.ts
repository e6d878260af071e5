import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

/** The number that a carrier allocates to a line in the operator's account; it may not be bought yet. */
const LineNumberRow = z.object({ carrier: z.string(), number: z.string(), chosenAt: z.date() });
export type LineNumber = z.infer<typeof LineNumberRow>;

export const findLineNumber = (db: TenantDb, lineId: string): Promise<LineNumber | null> =>
  db.maybeOne(sql.type(LineNumberRow)`
    select carrier, number, chosen_at from line_numbers
    where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);

/**
 * Records the number that is going to be bought for a line.
 * @returns false if the line is not being provisioned any more.
 */
export async function chooseLineNumber(
  db: TenantDb,
  lineId: string,
  { carrier, number, chosenAt }: LineNumber,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into line_numbers (workspace_id, line_id, carrier, number, chosen_at)
    select workspace_id, id, ${carrier}, ${number}, ${sql.timestamp(chosenAt)} from lines
    where workspace_id = ${db.workspaceId} and id = ${lineId} and provisioning_status = 'provisioning'
    for no key update
    on conflict (workspace_id, line_id) do nothing`);
  return rowCount > 0;
}

/** Forgets a number that was not bought or is released, also as the address of its line. */
export async function forgetLineNumber(db: TenantDb, lineId: string, number: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from line_numbers
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and number = ${number}`);
  await db.query(sql.type(NoRows)`
    update lines set phone = null, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${lineId} and phone = ${number} and provisioning_status <> 'active'`);
}

/** The number moves with its line. */
export async function moveLineNumber(db: SystemDb, lineId: string, from: string, to: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into line_numbers (workspace_id, line_id, carrier, number, chosen_at)
    select ${to}, line_id, carrier, number, chosen_at from line_numbers
    where workspace_id = ${from} and line_id = ${lineId}`);
  await db.query(sql.type(NoRows)`
    delete from line_numbers where workspace_id = ${from} and line_id = ${lineId}`);
}
