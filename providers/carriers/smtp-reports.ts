import type { CarrierEvent } from '#domain/carrier-event.ts';
import { complaintReason } from '#domain/complaint.ts';
import { eventIdOf, header, type InboundEmail, OWN_MESSAGE_ID, pastDate } from './inbound-email.ts';

/** A permanent failure (RFC 3463). */
const PERMANENT_CODE = /\b5\.\d{1,3}\.\d{1,3}\b/;
/** The mailbox or its domain does not exist (RFC 3463, section 3.2). */
const DEAD_ADDRESS_CODE = /^5\.1\.(1|2|3|6|10)$/;

/**
 * Complaints among the types of feedback (RFC 5965, section 7.3). The others concern viruses, the authentication of emails
 * (RFC 6591), or say that an email is not spam.
 */
const COMPLAINT_TYPE = /^Feedback-Type:\s*(abuse|fraud)\b/im;

interface Part {
  type: string;
  text(): string;
}

/**
 * Parses a report of a mail server about an email: that it could not be delivered (RFC 3464), or that its recipient reported it
 * as spam (RFC 5965).
 * @returns null if the email is not a report; no events if it reports something else, or an email that we did not send.
 */
export function readReport(email: InboundEmail): CarrierEvent[] | null {
  const parts = email.Attachments.map(({ ContentType, Content }) => ({
    type: ContentType?.toLowerCase() ?? '',
    text: () => Buffer.from(Content, 'base64').toString('utf8'),
  }));
  const textOf = (type: string) => parts.find((part) => part.type.startsWith(type))?.text();
  const feedback = textOf('message/feedback-report');
  if (feedback !== undefined || isReport(email, 'feedback-report'))
    return readComplaint(email, feedback ?? '', parts);
  const status = textOf('message/delivery-status');
  if (status !== undefined || isReport(email, 'delivery-status')) return readBounce(email, status, parts);
  return null;
}

function readComplaint(email: InboundEmail, feedback: string, parts: readonly Part[]): CarrierEvent[] {
  const type = COMPLAINT_TYPE.exec(feedback)?.[1]?.toLowerCase();
  const carrierMessageId = reportedMessageId(email, parts);
  if (type === undefined || carrierMessageId === undefined) return [];
  return [{ ...failure(email, carrierMessageId, complaintReason(type)), complaint: true }];
}

function readBounce(email: InboundEmail, report: string | undefined, parts: readonly Part[]): CarrierEvent[] {
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
      ...failure(email, carrierMessageId, `bounced: ${diagnosis ?? code ?? 'undeliverable'}`),
      ...(DEAD_ADDRESS_CODE.test(code ?? '') && { deadAddress: true as const }),
    },
  ];
}

const failure = (email: InboundEmail, carrierMessageId: string, reason: string) =>
  ({
    kind: 'receipt',
    eventId: eventIdOf(email),
    at: pastDate(email.Date),
    carrierMessageId,
    status: 'failed',
    reason,
  }) as const;

function isReport(email: InboundEmail, reportType: string): boolean {
  const type = header(email, 'Content-Type')?.toLowerCase() ?? '';
  return type.includes('multipart/report') && type.includes(reportType);
}

/** The id of our email that the report is about, from its returned copy, the headers or the text. */
function reportedMessageId(email: InboundEmail, parts: readonly Part[]): string | undefined {
  const returned = parts
    .filter(({ type }) => /^(message\/rfc822|text\/rfc822-headers)/.test(type))
    .map((part) => part.text());
  const texts = [...returned, header(email, 'In-Reply-To'), header(email, 'References'), email.TextBody];
  return texts.flatMap((text) => text?.match(OWN_MESSAGE_ID) ?? [])[0];
}
