import type { CarrierEvent } from '#domain/carrier-event.ts';
import { eventIdOf, header, type InboundEmail, OWN_MESSAGE_ID, pastDate } from './inbound-email.ts';

/**
 * Parses a delivery status notification (RFC 3464), by which a mail server reports that it could not deliver an email.
 * @returns null if the email is not one; no events if it reports a delay, or an email that we did not send.
 */
export function readBounce(email: InboundEmail): CarrierEvent[] | null {
  const type = header(email, 'Content-Type') ?? '';
  const parts = email.Attachments.map(({ ContentType, Content }) => ({
    type: ContentType?.toLowerCase() ?? '',
    text: () => Buffer.from(Content, 'base64').toString('utf8'),
  }));
  const report = parts.find((part) => part.type.startsWith('message/delivery-status'))?.text();
  const isReport = /multipart\/report/i.test(type) && /delivery-status/i.test(type);
  if (report === undefined && !isReport) return null;

  const text = email.TextBody ?? '';
  const status = report ?? text;
  const failed =
    /^Action:\s*failed\b/im.test(status) || (report === undefined && /\b5\.\d{1,3}\.\d{1,3}\b/.test(status));
  const returned = parts
    .filter((part) => /^(message\/rfc822|text\/rfc822-headers)/.test(part.type))
    .map((part) => part.text());
  const named = [...returned, header(email, 'In-Reply-To'), header(email, 'References'), text];
  const carrierMessageId = named.flatMap((where) => where?.match(OWN_MESSAGE_ID) ?? [])[0];
  if (!failed || carrierMessageId === undefined) return [];
  const code =
    /^Status:\s*(\d\.\d{1,3}\.\d{1,3})/im.exec(status)?.[1] ?? /\b5\.\d{1,3}\.\d{1,3}\b/.exec(status)?.[0];
  const diagnosis = /^Diagnostic-Code:\s*(?:smtp;\s*)?(.+)$/im.exec(status)?.[1]?.trim();
  return [
    {
      kind: 'receipt',
      eventId: eventIdOf(email),
      at: pastDate(email.Date),
      carrierMessageId,
      status: 'failed',
      reason: `bounced: ${diagnosis ?? code ?? 'undeliverable'}`,
      // RFC 3463, section 3.2: the mailbox or its domain does not exist.
      ...(/^5\.1\.(1|2|3|6|10)$/.test(code ?? '') && { deadAddress: true as const }),
    },
  ];
}
