import { sql } from 'slonik';
import type { Channel } from '#domain/channel.ts';
import { linePacerId, lineRequestId, mailboxReaderId } from '#workflows/messages/wake.ts';
import { recordProbe } from './line-health.ts';
import { beginInbox } from '#db/queries/line-inboxes.ts';
import { setIdentity } from '#db/queries/line-requests.ts';
import { Nothing, type TenantDb } from '#db/pool.ts';
import { requestWake } from '#db/wakes.ts';

/**
 * Connects a line that is held (`holdLine`) to a carrier whose probe has just succeeded.
 * @param carrierConfig with its secrets sealed
 * @returns the workflows to be woken after the commit.
 */
export async function connectLine(
  db: TenantDb,
  line: { id: string; channel: Channel },
  connection: {
    carrier: string;
    carrierConfig: Record<string, unknown>;
    address: string;
    /** Where its inbox is read from, if it has one. */
    inboxPosition: string | null;
  },
  now: Date,
): Promise<string[]> {
  await db.query(sql.type(Nothing)`
    update lines set carrier = ${connection.carrier} where workspace_id = ${db.workspaceId} and id = ${line.id}`);
  await setIdentity(db, line.id, { ...connection, channel: line.channel });
  const probed = await recordProbe(db, line.id, true, now);
  const wakes = probed?.wakes ?? [];
  const workflows = [linePacerId(line.id), lineRequestId(line.id)];
  if (connection.inboxPosition !== null) {
    await beginInbox(db, line.id, connection.inboxPosition);
    workflows.push(mailboxReaderId(line.id));
  }
  // A request may wait for the connection; a pacer that waits for the line to recover, or sleeps at another carrier.
  for (const workflow of workflows) {
    if (await requestWake(db, workflow, now)) wakes.push(workflow);
  }
  return wakes;
}
