import { ImapFlow, type ImapFlowError } from 'imapflow';
import { z } from 'zod';
import type { CarrierEvent } from '#domain/carrier-event.ts';
import { isLoopback } from '../egress-address.ts';
import type { Guard } from '../egress-guard.ts';
import { Unreadable } from '../untrusted/processes.ts';
import type { InboxBatch, InboxItem } from './carrier.ts';

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
  /** Emails from before it were read under other UIDs; absent once all have been looked at. ISO 8601. */
  since: z.iso.datetime().optional(),
});
type Position = z.infer<typeof Position>;

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
/** For one batch, from the connection to its last email. */
const DEADLINE_MS = 60_000;
const BATCH = 20;
/** A batch ends with the email that reaches it. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** UIDs that are asked about at once: an answer names at most this many. */
const UIDS = 50_000;
/** A longer one is read to here: its text stands first, and its files are left out. */
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_LINE_BYTES = 1024 * 1024;
/** Servers search by their own day (RFC 9051 §6.4.4 SINCE). */
const SINCE_MARGIN_MS = 2 * 86_400_000;

export interface MailboxReader {
  guard: Guard | undefined;
  /** @throws Unreadable */
  read(email: { source: Uint8Array; isWhole: boolean }): Promise<CarrierEvent[]>;
}

/**
 * Reads what came into a mailbox, without changing anything there. A mailbox that is another than before begins at its
 * end. One whose UIDs were given out anew is searched for what may not have been read yet: emails that were are known
 * by their Message-ID.
 * @throws when the server cannot be asked.
 */
export async function readMailbox(
  mailbox: Mailbox,
  position: string | null,
  { guard, read }: MailboxReader,
): Promise<InboxBatch> {
  const client = new ImapFlow({
    host: guard ? await guard.addressOf(mailbox.host) : mailbox.host,
    servername: mailbox.host,
    port: mailbox.port,
    secure: mailbox.secure,
    // A password is sent encrypted, except on this machine.
    doSTARTTLS: mailbox.secure || isLoopback(mailbox.host) ? undefined : true,
    auth: { user: mailbox.user, pass: mailbox.password },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    maxLineLength: MAX_LINE_BYTES,
    maxLiteralSize: MAX_BYTES,
    maxResponseSize: MAX_BYTES + MAX_LINE_BYTES,
    disableAutoIdle: true,
    logger: false,
  });
  // What goes wrong is told to whoever waits for a command; without a listener it would end the process as well.
  client.on('error', () => {});
  const deadline = setTimeout(() => client.close(), DEADLINE_MS);
  try {
    await client.connect();
    return await readFolder(client, mailbox, position, read);
  } finally {
    clearTimeout(deadline);
    client.close();
  }
}

async function readFolder(
  client: ImapFlow,
  mailbox: Mailbox,
  position: string | null,
  read: MailboxReader['read'],
): Promise<InboxBatch> {
  const opened = await client.mailboxOpen(mailbox.folder, { readOnly: true });
  const newest = opened.uidNext - 1;
  if (!Number.isSafeInteger(newest)) throw new Error('the server does not tell its next UID');
  const here = {
    mailbox: `${mailbox.user}@${mailbox.host}/${mailbox.folder}`,
    uidValidity: String(opened.uidValidity),
  };
  const before = position === null ? null : Position.parse(JSON.parse(position));
  const at = (lastUid: number, since?: string): string =>
    JSON.stringify({
      ...here,
      lastUid,
      readAt: new Date().toISOString(),
      ...(since !== undefined && lastUid < newest && { since }),
    } satisfies Position);
  if (before?.mailbox !== here.mailbox) return { read: [{ events: [], position: at(newest) }], more: false };

  const isSame = before.uidValidity === here.uidValidity;
  const since = isSame ? before.since : (before.since ?? sinceOf(before.readAt));
  const first = (isSame ? before.lastUid : 0) + 1;
  const last = Math.min(newest, first + UIDS - 1);
  if (first > last && isSame) return { read: [], more: false };
  const found =
    first > last
      ? []
      : await client.search(
          { uid: `${first}:${last}`, ...(since !== undefined && { since: new Date(since) }) },
          { uid: true },
        );
  const uids = (found || []).filter((uid) => uid >= first && uid <= last).toSorted((a, b) => a - b);
  const items = await readEmails(client, uids, read);
  const taken = items.map(({ uid, ...item }): InboxItem => ({ ...item, position: at(uid, since) }));
  if (items.length < uids.length) return { read: taken, more: true };
  // Behind the UIDs that no email has any more.
  const rest = items.at(-1)?.uid === last ? [] : [{ events: [], position: at(last, since) }];
  return { read: [...taken, ...rest], more: last < newest };
}

const sinceOf = (readAt: string): string => new Date(Date.parse(readAt) - SINCE_MARGIN_MS).toISOString();

type ReadEmail = Omit<InboxItem, 'position'> & { uid: number };

/** As many of them as one batch takes, in order. @throws when there is none that could be had. */
async function readEmails(
  client: ImapFlow,
  uids: readonly number[],
  read: MailboxReader['read'],
): Promise<ReadEmail[]> {
  const items: ReadEmail[] = [];
  let bytes = 0;
  for (const uid of uids.slice(0, BATCH)) {
    const passedOver = (reason: string): ReadEmail => ({
      uid,
      events: [],
      unreadable: { reference: String(uid), reason },
    });
    try {
      const query = { source: { maxLength: MAX_BYTES }, size: true };
      const email = await client.fetchOne(String(uid), query, { uid: true });
      // Deleted meanwhile.
      if (!email || !email.source) {
        items.push({ uid, events: [] });
        continue;
      }
      const isWhole = (email.size ?? 0) <= MAX_BYTES;
      items.push({ uid, events: await read({ source: email.source, isWhole }) });
      bytes += email.source.length;
      if (bytes >= BATCH_BYTES) return items;
    } catch (error) {
      if (error instanceof Unreadable) {
        items.push(passedOver(error.message));
        continue;
      }
      // The connection is gone with it; the next one goes on behind this email.
      if (isTooLarge(error)) return [...items, passedOver('the server sends more than was asked for')];
      if (items.length > 0) return items;
      throw error;
    }
  }
  return items;
}

const isTooLarge = (error: unknown): boolean =>
  ['LiteralTooLarge', 'ResponseTooLarge', 'LineTooLarge'].includes((error as ImapFlowError).code ?? '');
