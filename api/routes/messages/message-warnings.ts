import { contactRelation } from '#db/queries/messages/contact-relation.ts';
import { recipientOf } from '#db/queries/messages/message-recipient.ts';
import { sendWindow } from '#db/queries/messages/message-window.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { knownCustomFields } from '#db/queries/accounts/limits.ts';
import type { Capability } from '#domain/lines/capability.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { phoneOf } from '#domain/base/phone.ts';
import type { IntakeContext } from '#domain/messages/accepted-message.ts';
import { quietUntil, unsupportedIn, type Warning, warningsOf } from '#domain/messages/warnings.ts';
import { wakingHours } from '#domain/sending/quiet-hours.ts';
import type { CarrierRegistry } from '#providers/carriers/registry.ts';

/** Messages wait for lines that are not connected, so what those will be able to do is not known. */
async function unsupportedOf(
  db: TenantDb,
  { capabilitiesOf }: CarrierRegistry,
  message: MessageRow,
): Promise<Capability[]> {
  const line = message.lineId === null ? null : await findLine(db, message.lineId);
  return line === null || line.carrier === NO_CARRIER ? [] : unsupportedIn(message, capabilitiesOf(line));
}

/** The warnings about a message that has been accepted. */
export async function warningsAbout(
  db: TenantDb,
  message: MessageRow,
  { carriers, context }: { carriers: CarrierRegistry; context: IntakeContext },
): Promise<Warning[]> {
  const { answersUntil, scheduledAt } = message;
  const isAnswer = answersUntil !== null && answersUntil > scheduledAt;
  const quiet = isAnswer ? undefined : wakingHours(context.quiet, recipientOf(message), context.timezone);
  return warningsOf({
    channel: message.channel,
    text: message.body,
    files: message.attachmentUrls.length,
    phone: phoneOf(message.address),
    fallbackText: message.smsFallbackMessage ?? undefined,
    subject: message.subject,
    unsupported: await unsupportedOf(db, carriers, message),
    customFields: await knownCustomFields(db),
    ...(await contactRelation(db, message.lineId, message.address)),
    quietUntil: quietUntil({ ...sendWindow(message), quiet }, scheduledAt),
  });
}
