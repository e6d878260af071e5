import type { SendMailOptions } from 'nodemailer';
import type { OutboundMessage } from './carrier.ts';
import { escapeHtml } from '../mail/html.ts';

export interface EmailAttachment {
  name: string;
  content: Buffer;
  contentType: string | null;
}

/** The header by which Postmark echoes our Message-ID in its bounces. */
const ECHO_HEADER = 'X-PM-Metadata-message-id';

/** RFC 5322 §2.1.1 recommends lines of at most 78 characters. */
const SUBJECT_LENGTH = 78;

/**
 * One outbound message as an email (RFC 5322). Its `Message-ID` is that of the attempt: a server, or a reader,
 * that gets it twice can tell.
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
    // One-click unsubscribe (RFC 8058 §3.1): both headers, and a URL that takes a POST.
    ...(unsubscribeUrl !== undefined && {
      list: { unsubscribe: unsubscribeUrl },
    }),
    headers: {
      ...(unsubscribeUrl !== undefined && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
      // Postmark replaces the Message-ID otherwise, by which replies are known; its bounces tell it by the other.
      'X-PM-KeepID': 'true',
      [ECHO_HEADER]: messageId,
    },
  };
}

/** The first line that says something, cut between words. */
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

/** Paragraphs at empty lines, line breaks elsewhere; nothing of the text is markup. */
function htmlOf(text: string): string {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll('\n', '<br>\n')}</p>`);
  return `<!doctype html>\n<html><body>\n${paragraphs.join('\n')}\n</body></html>\n`;
}
