import { createHash } from 'node:crypto';
import PostalMime, { addressParser } from 'postal-mime';
import { decodeBytes, withoutMojibake } from '#domain/base/character-encoding.ts';
import { MAX_FILES } from '#domain/lines/carrier-event.ts';
import { extensionFor } from '#domain/messages/attachment-type.ts';
import type { InboundEmail } from '../carriers/smtp/inbound-email.ts';

/** Longer address headers are ignored. */
const MAX_ADDRESS_HEADER = 2000;

/**
 * Parses an email into the format of the inbound webhook.
 * @param isWhole false if it is truncated, in which case its files are dropped.
 */
export async function parseMime(source: Uint8Array, isWhole: boolean): Promise<InboundEmail> {
  const email = withUntypedText(await parsed(source));
  const digest = createHash('sha256').update(source).digest('hex');
  const from = senderOf(email.from, email.headers.find(({ key }) => key === 'from')?.value ?? '');
  const header = (name: string) => email.headers.find(({ key }) => key === name)?.value;
  return {
    MessageID: /[^<>\s]/.test(email.messageId ?? '') ? (email.messageId ?? digest) : digest,
    From: from.address,
    FromFull: { Email: from.address, Name: from.name },
    ReplyTo: header('reply-to'),
    Subject: email.subject,
    Date: email.date,
    TextBody: email.text && withoutMojibake(email.text),
    HtmlBody: email.html && withoutMojibake(email.html),
    Headers: email.headers.map(({ key, value }) => ({ Name: key, Value: value })),
    Attachments: (isWhole ? email.attachments.filter(isFile).slice(0, MAX_FILES) : []).map(
      ({ filename, mimeType, content }, index) => ({
        Name: filename ?? nameOf(mimeType, index),
        ContentType: mimeType,
        Content: Buffer.from(content as ArrayBuffer).toString('base64'),
      }),
    ),
  };
}

type Email = Awaited<ReturnType<typeof parse>>;

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;
const OTHER_TEXT = /^text\/(?!calendar|vcard|x-vcard|csv|directory)/i;

/** Text without a type, or with an unknown one, is plain text (RFC 2045, section 5.2; RFC 2046, section 4.1.4), unless it is a file. */
function withUntypedText(email: Email): Email {
  if (email.text?.trim() || email.html) return email;
  const untyped = email.attachments.find(
    ({ filename, disposition, mimeType }) =>
      filename === null &&
      disposition !== 'attachment' &&
      (OTHER_TEXT.test(mimeType) || !MEDIA_TYPE.test(mimeType)),
  );
  if (!untyped) return email;
  return {
    ...email,
    text: decodeBytes(Buffer.from(untyped.content as ArrayBuffer)),
    attachments: email.attachments.filter((attachment) => attachment !== untyped),
  };
}

const MULTIPART = /^content-type:\s*multipart\/[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*/im;
/** The line between parts, of which the first field is their type. */
const BETWEEN_PARTS = /^--(\S[^\r\n"]{0,200})\r?\n(?=content-)/im;

/** Without parts where its header says that they begin, an email has those that it shows, or its body is plain text. */
async function parsed(source: Uint8Array): Promise<Email> {
  const email = await decoded(source);
  const type = email.headers.find(({ key }) => key === 'content-type')?.value ?? '';
  const hasParts = email.text !== undefined || email.html !== undefined || email.attachments.length > 0;
  if (hasParts || !/^multipart\//i.test(type)) return email;
  const raw = Buffer.from(source).toString('latin1');
  const boundary = BETWEEN_PARTS.exec(raw)?.[1]?.trimEnd();
  const typed = boundary === undefined ? 'text/plain' : `multipart/mixed; boundary="${boundary}"`;
  const again = await decoded(
    Buffer.from(
      raw.replace(MULTIPART, () => `Content-Type: ${typed}`),
      'latin1',
    ),
  );
  return { ...again, headers: email.headers };
}

/** What a text has where bytes were not valid. */
const INVALID = '\uFFFD';
const UTF_8_LABEL = /(charset\s*=\s*["']?)utf-?8\b/gi;
const UNLABELED = /(content-type:\s*text\/(?:plain|html))(?=\s*(?:;(?![^:]{0,200}charset)|\r?\n(?![ \t])))/gi;

const parse = (source: Uint8Array) => PostalMime.parse(source, { forceRfc822Attachments: true });

/** Programs label Windows-1252 as UTF-8, or not at all. */
async function decoded(source: Uint8Array): Promise<Email> {
  const email = await parse(source);
  const isInvalid = [email.text, email.html, email.subject, email.from?.name].some((text) =>
    text?.includes(INVALID),
  );
  if (!isInvalid) return email;
  const raw = Buffer.from(source).toString('latin1');
  const body = raw.search(/\r?\n\r?\n/);
  // Headers have no label.
  const head = decodeBytes(Buffer.from(raw.slice(0, Math.max(body, 0)), 'latin1'));
  const relabeled = `${Buffer.from(head).toString('latin1')}${raw.slice(Math.max(body, 0))}`
    .replaceAll(UTF_8_LABEL, '$1windows-1252')
    .replaceAll(UNLABELED, '$1; charset=windows-1252');
  const again = await parse(Buffer.from(relabeled, 'latin1'));
  return {
    ...email,
    ...(email.text?.includes(INVALID) && { text: again.text }),
    ...(email.html?.includes(INVALID) && { html: again.html }),
    subject: again.subject,
    from: again.from,
  };
}

/** Signatures of emails are nothing that somebody sent. */
const SIGNATURE = /^application\/(?:(?:x-)?pkcs7-signature|pgp-signature|pgp-keys)\b/i;
const isFile = ({ mimeType }: { mimeType: string }): boolean => !SIGNATURE.test(mimeType);

function nameOf(mimeType: string, index: number): string {
  const extension = extensionFor(mimeType);
  return `attachment-${index + 1}${extension === null ? '' : `.${extension}`}`;
}

/** The sender, also in a group, or with a comma in a name without quotes: `Lovelace, Ada <ada@example.com>`. */
function senderOf(from: { address?: string | undefined; name: string } | undefined, header: string) {
  if (from?.address?.includes('@')) return { address: quotedAddress(from.address), name: from.name };
  const all = addressesOf(header);
  const at = all.findIndex(({ address }) => address.includes('@'));
  const found = all[at];
  if (found === undefined) return { address: quotedAddress(from?.address ?? ''), name: from?.name ?? '' };
  const names = all
    .slice(0, at + 1)
    .map(({ name, address }) => name || (address === found.address ? '' : address));
  return { address: found.address, name: names.filter(Boolean).join(', ') };
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
