import type { SendMailOptions } from 'nodemailer';
import type { OutboundMessage } from './carrier.ts';
import { escapeHtml } from '../mail/html.ts';

export interface EmailAttachment {
  name: string;
  content: Buffer;
  contentType: string | null;
}

/** Returned by Postmark in the metadata of bounces. */
const ECHO_HEADER = 'X-PM-Metadata-message-id';

/** The recommended maximum line length (RFC 5322, section 2.1.1). */
const SUBJECT_LENGTH = 78;

/**
 * Composes an email (RFC 5322). Its `Message-ID` contains the attempt's id, so that duplicates can be recognized.
 */
export function composeEmail(message: OutboundMessage, attachments: EmailAttachment[]): SendMailOptions {
  const { attemptId, from, to, text, unsubscribeUrl } = message;
  const messageId = `<${attemptId}@${from.address.split('@').at(-1)}>`;
  return {
    messageId,
    from,
    to: { address: to.address, name: to.name ?? '' },
    subject: message.subject ?? subjectOf(text, from.name),
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
      // Without it, Postmark replaces the Message-ID, by which replies are matched.
      'X-PM-KeepID': 'true',
      [ECHO_HEADER]: messageId,
    },
  };
}

/** The first non-empty line, truncated between words. */
function subjectOf(text: string, sender: string): string {
  const line = text
    .split('\n')
    .find((candidate) => candidate.trim() !== '')
    ?.trim();
  if (line === undefined) return `Message from ${sender}`;
  if (line.length <= SUBJECT_LENGTH) return line;
  const room = line.slice(0, SUBJECT_LENGTH - 1);
  const lastSpace = room.lastIndexOf(' ');
  return `${lastSpace > 0 ? room.slice(0, lastSpace) : room}…`;
}

/** Empty lines separate paragraphs; all text is escaped. */
function htmlOf(text: string): string {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll('\n', '<br>\n')}</p>`);
  return `<!doctype html>\n<html><body>\n${paragraphs.join('\n')}\n</body></html>\n`;
}
