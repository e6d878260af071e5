import { createHash } from 'node:crypto';
import PostalMime, { addressParser } from 'postal-mime';
import { MAX_FILES } from '#domain/lines/carrier-event.ts';
import type { InboundEmail } from '../carriers/inbound-email.ts';

/** Longer address headers are ignored. */
const MAX_ADDRESS_HEADER = 2000;

/**
 * Parses an email into the format of the inbound webhook.
 * @param isWhole false if it is truncated, in which case its files are dropped.
 */
export async function parseMime(source: Uint8Array, isWhole: boolean): Promise<InboundEmail> {
  const email = await PostalMime.parse(source, { forceRfc822Attachments: true });
  const digest = createHash('sha256').update(source).digest('hex');
  const header = (name: string) => email.headers.find(({ key }) => key === name)?.value;
  return {
    MessageID: /[^<>\s]/.test(email.messageId ?? '') ? (email.messageId ?? digest) : digest,
    From: quotedAddress(email.from?.address ?? ''),
    FromFull: { Email: quotedAddress(email.from?.address ?? ''), Name: email.from?.name ?? '' },
    ReplyTo: header('reply-to'),
    Subject: email.subject,
    Date: email.date,
    TextBody: email.text,
    HtmlBody: email.html,
    Headers: email.headers.map(({ key, value }) => ({ Name: key, Value: value })),
    Attachments: (isWhole ? email.attachments.slice(0, MAX_FILES) : []).map(
      ({ filename, mimeType, content }, index) => ({
        Name: filename ?? `attachment-${index + 1}`,
        ContentType: mimeType,
        Content: Buffer.from(content as ArrayBuffer).toString('base64'),
      }),
    ),
  };
}

/** The addresses of a header such as `From`, in order. */
export const addressesOf = (header: string): { address: string; name: string }[] =>
  addressParser(header.slice(0, MAX_ADDRESS_HEADER), { flatten: true }).map(({ address, name }) => ({
    address: quotedAddress(address ?? ''),
    name,
  }));

const ATOM = String.raw`[^\s"(),:;<>@[\]\\.]+`;
const DOT_ATOM = new RegExp(String.raw`^${ATOM}(?:\.${ATOM})*$`);

/**
 * The parser removes the quotes of a local part that needs them, `"ada lovelace"@example.com`, and some servers give addresses out
 * without them: `ada.@example.com`.
 */
function quotedAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  if (at < 1 || DOT_ATOM.test(local) || /^".*"$/s.test(local)) return address;
  return `"${local.replaceAll(/["\\]/g, String.raw`\$&`)}"${address.slice(at)}`;
}
