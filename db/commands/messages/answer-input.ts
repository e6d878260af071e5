import { channelForPhone } from './line-choice.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isUsable, type LineRow } from '#db/queries/lines/lines.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import type { MessageInput } from '#domain/messages/message.ts';

/**
 * A text to a contact: on the line that they wrote to or called, or, if there is none or it can no longer send, on the line assigned to
 * them.
 * @param to.written their number as they wrote from it; null: not known.
 */
export async function answerInput(
  db: TenantDb,
  to: {
    address: string;
    written: string | null;
    lead: { id: string; phones: readonly string[] } | null;
    line: LineRow | null;
  },
  text: string,
): Promise<MessageInput> {
  const { address, written, lead, line } = to;
  const isEmail = address.includes('@');
  // As the contact is written to, rather than in the form by which it is known.
  const phone = written ?? lead?.phones.find((number) => contactKey(number) === address) ?? address;
  return {
    message: text,
    messageType: line?.channel ?? (isEmail ? 'email' : await channelForPhone(db)),
    ...(isEmail ? { recipientEmail: address } : { recipientPhone: phone }),
    ...(lead && { leadId: lead.id }),
    ...(line && isUsable(line) && { fromLineId: line.id }),
    stickinessPolicy: 'sticky',
  };
}
