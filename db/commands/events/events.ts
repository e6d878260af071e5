import { crmConnectionIds } from '#db/queries/crm/crm-connections.ts';
import { DELIVERS } from '#db/queries/events/webhooks.ts';
import { sql } from 'slonik';
import { receivingCrms } from '#domain/crm/change.ts';
import type { DeliveredEvent, EventName } from '#domain/events/event.ts';
import type { EventPayload } from '#domain/events/payloads.ts';
import { subjectOf } from '#domain/events/subject.ts';
import { newId } from '#domain/base/ids.ts';
import { crmConnectionId, webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake, wakeSelf } from '#db/wakes/wakes.ts';

/** The whole JSON body that subscribers receive. */
export type NewEvent = EventPayload<EventName>;

/** null: the event is not about a message. */
const messageOf = (event: NewEvent): string | null => ('messageId' in event ? event.messageId : null);

/**
 * Writes events to the outbox, with one delivery for each subscribed webhook. Call it in the transaction that made the
 * change.
 * @param to a webhook that gets them even if it does not subscribe to them.
 */
export async function emitEvents(
  db: TenantDb,
  events: readonly NewEvent[],
  now: Date,
  { to = null }: { to?: string | null } = {},
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => [
    // In real time, also in test mode, because the partitions of events and deliveries are days in real time.
    newId(),
    event.event,
    messageOf(event),
    JSON.stringify(event),
  ]);
  const names = sql.unnest(
    events.map((event, index) => {
      const { lineId, campaignId, leadId, address } = subjectOf(event);
      return [
        rows[index]?.[0] ?? null,
        event.event,
        lineId,
        campaignId,
        leadId,
        address,
        receivingCrms(event),
      ];
    }),
    ['text', 'text', 'text', 'text', 'text', 'text', 'text'],
  );
  const hasCrmEvents = events.some((event) => receivingCrms(event) !== null);
  const { rowCount } = await db.query(sql.type(NoRows)`
    with written as (
      insert into events (workspace_id, id, event, message_id, body)
      select ${db.workspaceId}, e.id, e.event, e.message_id, e.body
      from ${sql.unnest(rows, ['text', 'text', 'text', 'text'])} as e (id, event, message_id, body)
      ${ROWS_INSERTED}
    ), emitted as (
      -- To be published to streams (publish-events.ts).
      insert into emitted_events (workspace_id, id) select ${db.workspaceId}, e.id from ${names} as e (id) order by e.id
      ${ROWS_INSERTED}
    ) ${hasCrmEvents ? toCrms(db, names) : sql.fragment``}
    insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event)
    -- In the order of their events: by this id deliveries are claimed and listed.
    select ${db.workspaceId}, substr(e.id, 1, 12) || right(e.id, 4) || left(md5(e.id || h.id), 8), h.id, e.id, e.event
    from ${names} as e (id, event, line_id, campaign_id, lead_id, address, crms)
    join webhooks h on h.workspace_id = ${db.workspaceId} and ${DELIVERS}
      and (h.id = ${to} or ((e.event = any (h.events) or e.event like 'message.%' and 'message.*' = any (h.events))
      and (h.line_ids = '{}' or e.line_id = any (h.line_ids))
      and (h.campaign_ids = '{}' or e.campaign_id = any (h.campaign_ids))
      and (h.tags = '{}' or exists (
        select from conversations c, unnest(c.tags) tag, unnest(h.tags) asked
        where c.workspace_id = ${db.workspaceId} and c.address = e.address and lower(tag) = lower(asked))
        or exists (
        select from leads l, unnest(l.tags) tag, unnest(h.tags) asked
        where l.workspace_id = ${db.workspaceId} and l.id = e.lead_id and lower(tag) = lower(asked)))))
    returning null`);
  db.wakes.withEvents.add(db.workspaceId);
  if (rowCount > 0) wake(db, webhookDispatcherId(db.workspaceId), now, 'deliveriesDue');
  // One that was connected a moment ago receives them at its next look.
  if (hasCrmEvents) for (const id of await recentCrmConnections(db)) wakeSelf(db, crmConnectionId(id), now);
}

/** For how long a process relies on what it has read. */
const KNOWN_MS = 10_000;
const MAX_KNOWN = 10_000;
const known = new Map<string, { ids: readonly string[]; until: number }>();

/** The connected CRMs of a workspace, as they were ten seconds ago or later, so that what happens often does not ask for them each time. */
async function recentCrmConnections(db: TenantDb): Promise<readonly string[]> {
  const now = performance.now();
  const recent = known.get(db.workspaceId);
  if (recent && recent.until > now) return recent.ids;
  const ids = await crmConnectionIds(db);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(db.workspaceId, { ids, until: now + KNOWN_MS });
  return ids;
}

/** Queues events for connected CRMs. One that has refused its token for so long receives nothing more. */
const toCrms = (db: TenantDb, names: ReturnType<typeof sql.unnest>) => sql.fragment`, pushed as (
      insert into crm_outbox (workspace_id, connection_id, event_id)
      select ${db.workspaceId}, c.id, e.id
      from ${names} as e (id, event, line_id, campaign_id, lead_id, address, crms)
      join crm_connections c on c.workspace_id = ${db.workspaceId}
        and (c.failing_since is null or c.failing_since > now() - interval '30 days')
      where e.crms = 'all' or (e.crms = 'creating' and c.create_contacts)
      order by c.id, e.id
      ${ROWS_INSERTED}
    )`;

/** Inserts the event of a delivery that does not come from a subscription. Streams do not show it. @returns its id. */
export async function insertEvent(db: TenantDb, event: DeliveredEvent, body: string): Promise<string> {
  const id = newId();
  await db.query(sql.type(NoRows)`
    insert into events (workspace_id, id, event, body) values (${db.workspaceId}, ${id}, ${event}, ${body})`);
  return id;
}
