import { sql } from 'slonik';
import { draftForReply } from '#db/commands/drafts/ai-drafts.ts';
import { suspectOptOut } from '#db/commands/contacts/opt-out-suspicions.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findDraft } from '#db/queries/drafts/ai-drafts.ts';
import { findReply, type InboundRow } from '#db/queries/inbox/replies.ts';
import { settleTranscript, type Untranscribed } from '#db/queries/messages/transcripts.ts';
import { lockContact, lockConversation } from '#db/queries/sending/message-locks.ts';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import { optOutSuspicion } from '#domain/contacts/doubtful-opt-out.ts';
import { isErased } from '#domain/contacts/erasure.ts';

/**
 * Stores what was heard in a contact's audio. A message without a text gets its draft now. A model may mishear, so nobody is opted out:
 * even the keyword is a suspicion, about which a person decides.
 */
export async function receiveTranscript(
  db: TenantDb,
  { id, replyId }: Untranscribed,
  text: string,
  now: Date,
): Promise<void> {
  const found = await findReply(db, replyId);
  if (!found || isErased(found.address)) return;
  await lockConversation(db, found.address);
  if (!(await settleTranscript(db, id, null)) || text === '') return;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update inbound_messages set transcript = concat_ws(E'\n', transcript, ${text}::text)
    where workspace_id = ${db.workspaceId} and id = ${replyId} and not starts_with(address, 'erased:')
      and unsent_at is null`);
  // The contact has withdrawn it.
  if (rowCount === 0) return;
  const heard = { id: replyId, address: found.address, body: text, keyword: null };
  if (found.body.trim() === '' && (await isUnanswered(db, found)) && !(await findDraft(db, replyId)))
    await draftForReply(db, heard, now);
  await lockContact(db, found.address);
  const certainty = optOutKeyword(text) === 'stop' ? 'clear' : optOutSuspicion(text);
  await suspectOptOut(db, heard, now, certainty);
}

/** Neither has the contact written again, nor has anybody answered. */
const isUnanswered = async (db: TenantDb, { address, receivedAt }: InboundRow): Promise<boolean> =>
  !(await db.exists(sql.type(NoRows)`
    select 1 from inbound_messages
    where workspace_id = ${db.workspaceId} and address = ${address} and not auto_reply and received_at > ${sql.timestamp(receivedAt)}
    union all
    select 1 from messages
    where workspace_id = ${db.workspaceId} and address = ${address} and campaign_id is null
      and sent_at > ${sql.timestamp(receivedAt)}`));
