import { sql } from 'slonik';
import { ERASED_BODY } from '#domain/events/event.ts';
import { z } from 'zod';
import { isEventOf, lastEventId } from '#db/queries/inbox/contact-events.ts';
import { isRowOf } from '#db/queries/contacts/contact-export.ts';
import { isMessageOf, isReplyOf, texts } from '#db/queries/contacts/contacts.ts';
import { eitherForm, type Erasure, pseudonymOf, setEventsTo } from '#db/queries/contacts/erasures.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Contact } from '#domain/contacts/contact.ts';

/** Rows of a table that one transaction changes. */
const CHUNK = 200;

/** Rows that are erased together with their files. */
export interface Chunk {
  ids: readonly string[];
  /** Their files, which are deleted before the rows. */
  fileIds: readonly string[];
}

const ChunkRow = z.object({ id: z.string(), urls: z.array(z.string()) });

/** A draft without the texts of its other versions. */
const NO_VERSIONS = sql.fragment`former_versions = '[]', hint = null, retry_at = null, retry_hint = null, retry_error = null`;

/** Everything older than the start of the erasure belongs to the contact. */
const isOld = (erasure: Erasure, id: ReturnType<typeof sql.fragment>) => sql.fragment`${id} <= ${erasure.id}`;

/** The next messages to erase, except those with an open attempt. @returns them with the links to their files. */
export async function nextMessages(
  db: TenantDb,
  erasure: Erasure,
): Promise<readonly z.infer<typeof ChunkRow>[]> {
  return db.any(sql.type(ChunkRow)`
    select m.id, m.attachment_urls urls from messages m
    where ${isMessageOf(db, erasure)} and ${isOld(erasure, sql.fragment`m.id`)} and not starts_with(m.address, 'erased:')
      and ${isSettled(db)}
    order by m.id limit ${CHUNK}`);
}

const isSettled = (
  db: TenantDb,
) => sql.fragment`m.status not in ('pending', 'scheduled', 'sending') and not exists (
  select from attempts t where t.workspace_id = ${db.workspaceId} and t.message_id = m.id and t.outcome is null)`;

/** A campaign may have entered the contact while it was erased. */
export async function cancelLate(db: TenantDb, erasure: Erasure): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages m set status = 'canceled', hold_reason = 'lead_deleted', held = false, updated_at = now()
    where ${isMessageOf(db, erasure)} and ${isOld(erasure, sql.fragment`m.id`)} and m.status in ('pending', 'scheduled')`);
}

/** Whether a message of the contact has an attempt without an outcome. */
export async function hasUnderWay(db: TenantDb, erasure: Erasure): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select from messages m
    where ${isMessageOf(db, erasure)} and ${isOld(erasure, sql.fragment`m.id`)} and not starts_with(m.address, 'erased:')
      and not (${isSettled(db)})`);
}

const FileRow = z.object({ id: z.string() });

/**
 * The files that are also needed otherwise: by messages of other contacts, waiting messages, campaigns, and the contact cards of lines. By
 * their ids, because each message may have a link of its own to a file.
 */
export async function sharedFiles(
  db: TenantDb,
  contact: Contact,
  fileIds: readonly string[],
): Promise<readonly string[]> {
  if (fileIds.length === 0) return [];
  const fileIn = (link: ReturnType<typeof sql.fragment>) =>
    sql.fragment`substring(${link} from '/attachments/[^/]+/([^/]+)/')`;
  const ofOthers = sql.fragment`
    select ${fileIn(sql.fragment`u.link`)} from messages m, unnest(m.attachment_urls) as u (link)
    where m.workspace_id = ${db.workspaceId} and m.attachment_urls <> '{}' and not ${isMessageOf(db, contact)}`;
  return db.anyFirst(sql.type(FileRow)`
    select f.id from unnest(${texts(fileIds)}) as f (id)
    where f.id in (
      ${ofOthers} and m.sent_at is not null
      union all
      ${ofOthers} and (m.status in ('pending', 'scheduled', 'sending') or m.fallback_sms = 'due')
      union all
      select ${fileIn(sql.fragment`u.link`)} from drip_buffer b, jsonb_array_elements_text(b.draft -> 'attachmentUrls') as u (link)
      where b.workspace_id = ${db.workspaceId}
      union all
      select ${fileIn(sql.fragment`u.link #>> '{}'`)} from campaigns c, jsonb_path_query(c.steps, '$.**.attachmentUrls[*]') as u (link)
      where c.workspace_id = ${db.workspaceId}
      union all
      select l.contact_card ->> 'fileId' from lines l where l.workspace_id = ${db.workspaceId})`);
}

/** Deletes the rows of files that are already deleted, and of the voice notes made from them. */
async function forgetFiles(db: TenantDb, fileIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from attachments
    where workspace_id = ${db.workspaceId} and (id = any(${texts(fileIds)}) or voice_note_of = any(${texts(fileIds)}))`);
}

