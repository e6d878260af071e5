import { randomBytes } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import { subjectOf } from '#domain/messages/email-subject.ts';
import type { OutboundMessage } from '../carrier.ts';
import { escapeHtml } from '../../mail/html.ts';

export interface EmailAttachment {
  name: string;
  content: Buffer;
  contentType: string | null;
}

/** Returned by Postmark in the metadata of bounces. */
const ECHO_HEADER = 'X-PM-Metadata-message-id';
/** Postmark's servers; the headers mean nothing to others. */
const POSTMARK = /(?:^|\.)postmarkapp\.com$/i;

/**
 * Composes an email (RFC 5322). Its `Message-ID` contains the attempt's id, so that duplicates can be recognized, and 64 random bits,
 * so that nobody but its recipient can report about it.
 * @param server the host that sends it.
 */
export function composeEmail(
  message: OutboundMessage,
  attachments: EmailAttachment[],
  server: string,
): SendMailOptions {
  const { attemptId, from, to, text, subject, thread, unsubscribeUrl } = message;
  const messageId = `<${attemptId}.${randomBytes(8).toString('hex')}@${from.address.split('@').at(-1)}>`;
  return {
    messageId,
    from,
    to: { address: to.address, name: to.name ?? '' },
    subject: subject ?? subjectOf(text, from.name),
    ...(thread && { inReplyTo: thread.inReplyTo, references: thread.references }),
    text,
    html: htmlOf(text),
    attachments: attachments.map(({ name, content, contentType }) => ({
      filename: name,
      content,
      ...(contentType !== null && { contentType }),
    })),
    // One-click unsubscribe requires both headers (RFC 8058, section 3.1).
    ...(unsubscribeUrl !== undefined && {
      list: { unsubscribe: unsubscribeUrl },
    }),
    headers: {
      ...(unsubscribeUrl !== undefined && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
      // Without the first, Postmark replaces the Message-ID, by which replies are matched.
      ...(POSTMARK.test(server) && { 'X-PM-KeepID': 'true', [ECHO_HEADER]: messageId }),
    },
  };
}

/** Empty lines separate paragraphs; all text is escaped. */
function htmlOf(text: string): string {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll('\n', '<br>\n')}</p>`);
  return `<!doctype html>\n<html><body>\n${paragraphs.join('\n')}\n</body></html>\n`;
}
