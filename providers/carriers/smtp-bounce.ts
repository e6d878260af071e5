import type { CarrierEvent } from '#domain/carrier-event.ts';
import { eventIdOf, header, type InboundEmail, OWN_MESSAGE_ID, pastDate } from './inbound-email.ts';

/** A permanent failure (RFC 3463). */
const PERMANENT_CODE = /\b5\.\d{1,3}\.\d{1,3}\b/;
/** The mailbox or its domain does not exist (RFC 3463, section 3.2). */
const DEAD_ADDRESS_CODE = /^5\.1\.(1|2|3|6|10)$/;

interface Part {
  type: string;
  text(): string;
}

/**
 * Parses a delivery status notification (RFC 3464), by which a mail server reports that it could not deliver an email.
 * @returns null if the email is not one; no events if it reports a delay, or an email that we did not send.
 */
export function readBounce(email: InboundEmail): CarrierEvent[] | null {
  const parts = email.Attachments.map(({ ContentType, Content }) => ({
    type: ContentType?.toLowerCase() ?? '',
    text: () => Buffer.from(Content, 'base64').toString('utf8'),
  }));
  const report = parts.find(({ type }) => type.startsWith('message/delivery-status'))?.text();
  if (report === undefined && !isReport(email)) return null;

  // Some servers omit the machine-readable part.
  const status = report ?? email.TextBody ?? '';
  const failed =
    /^Action:\s*failed\b/im.test(status) || (report === undefined && PERMANENT_CODE.test(status));
  const carrierMessageId = reportedMessageId(email, parts);
  if (!failed || carrierMessageId === undefined) return [];

  const code = /^Status:\s*(\d\.\d{1,3}\.\d{1,3})/im.exec(status)?.[1] ?? PERMANENT_CODE.exec(status)?.[0];
  const diagnosis = /^Diagnostic-Code:\s*(?:smtp;\s*)?(.+)$/im.exec(status)?.[1]?.trim();
  return [
    {
      kind: 'receipt',
      eventId: eventIdOf(email),
      at: pastDate(email.Date),
      carrierMessageId,
      status: 'failed',
      reason: `bounced: ${diagnosis ?? code ?? 'undeliverable'}`,
      ...(DEAD_ADDRESS_CODE.test(code ?? '') && { deadAddress: true as const }),
    },
  ];
}

function isReport(email: InboundEmail): boolean {
  const type = header(email, 'Content-Type') ?? '';
  return /multipart\/report/i.test(type) && /delivery-status/i.test(type);
}

/** The id of our email that the notification is about, from its returned copy, the headers or the text. */
function reportedMessageId(email: InboundEmail, parts: readonly Part[]): string | undefined {
  const returned = parts
    .filter(({ type }) => /^(message\/rfc822|text\/rfc822-headers)/.test(type))
    .map((part) => part.text());
  const texts = [...returned, header(email, 'In-Reply-To'), header(email, 'References'), email.TextBody];
  return texts.flatMap((text) => text?.match(OWN_MESSAGE_ID) ?? [])[0];
}