/** What we did to messages, or were about to do. */
async function forgetActions(db: TenantDb, messageIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from message_actions where workspace_id = ${db.workspaceId} and message_id = any(${texts(messageIds)})`);
}

/** Keeps the kind, times and outcome of messages, but neither recipients nor texts. */
export async function eraseMessages(db: TenantDb, erasure: Erasure, { ids, fileIds }: Chunk): Promise<void> {
  await forgetFiles(db, fileIds);
  await db.query(sql.type(NoRows)`
    update attempts t set address = ${pseudonymOf(erasure, sql.fragment`t.address`, sql.fragment`t.message_id`)},
      reason = reason_code(t.reason)
    where t.workspace_id = ${db.workspaceId} and t.message_id = any(${texts(ids)})`);
  await forgetActions(db, ids);
  await db.query(sql.type(NoRows)`
    delete from message_links where workspace_id = ${db.workspaceId} and message_id = any(${texts(ids)})`);
  await db.query(sql.type(NoRows)`
    delete from drip_claims where workspace_id = ${db.workspaceId}
      and message_id in (select decode(id, 'hex') from unnest(${texts(ids)}) as i (id))`);
  await db.query(sql.type(NoRows)`
    update messages m set address = ${pseudonymOf(erasure, sql.fragment`m.address`, sql.fragment`m.id`)},
      recipient_phone = null, recipient_email = null, recipient_name = null, body = '', sent_text = null, subject = null, sent_subject = null,
      attachment_urls = '{}', attachment_names = '{}', recipient_zones = null, recipient_region = null, sms_fallback_message = null, send_fallback_sms_on_failed = false,
      sms_fallback_enabled = false, crm = '{}', correlation_id = null, trace_id = null, batch_id = null, reactions = '[]',
      error_message = reason_code(m.error_message),
      fallback_sms = case when m.fallback_sms = 'due' then 'failed' else m.fallback_sms end
    where m.workspace_id = ${db.workspaceId} and m.id = any(${texts(ids)}) and m.status <> 'sending'`);
  await db.query(sql.type(NoRows)`
    update personalizations set error = case when error is not null then 'erased' end
    where workspace_id = ${db.workspaceId} and message_id = any(${texts(ids)})`);
}

const IdsRow = z.object({ ids: z.array(z.string()), fileIds: z.array(z.string()) });

export async function nextReplies(db: TenantDb, erasure: Erasure): Promise<Chunk> {
  return db.one(sql.type(IdsRow)`
    with next as materialized (
      select i.id from inbound_messages i
      where ${isReplyOf(db, erasure)} and ${isOld(erasure, sql.fragment`i.id`)} and not starts_with(i.address, 'erased:')
      order by i.id limit ${CHUNK}
    )
    select array(select id::text from next) ids, array(
      select a.id::text from attachments a
      where a.workspace_id = ${db.workspaceId} and a.inbound_message_id in (select id from next)) file_ids`);
}

/** Replies with the copilot's drafts that answer them. */
export async function eraseReplies(db: TenantDb, erasure: Erasure, { ids, fileIds }: Chunk): Promise<void> {
  await forgetFiles(db, fileIds);
  await forgetActions(db, ids);
  await db.query(sql.type(NoRows)`
    update ai_drafts d set address = ${pseudonymOf(erasure, sql.fragment`d.address`, sql.fragment`d.reply_id`)}, draft = null,
      ${NO_VERSIONS}, error = case when error is not null then 'erased' end
    where d.workspace_id = ${db.workspaceId} and d.reply_id = any(${texts(ids)})`);
  await db.query(sql.type(NoRows)`
    update inbound_messages i set address = ${pseudonymOf(erasure, sql.fragment`i.address`, sql.fragment`i.id`)}, body = '',
      participant = null, subject = null, sender_name = null, authentication = null, email_references = null,
      former_texts = '[]', whole_text = null, transcript = null, reactions = '[]',
      announced_at = least(announced_at, now()),
      -- An email that is read again is recognized by its own id. Some senders write their address into it.
      carrier_message_id = case when exists (
          select from unnest(${texts(erasure.addresses)}) as n (name) where strpos(lower(i.carrier_message_id), n.name) > 0)
        then erased_id(i.carrier_message_id) else i.carrier_message_id end
    where i.workspace_id = ${db.workspaceId} and i.id = any(${texts(ids)})`);
}

/** Drafts that the copilot did not write, which may not answer a reply. */
export async function eraseWrittenDrafts(db: TenantDb, erasure: Erasure): Promise<void> {
  await db.query(sql.type(NoRows)`
    update ai_drafts d set address = ${pseudonymOf(erasure, sql.fragment`d.address`, sql.fragment`d.reply_id`)}, draft = null,
      ${NO_VERSIONS}
    where d.workspace_id = ${db.workspaceId} and d.source <> 'copilot' and d.address = any(${texts(erasure.addresses)})
      and ${isOld(erasure, sql.fragment`d.reply_id`)}`);
}

export async function nextCalls(db: TenantDb, { id, addresses }: Erasure): Promise<Chunk> {
  return db.one(sql.type(IdsRow)`
    with next as materialized (
      select c.id from calls c
      where c.workspace_id = ${db.workspaceId} and c.id <= ${id}
        and (c.from_number = any(${texts(addresses)}) or c.to_number = any(${texts(addresses)}))
      order by c.id limit ${CHUNK}
    )
    select array(select id::text from next) ids, array(
      select a.id::text from attachments a
      where a.workspace_id = ${db.workspaceId} and a.call_id in (select id from next)) file_ids`);
}

export async function eraseCalls(db: TenantDb, erasure: Erasure, { ids, fileIds }: Chunk): Promise<void> {
  const erased = (column: 'from_number' | 'to_number') => {
    const number = sql.fragment`c.${sql.identifier([column])}`;
    return sql.fragment`case when ${number} = any(${texts(erasure.addresses)})
      then ${pseudonymOf(erasure, number, sql.fragment`c.id`)} else ${number} end`;
  };
  await forgetFiles(db, fileIds);
  await db.query(sql.type(NoRows)`
    update calls c set from_number = ${erased('from_number')}, to_number = ${erased('to_number')}
    where c.workspace_id = ${db.workspaceId} and c.id = any(${texts(ids)})`);
}

export async function eraseRejectedRows(db: TenantDb, erasure: Erasure): Promise<void> {
  await db.query(sql.type(NoRows)`delete from rejected_rows r where ${isRowOf(db, erasure)}`);
}

/** What rules did about the contact, or were about to do, and when tags were added. */
export async function eraseRuleRuns(db: TenantDb, erasure: Erasure): Promise<void> {
  for (const table of ['rule_runs', 'added_tags'])
    await db.query(sql.type(NoRows)`
      delete from ${sql.identifier([table])} r
      where r.workspace_id = ${db.workspaceId} and r.address = any(${texts(erasure.addresses)})
        and ${isOld(erasure, sql.fragment`r.id`)}`);
}

/** What the autopilot would have written to the contact. */
export async function eraseAutopilotCases(db: TenantDb, { addresses }: Erasure): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from autopilot_cases where workspace_id = ${db.workspaceId} and address = any(${texts(addresses)})`);
}

