import { sql } from 'slonik';
import { z } from 'zod';
import type { InboundReply } from '#domain/lines/carrier-event.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import { Channel } from '#domain/base/channel.ts';
import type { SenderWarning } from '#domain/lines/sender-authentication.ts';
import { subjectOf } from '#domain/messages/email-subject.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { phoneOf } from '#domain/base/phone.ts';
import { fitsChannel } from '#domain/inbox/sender-kind.ts';
import { senderAddress } from '#db/queries/contacts/contact-address.ts';
import { findLead, findLeadsByAddress } from '#db/queries/contacts/leads.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { DISPATCHED_AT, IS_DISPATCHED } from '#db/queries/messages/messages.ts';

/* Who wrote, and which message of ours they answer. */

export interface Sender {
  address: string;
  /** The number from which the message came; null: an email address, or no number. */
  phone: string | null;
  /** Why the message has no effects. */
  warning: SenderWarning | null;
  /** The contact would be a line of the workspace. */
  isOurs: boolean;
  isEmail: boolean;
  /** The mail server has verified somebody else, who asks for answers to the contact. */
  isFromOther: boolean;
}

/** Who sends a message without an address that fits the channel, such as an email from a phone number (RFC 2606). */
const NOBODY = 'unknown-sender@invalid';

const LineSenderRow = z.object({ channel: Channel, ours: z.array(z.string()) });

/** Who wrote: whom the sender of an email asks to be answered, otherwise the sender. */
export async function findSender(
  db: TenantDb,
  lineId: string,
  { from, answersTo, authentication }: InboundReply,
): Promise<Sender> {
  const emails = [from, answersTo ?? ''].map((one) => normalizeEmail(one));
  const { channel, ours } = await db.one(sql.type(LineSenderRow)`
    select channel, array(
      select lower(o.email) from lines o
      where o.workspace_id = ${db.workspaceId}
        and lower(o.email) = any(${sql.array(
          emails.filter((one) => one !== null),
          'text',
        )})
    ) ours
    from lines where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  if (channel !== 'email') return phoneSender(channel, await senderAddress(db, from));

  const [sender = null, answered = null] = emails;
  const isOwn = (email: string | null): boolean => email !== null && ours.includes(email);
  const named = sender ?? (from.includes('@') ? from.trim().toLowerCase() : NOBODY);
  const address = answered === null || isOwn(answered) ? named : answered;
  const warning = isOwn(sender)
    ? 'own_address'
    : authentication?.result === 'fail'
      ? 'sender_not_verified'
      : address === NOBODY
        ? 'invalid_sender'
        : null;
  const isFromOther = authentication !== undefined && !isOfDomain(address, named);
  return { address, phone: null, warning, isOurs: isOwn(address), isEmail: true, isFromOther };
}

/** Whether two email addresses are of one domain, or one of a subdomain of the other's. */
function isOfDomain(one: string, other: string): boolean {
  const [a, b] = [one, other].map((email) => `.${email.slice(email.lastIndexOf('@') + 1).toLowerCase()}`);
  return a !== undefined && b !== undefined && (a.endsWith(b) || b.endsWith(a));
}

/**
 * An email in whose name somebody else asks for answers to a contact says nothing about that contact, unless it names an email of
 * ours. Forms of websites write that way for people whom the workspace does not know.
 */
export async function warningAbout(
  db: TenantDb,
  { address, isFromOther }: Sender,
  original: Original | null,
): Promise<SenderWarning | null> {
  if (!isFromOther || original?.isNamed) return null;
  const isKnown = (await findLeadId(db, address, null)) !== null || (await wasWrittenTo(db, address));
  return isKnown ? 'sender_not_verified' : null;
}

function phoneSender(channel: Channel, from: string): Sender {
  const others = { isOurs: false, isEmail: false, isFromOther: false } as const;
  return fitsChannel(channel, from)
    ? { ...others, address: contactKey(from), phone: phoneOf(from), warning: null }
    : { ...others, address: NOBODY, phone: null, warning: 'invalid_sender' };
}

const OriginalRow = z.object({
  id: z.string(),
  address: z.string(),
  recipientPhone: z.string().nullable(),
  leadId: z.string().nullable(),
  campaignId: z.string().nullable(),
  subject: z.string().nullable(),
  body: z.string(),
  channel: Channel,
});

export interface Original extends Pick<
  z.infer<typeof OriginalRow>,
  'id' | 'address' | 'recipientPhone' | 'leadId' | 'campaignId'
> {
  /** The carrier refers to it; otherwise it is the last one that the line sent to the contact. */
  isNamed: boolean;
  /** Null: it had none. */
  subject: string | null;
}

const originalColumns = sql.fragment`m.id, m.address, m.recipient_phone, m.lead_id, m.campaign_id, coalesce(m.sent_subject, m.subject) subject,
  coalesce(m.sent_text, m.body) body, m.channel`;

export async function findOriginal(
  db: TenantDb,
  lineId: string,
  address: string,
  replyTo: string | undefined,
): Promise<Original | null> {
  const named =
    replyTo === undefined
      ? null
      : await db.maybeOne(sql.type(OriginalRow)`
    select ${originalColumns}
    from attempts a join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
    where a.workspace_id = ${db.workspaceId} and a.line_id = ${lineId} and a.carrier_message_id = ${replyTo}
      and not starts_with(m.address, 'erased:')`);
  const found =
    named ??
    (await db.maybeOne(sql.type(OriginalRow)`
    select ${originalColumns} from messages m
    where workspace_id = ${db.workspaceId} and address = ${address} and line_id = ${lineId}
      and ${IS_DISPATCHED}
    order by ${DISPATCHED_AT} desc, id desc limit 1`));
  if (!found) return null;
  const { channel, subject, body, ...original } = found;
  return {
    ...original,
    isNamed: named !== null,
    subject: channel === 'email' ? (subject ?? subjectOf(body, '')) : subject,
  };
}

export const wasWrittenTo = (db: TenantDb, address: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from messages where workspace_id = ${db.workspaceId} and address = ${address} and ${IS_DISPATCHED}`);

/** @param answered the lead of the message that the contact answers, who may have been deleted since. */
export async function findLeadId(
  db: TenantDb,
  address: string,
  answered: string | null,
): Promise<string | null> {
  if (answered !== null && (await findLead(db, answered))) return answered;
  return (await findLeadsByAddress(db, [address])).get(address) ?? null;
}
