import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { subjectOf } from '#domain/messages/email-subject.ts';
import type { EmailThread } from '#domain/messages/email-thread.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { MessageRow } from './messages.ts';

/** Messages of programs that send a sequence by themselves name it by `batchId`. */
type Sent = Pick<MessageRow, 'id' | 'address' | 'campaignId' | 'leadId' | 'batchId' | 'stepIndex'>;

const SentRow = z.object({
  carrierMessageId: z.string().nullable(),
  subject: z.string().nullable(),
  text: z.string(),
});

const sentColumns = sql.fragment`carrier_message_id, coalesce(sent_subject, subject) subject, coalesce(sent_text, body) text`;
const MESSAGE_ID = /^<[^<>\s]+>$/;
/** A thread keeps its first id and the last ones. */
const MAX_IDS = 20;

const threadOf = (ids: readonly (string | null)[], subject: string): EmailThread => {
  const known = ids.filter((id) => id !== null && MESSAGE_ID.test(id)) as string[];
  const kept = known.length <= MAX_IDS ? known : [known[0] ?? '', ...known.slice(1 - MAX_IDS)];
  return { ids: kept, subject };
};

const subjectOfSent = ({ subject, text }: z.infer<typeof SentRow>): string => subject ?? subjectOf(text, '');

/** The emails of its sequence that were sent to the address before it; null if it is the first. */
export async function threadOfSequence(db: TenantDb, message: Sent): Promise<EmailThread | null> {
  const { id, address, campaignId, leadId, batchId, stepIndex } = message;
  const isOfSequence =
    campaignId !== null && leadId !== null
      ? sql.fragment`campaign_id = ${campaignId} and lead_id = ${leadId}`
      : batchId !== null && stepIndex !== null
        ? sql.fragment`batch_id = ${batchId} and step_index < ${stepIndex}`
        : null;
  if (isOfSequence === null) return null;
  const sent = await db.any(sql.type(SentRow)`
    select ${sentColumns} from messages
    where workspace_id = ${db.workspaceId} and address = ${address} and ${isOfSequence} and id <> ${id}
      and channel = 'email' and sent_at is not null
    order by sent_at, id`);
  const [first] = sent;
  return first
    ? threadOf(
        sent.map(({ carrierMessageId }) => carrierMessageId),
        subjectOfSent(first),
      )
    : null;
}

const HeardRow = z.object({
  carrierMessageId: z.string(),
  emailReferences: z.array(z.string()).nullable(),
  subject: z.string().nullable(),
  originalId: z.string().nullable(),
});

/** The thread of the last email from the address, otherwise of the last one to it; null if there is none. */
export const threadOfContact = (db: TenantDb, address: string): Promise<EmailThread | null> =>
  lastThread(db, {
    heard: sql.fragment`i.address = ${address} and not i.auto_reply`,
    sent: sql.fragment`address = ${address}`,
  });

/** The thread of one email, in either direction; null if it is none. */
export const threadOfMessage = (db: TenantDb, id: string): Promise<EmailThread | null> =>
  lastThread(db, { heard: sql.fragment`i.id = ${id}`, sent: sql.fragment`id = ${id}` });

async function lastThread(
  db: TenantDb,
  { heard: isHeard, sent: isSent }: { heard: FragmentSqlToken; sent: FragmentSqlToken },
): Promise<EmailThread | null> {
  const heard = await db.maybeOne(sql.type(HeardRow)`
    select i.carrier_message_id, i.email_references, i.subject, m.carrier_message_id original_id
    from inbound_messages i
    join lines l on l.workspace_id = i.workspace_id and l.id = i.line_id and l.channel = 'email'
    left join messages m on m.workspace_id = i.workspace_id and m.id = i.original_message_id and m.channel = 'email'
    where i.workspace_id = ${db.workspaceId} and ${isHeard}
    order by i.received_at desc, i.id desc limit 1`);
  if (heard) {
    const { carrierMessageId, emailReferences, subject, originalId } = heard;
    // One whose Message-ID is not its own has a fingerprint after it.
    const [id = ''] = carrierMessageId.split(' ');
    const before = emailReferences && emailReferences.length > 0 ? emailReferences : [originalId];
    return threadOf([...before, id], subject ?? '');
  }
  const sent = await db.maybeOne(sql.type(SentRow)`
    select ${sentColumns} from messages
    where workspace_id = ${db.workspaceId} and ${isSent} and channel = 'email' and sent_at is not null
    order by sent_at desc, id desc limit 1`);
  return sent && threadOf([sent.carrierMessageId], subjectOfSent(sent));
}

/** Stores the subject with which an email is sent. */
export async function recordSubject(db: TenantDb, messageId: string, subject: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set sent_subject = ${subject}
    where workspace_id = ${db.workspaceId} and id = ${messageId} and coalesce(sent_subject, subject) is distinct from ${subject}`);
}
