import { createHash } from 'node:crypto';
import { ImapFlow } from 'imapflow';
import PostalMime from 'postal-mime';
import { z } from 'zod';
import type { CarrierEvent } from '#domain/carrier-event.ts';
import type { Guard } from '../egress-guard.ts';
import type { InboxBatch } from './carrier.ts';
import type { InboundEmail } from './inbound-email.ts';
import { emailEvents } from './smtp-inbound.ts';

export interface Mailbox {
  host: string;
  port: number;
  secure: boolean;
  user: string;
  password: string;
  folder: string;
}

/** A mailbox by its URL, `imaps://user:password@host:993/INBOX`. */
export function mailboxOf(imapUrl: string): Mailbox {
  const { protocol, hostname, port, username, password, pathname } = new URL(imapUrl);
  const secure = protocol === 'imaps:';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 993 : 143) : Number(port),
    secure,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    folder: decodeURIComponent(pathname.slice(1)) || 'INBOX',
  };
}

/** RFC 9051 §2.3.1.1: a UID names an email for as long as the UIDVALIDITY stays the same. */
const Position = z.object({
  mailbox: z.string(),
  uidValidity: z.string(),
  lastUid: z.int(),
  /** By our clock; ISO 8601. */
  readAt: z.iso.datetime(),
});
type Position = z.infer<typeof Position>;

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
const BATCH = 20;
/** A longer one is read to here: its text stands first, and its files are left out. */
const MAX_BYTES = 10 * 1024 * 1024;
/** Servers search by their own day (RFC 9051 §6.4.4 SINCE). */
const SINCE_MARGIN_MS = 2 * 86_400_000;

/**
 * Reads what came into a mailbox, without changing anything there. A mailbox that is another than before begins at its
 * end. One whose UIDs were given out anew is searched for what may not have been read yet: emails that were are known
 * by their Message-ID.
 * @throws when the server cannot be asked.
 */
export async function readMailbox(
  mailbox: Mailbox,
  position: string | null,
  guard: Guard | undefined,
): Promise<InboxBatch> {
  const client = new ImapFlow({
    host: guard ? await guard.addressOf(mailbox.host) : mailbox.host,
    servername: mailbox.host,
    port: mailbox.port,
    secure: mailbox.secure,
    auth: { user: mailbox.user, pass: mailbox.password },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableAutoIdle: true,
    logger: false,
  });
  // What goes wrong is told to whoever waits for a command; without a listener it would end the process as well.
  client.on('error', () => {});
  try {
    await client.connect();
    return await readFolder(client, mailbox, position);
  } finally {
    client.close();
  }
}

async function readFolder(client: ImapFlow, mailbox: Mailbox, position: string | null): Promise<InboxBatch> {
  const opened = await client.mailboxOpen(mailbox.folder, { readOnly: true });
  const here = {
    mailbox: `${mailbox.user}@${mailbox.host}/${mailbox.folder}`,
    uidValidity: String(opened.uidValidity),
  };
  const at = (lastUid: number): string =>
    JSON.stringify({ ...here, lastUid, readAt: new Date().toISOString() } satisfies Position);
  const before = position === null ? null : Position.parse(JSON.parse(position));
  if (before?.mailbox !== here.mailbox)
    return { read: [{ events: [], position: at(opened.uidNext - 1) }], more: false };

  const isSame = before.uidValidity === here.uidValidity;
  const wanted = isSame
    ? { uid: `${before.lastUid + 1}:*` }
    : { since: new Date(Date.parse(before.readAt) - SINCE_MARGIN_MS) };
  const found = (await client.search(wanted, { uid: true })) || [];
  // `n:*` always names the last email, even when n is beyond it.
  const uids = found.filter((uid) => !isSame || uid > before.lastUid).toSorted((a, b) => a - b);
  const read: InboxBatch['read'] = [];
  for (const uid of isSame ? uids.slice(0, BATCH) : uids) {
    const email = await client.fetchOne(
      String(uid),
      { source: { maxLength: MAX_BYTES }, size: true },
      { uid: true },
    );
    // Deleted meanwhile.
    if (!email || !email.source) continue;
    const isWhole = (email.size ?? 0) <= MAX_BYTES;
    read.push({ events: await eventsOf(email.source, isWhole), position: at(uid) });
  }
  if (isSame) return { read, more: uids.length > BATCH };
  // The positions of the search are of no order: it is repeated whole until it has been taken in whole.
  const end = at(Math.max(opened.uidNext - 1, ...uids));
  return { read: [{ events: read.flatMap(({ events }) => events), position: end }], more: false };
}

/** Something that cannot be read as an email from somebody says nothing, and does not hold up those behind it. */
async function eventsOf(source: Buffer, isWhole: boolean): Promise<CarrierEvent[]> {
  const email = await parse(source, isWhole).catch(() => null);
  const events = email ? emailEvents(email) : [];
  return events.filter((event) => event.kind !== 'reply' || event.from !== '');
}

/** An email in the shape in which the inbound webhook tells of one. */
async function parse(source: Buffer, isWhole: boolean): Promise<InboundEmail> {
  const email = await PostalMime.parse(source, { forceRfc822Attachments: true });
  const digest = createHash('sha256').update(source).digest('hex');
  return {
    MessageID: email.messageId ?? digest,
    From: email.from?.address ?? '',
    Subject: email.subject,
    Date: email.date,
    TextBody: email.text,
    HtmlBody: email.html,
    Headers: email.headers.map(({ key, value }) => ({ Name: key, Value: value })),
    Attachments: (isWhole ? email.attachments : []).map(({ filename, mimeType, content }, index) => ({
      Name: filename ?? `attachment-${index + 1}`,
      ContentType: mimeType,
      Content: Buffer.from(content as ArrayBuffer).toString('base64'),
    })),
  };
}
