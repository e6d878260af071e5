import { sql } from 'slonik';
import type { Channel } from '#domain/base/channel.ts';
import { linePacerId, lineRequestId, mailboxReaderId } from '#workflows/protocol/workflow-ids.ts';
import { recordRepliesArrive } from './inbox-health.ts';
import { recordProbe } from './line-health.ts';
import { initInboxPosition } from '#db/queries/lines/line-inboxes.ts';
import { setIdentity } from '#db/queries/lines/line-requests.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

/**
 * Connects a line to a carrier that was just probed successfully. Requires `beginLineChange`.
 * @param carrierConfig with encrypted secrets.
 */
export async function connectLine(
  db: TenantDb,
  line: { id: string; channel: Channel },
  connection: {
    carrier: string;
    carrierConfig: Record<string, unknown>;
    address: string;
    /** The initial position of its inbox, if it has one. */
    inboxPosition: string | null;
  },
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set carrier = ${connection.carrier} where workspace_id = ${db.workspaceId} and id = ${line.id}`);
  await setIdentity(db, line.id, { ...connection, channel: line.channel });
  await recordProbe(db, line.id, true, now);
  await recordRepliesArrive(db, line.id);
  if (connection.inboxPosition !== null) {
    await initInboxPosition(db, line.id, connection.inboxPosition);
    wake(db, mailboxReaderId(line.id), now, 'connected');
  }
  // A line request may wait for the connection; the pacer may wait for recovery, or on another carrier's queue.
  wake(db, lineRequestId(line.id), now, 'connected');
  wake(db, linePacerId(line.id), now, 'connected');
}

/** Records another address of the server of a line. @param carrierConfig with encrypted secrets, as they are stored. */
export async function moveServer(
  db: TenantDb,
  lineId: string,
  carrierConfig: Record<string, unknown>,
  now: Date,
): Promise<void> {
  const url = String(carrierConfig['url']);
  // Only if nobody has connected it to another server meanwhile.
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines set carrier_config = carrier_config || ${sql.jsonb({ url })}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${lineId}
      and carrier_config - 'url' = ${sql.jsonb(carrierConfig as Record<string, string>)} - 'url'`);
  if (rowCount === 0) return;
  wake(db, mailboxReaderId(lineId), now, 'connected');
  wake(db, linePacerId(lineId), now, 'connected');
}