/** Messages sent to the contact in test mode. */
export async function eraseTestSends(db: TenantDb, { addresses }: Erasure): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from test_sends where workspace_id = ${db.workspaceId} and recipient = any(${texts(addresses)})`);
}

/** Carrier events about the contact that could not be applied yet, and the ids of emails that name the contact. */
export async function eraseCarrierEvents(db: TenantDb, { addresses }: Erasure): Promise<void> {
  const named = (text: ReturnType<typeof sql.fragment>) => sql.fragment`exists (
    select from unnest(${texts(addresses)}) as n (name) where strpos(lower(${text}), n.name) > 0)`;
  await db.query(sql.type(NoRows)`
    update carrier_events e set waiting = null
    where e.workspace_id = ${db.workspaceId} and e.waiting is not null and ${named(sql.fragment`e.waiting::text`)}`);
  await db.query(sql.type(NoRows)`
    update carrier_events e set event_id = erased_id(e.event_id)
    where e.workspace_id = ${db.workspaceId} and ${named(sql.fragment`e.event_id`)}`);
}

/**
 * Erases the contact's events among the next events of the workspace, and cancels their pending deliveries.
 * @returns false after the last event.
 */
export async function eraseEvents(db: TenantDb, erasure: Erasure): Promise<boolean> {
  const last = await lastEventId(db, erasure.eventsTo);
  if (last === null) return false;
  const range = { after: erasure.eventsTo, last };
  // Later events are about a new contact, unless they are about an old message.
  await db.query(sql.type(NoRows)`
    with erased as (
      update events e set body = ${ERASED_BODY}
      where ${isEventOf(db, eitherForm(erasure), range)} and e.body <> ${ERASED_BODY}
        and (e.id <= ${erasure.id} or e.message_id <= ${erasure.id})
      returning e.id
    )
    update webhook_deliveries d set status = 'done', response_body = null,
      success = case when d.status = 'pending' then false else d.success end,
      error = case when d.status = 'pending' then 'erased' else d.error end,
      latency_ms = case when d.status = 'pending' then 0 else d.latency_ms end
    from erased
    where d.workspace_id = ${db.workspaceId} and d.event_id = erased.id
      and (d.status = 'pending' or d.response_body is not null)
      and d.id between left(erased.id, 12) || repeat('0', 12) and left(erased.id, 12) || repeat('f', 12)`);
  await setEventsTo(db, erasure.id, last);
  return true;
}
