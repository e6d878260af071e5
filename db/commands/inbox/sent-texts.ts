import { sql } from 'slonik';
import { z } from 'zod';
import { DISPATCHED_AT, IS_DISPATCHED } from '#db/queries/messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import { quotedBy, type TextReaction, textReactions } from '#domain/inbox/text-reaction.ts';
import { withoutOurTexts } from '#domain/inbox/own-words.ts';
import { formsOf } from '#domain/base/contact-key.ts';

const SentRow = z.object({
  id: z.string(),
  body: z.string(),
  sentText: z.string().nullable(),
  smsFallbackMessage: z.string().nullable(),
  hasFiles: z.boolean(),
});
type SentRow = z.infer<typeof SentRow>;

/** Phones offer reactions to messages on the screen; older ones are quoted rarely. */
const REMEMBERED = 100;

/** The last messages that were sent to a contact, newest first. */
async function lastSent(db: TenantDb, address: string): Promise<readonly SentRow[]> {
  return db.any(sql.type(SentRow)`
    select id, body, sent_text, sms_fallback_message, attachment_urls <> '{}' has_files from messages
    where workspace_id = ${db.workspaceId} and ${IS_DISPATCHED} and (
      address = ${address}
      or (recipient_phone = any(${sql.array(formsOf(address), 'text')}) and recipient_phone <> address)
      or (recipient_email = ${address} and recipient_email <> address))
    order by ${DISPATCHED_AT} desc, id desc limit ${REMEMBERED}`);
}

const textsOf = ({ body, sentText, smsFallbackMessage }: SentRow): string[] =>
  [sentText ?? body, smsFallbackMessage].filter((text) => text !== null);

interface Understood {
  /** The reaction that the text reports, and the message reacted to. */
  reaction: (TextReaction & { messageId: string }) | null;
  /** What the contact wrote themselves, by which it is judged: without texts of ours. */
  own: string;
}

/** Compares what a contact wrote with what they were sent. */
export async function understand(db: TenantDb, address: string, text: string): Promise<Understood> {
  const readings = textReactions(text);
  // Shorter texts quote nothing.
  if (readings.length === 0 && text.length < 15) return { reaction: null, own: text };
  const sent = await lastSent(db, address);
  // A link may be shown as an image, and a file may have been sent by the device.
  const withFile = sent.find(({ hasFiles }) => hasFiles) ?? sent[0];
  for (const reading of readings) {
    const message =
      reading.about === 'file' ? withFile : sent.find((one) => textsOf(one).some(quotedBy(reading)));
    if (message) return { reaction: { ...reading, messageId: message.id }, own: '' };
  }
  // A quotation of an unknown text is not the contact's own either, unless it is nothing but a keyword: “Stop” 🛑
  const isQuotation =
    readings.some(({ about }) => about === 'file' || about.isMarked) && optOutKeyword(text) === null;
  return { reaction: null, own: isQuotation ? '' : withoutOurTexts(text, sent.flatMap(textsOf)) };
}
