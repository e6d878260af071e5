import { isIP } from 'node:net';
import type { ImapFlow, ImapFlowError } from 'imapflow';
import { z } from 'zod';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { isLoopback } from '../../egress-address.ts';
import type { Guard } from '../../egress-guard.ts';
import { Unreadable } from '../../untrusted/processes.ts';
import type { InboxBatch, InboxItem } from '../carrier.ts';
import { receivedAt } from './inbound-email.ts';
import { OWN_MESSAGE_ID } from '../own-message-id.ts';

export interface Mailbox {
  host: string;
  port: number;
  secure: boolean;
  user: string;
  password: string;
  folder: string;
}

/** Parses a mailbox URL: `imaps://user:password@host:993/INBOX`. */
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

/** A UID identifies an email as long as the UIDVALIDITY does not change (RFC 9051, section 2.3.1.1). */
const Position = z.object({
  mailbox: z.string(),
  uidValidity: z.string(),
  lastUid: z.int(),
  /** By our clock. */
  readAt: z.iso.datetime(),
  /** When the line was connected: older emails are no news. Absent in positions of older releases. */
  connectedAt: z.iso.datetime().optional(),
  /** Up to this UID, answers to us are read already, before older emails. */
  aheadUid: z.int().optional(),
  /** After a change of the UIDs: older emails were read under their former ones. Absent once all are searched. */
  since: z.iso.datetime().optional(),
});
type Position = z.infer<typeof Position>;

const CONNECT_MS = 10_000;
const IDLE_TIMEOUT_MS = 30_000;
/** The time limit of a batch, including the connection. */
const DEADLINE_MS = 60_000;
const BATCH = 20;
/** How many headers are looked at for one batch, to skip old emails and to find answers to us. */
const LOOK_AHEAD = 500;
/** Clocks differ, and an email may have been on its way while the line was connected. */
const OLD_MARGIN_MS = 86_400_000;
/** A batch ends with the email that reaches this total. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** The range of UIDs per search, which bounds the size of its response. */
const UIDS = 50_000;
/** A longer email is truncated: its text comes first, and its files are dropped. */
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_LINE_BYTES = 1024 * 1024;
/** `SINCE` compares dates in the server's time zone (RFC 9051, section 6.4.4). */
const SINCE_MARGIN_MS = 2 * 86_400_000;

export interface MailboxReader {
  guard: Guard | undefined;
  /** The trusted certificate authorities, in PEM format. Default: the public ones. */
  ca?: string[] | undefined;
  /** @throws Unreadable */
  read(email: { source: Uint8Array; isWhole: boolean }): Promise<CarrierEvent[]>;
}

/**
 * Reads new emails without changing the mailbox. If the settings name another mailbox than before, reading starts at its
 * end. If its UIDs mean something else than before, emails since the last read are searched again; those stored before are
 * recognized by their Message-ID.
 * @throws if the server is unreachable.
 */
export async function readMailbox(
  mailbox: Mailbox,
  position: string | null,
  { guard, ca, read }: MailboxReader,
): Promise<InboxBatch> {
  // Loaded at its first use: an API process needs it only to check the mailbox of a new line.
  const { ImapFlow } = await import('imapflow');
  const client = new ImapFlow({
    host: guard ? await guard.addressOf(mailbox.host) : mailbox.host,
    // An address is no name for TLS (RFC 6066, section 3).
    ...(!isIP(mailbox.host) && { servername: mailbox.host }),
    port: mailbox.port,
    secure: mailbox.secure,
    // Require TLS before the password is sent, except on loopback.
    doSTARTTLS: mailbox.secure || isLoopback(mailbox.host) ? undefined : true,
    auth: { user: mailbox.user, pass: mailbox.password },
    ...(ca && { tls: { ca } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    maxLineLength: MAX_LINE_BYTES,
    maxLiteralSize: MAX_BYTES,
    maxResponseSize: MAX_BYTES + MAX_LINE_BYTES,
    disableAutoIdle: true,
    logger: false,
  });
  let isLate = false;
  // Errors also reject the pending command, not all with their reason; without a listener they would crash the process.
  client.on('error', ({ code }: NodeJS.ErrnoException) => {
    isLate ||= code === 'ETIMEOUT';
  });
  const deadline = setTimeout(() => {
    isLate = true;
    client.close();
  }, DEADLINE_MS);
  try {
    await client.connect();
    return await readFolder(client, mailbox, position, read);
  } catch (error) {
    throw isLate ? failure('TOO_LATE') : error;
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
  if (!Number.isSafeInteger(newest)) throw failure('NO_UIDNEXT');
  const here = {
    mailbox: `${mailbox.user}@${mailbox.host}/${mailbox.folder}`,
    uidValidity: String(opened.uidValidity),
  };
  const before = position === null ? null : Position.parse(parseOwnJson(position));
  const now = new Date().toISOString();
  if (!before || !isAtAnyHost(mailbox, before)) {
    const start: Position = { ...here, lastUid: newest, readAt: now, connectedAt: now };
    return { read: [{ events: [], position: JSON.stringify(start) }], more: false };
  }

  // A mailbox that was moved to another host counts anew. So does a server that was restored, without saying so.
  const isSame =
    before.mailbox === here.mailbox && before.uidValidity === here.uidValidity && before.lastUid <= newest;
  const since = isSame ? before.since : (before.since ?? sinceOf(before.readAt));
  const { connectedAt } = before;
  const at = (lastUid: number, aheadUid = 0): string =>
    JSON.stringify({
      ...here,
      lastUid,
      readAt: now,
      ...(connectedAt !== undefined && { connectedAt }),
      ...(aheadUid > lastUid && { aheadUid }),
      ...(since !== undefined && lastUid < newest && { since }),
    } satisfies Position);
  const lastUid = isSame ? before.lastUid : 0;
  const first = lastUid + 1;
  const last = Math.min(newest, first + UIDS - 1);
  if (first > last && isSame) return { read: [], more: false };
  const found =
    first > last
      ? []
      : await client.search(
          { uid: `${first}:${last}`, ...(since !== undefined && { since: new Date(since) }) },
          { uid: true },
        );
  // The library hides the error, also of a connection that was lost. Taken for an empty result, emails would be skipped.
  if (!found) throw failure('SEARCH_FAILED');
  const uids = found.filter((uid) => uid >= first && uid <= last).toSorted((a, b) => a - b);
  const window = uids.slice(0, LOOK_AHEAD);
  const heads = await readHeads(client, window);
  const known = (isSame && before.aheadUid) || lastUid;
  const isOurs = (uid: number): boolean => heads.get(uid)?.isOurs ?? false;

  // Somebody who answers us does not wait behind what a restored folder or a flood brings.
  const answers = window.length <= BATCH ? [] : window.filter((uid) => uid > known && isOurs(uid));
  // One that the server does not return is left for its turn.
  const ahead = await readEmails(client, answers, read).catch((error: unknown) => {
    if (isRefusal(error)) return [];
    throw error;
  });
  if (ahead.length > 0) {
    // Each has a position of its own, because reading may stop after any of them.
    const isAll = ahead.length === answers.length;
    const read = ahead.map(({ uid, ...item }, index): InboxItem => {
      const isLast = isAll && index === ahead.length - 1;
      return { ...item, position: at(lastUid, isLast ? (window.at(-1) ?? uid) : uid) };
    });
    return { read, more: true };
  }

  const isOld = (uid: number): boolean => {
    const head = heads.get(uid);
    return connectedAt !== undefined && head !== undefined && !head.isOurs && isOlder(head, connectedAt);
  };
  const wanted = window.filter((uid) => !isOld(uid) && !(isOurs(uid) && uid <= known && known > lastUid));
  const items = await readEmails(client, wanted, read);
  const taken = items.map(({ uid, ...item }): InboxItem => ({ ...item, position: at(uid, known) }));
  if (items.length < wanted.length) return { read: taken, more: true };
  // Skip UIDs of old or deleted emails at the end of the range.
  const end = window.length < uids.length ? (window.at(-1) ?? last) : last;
  const rest = items.at(-1)?.uid === end ? [] : [{ events: [], position: at(end, known) }];
  return { read: [...taken, ...rest], more: end < newest };
}

/** Whether a position is of the mailbox, wherever it was then. */
const isAtAnyHost = ({ user, folder }: Mailbox, { mailbox }: Position): boolean =>
  mailbox.startsWith(`${user}@`) && mailbox.endsWith(`/${folder}`);

/** An error with a code that `mailboxFailure` puts into words. */
const failure = (code: string): Error => Object.assign(new Error(code), { code });

interface Head {
  /** It names an email of ours. */
  isOurs: boolean;
  /** When it arrived, by the servers that stored and received it. */
  times: (Date | null)[];
}

const HEADS = [
  'date',
  'received',
  'in-reply-to',
  'references',
  'content-type',
  'auto-submitted',
  'return-path',
];
/** Reports name our email in their content, so they are read whatever their age. */
const REPORT = /^content-type:\s*multipart\/report/im;

/** Each halves what is asked for. */
const MAX_REFUSED_HEADS = 100;

/** The heads of emails, by UID. Some servers refuse all that are asked for because of one that they cannot read. */
async function readHeads(client: ImapFlow, uids: readonly number[]): Promise<ReadonlyMap<number, Head>> {
  const heads = new Map<number, Head>();
  const parts = uids.length === 0 ? [] : [uids];
  let refused = 0;
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      for (const [uid, head] of await headsOf(client, part)) heads.set(uid, head);
    } catch (error) {
      refused += 1;
      if (!isRefusal(error) || refused > MAX_REFUSED_HEADS) throw error;
      const middle = Math.ceil(part.length / 2);
      if (part.length > 1) parts.push(part.slice(0, middle), part.slice(middle));
    }
  }
  return heads;
}

async function headsOf(client: ImapFlow, uids: readonly number[]): Promise<ReadonlyMap<number, Head>> {
  const heads = new Map<number, Head>();
  const query = { uid: true, internalDate: true, headers: HEADS };
  for await (const email of client.fetch(uids.join(','), query, { uid: true })) {
    const text = (email.headers ?? Buffer.alloc(0)).toString('latin1').replaceAll(/\r?\n[ \t]+/g, ' ');
    // Only what never went through a mail server, such as a restored draft, is as old as its sender says.
    const [, arrived] = /^received:(.*)$/im.exec(text) ?? /^date:(.*)$/im.exec(text) ?? [];
    heads.set(email.uid, {
      isOurs: new RegExp(OWN_MESSAGE_ID.source).test(text) || REPORT.test(text),
      times: [
        receivedAt(arrived ?? ''),
        email.internalDate === undefined ? null : new Date(email.internalDate),
      ],
    });
  }
  return heads;
}

/** Clocks that were never set say nothing. */
const EARLIEST = Date.UTC(2000, 0);

function isOlder({ times }: Head, connectedAt: string): boolean {
  const limit = Date.parse(connectedAt) - OLD_MARGIN_MS;
  return times.some((time) => time !== null && time.getTime() >= EARLIEST && time.getTime() < limit);
}

const sinceOf = (readAt: string): string => new Date(Date.parse(readAt) - SINCE_MARGIN_MS).toISOString();

type ReadEmail = Omit<InboxItem, 'position'> & { uid: number };

/**
 * Reads emails in order until the batch is full. One that the server does not return, although it returns a later one, is skipped;
 * those after the last one that it returns are left for the next batch.
 * @throws if not even the first can be read.
 */
async function readEmails(
  client: ImapFlow,
  uids: readonly number[],
  read: MailboxReader['read'],
): Promise<ReadEmail[]> {
  const found: (ReadEmail | { uid: number; error: unknown })[] = [];
  let bytes = 0;
  let ended: unknown = null;
  for (const uid of uids.slice(0, BATCH)) {
    try {
      const { size, ...email } = await readEmail(client, uid, read);
      found.push(email);
      bytes += size;
      if (bytes >= BATCH_BYTES) break;
    } catch (error) {
      // This also closes the connection; the next one continues after this email.
      if (isTooLarge(error)) found.push(skipped(uid, 'the server sent more data than requested'));
      else if (isRefusal(error)) found.push({ uid, error });
      else ended = error;
      if (!isRefusal(error)) break;
    }
  }
  const last = found.findLastIndex((one) => !('error' in one));
  const items: ReadEmail[] = [];
  try {
    for (const one of found.slice(0, last + 1))
      items.push('error' in one ? await readAgain(client, one.uid, read) : one);
  } catch (error) {
    ended ??= error;
  }
  if (items.length > 0) return items;
  const [first] = found;
  if (first && 'error' in first) throw first.error;
  if (ended !== null) throw ended;
  return items;
}

const skipped = (uid: number, reason: string): ReadEmail => ({
  uid,
  events: [],
  unreadable: { reference: String(uid), reason },
});

/** @returns its size in bytes, too. */
async function readEmail(
  client: ImapFlow,
  uid: number,
  read: MailboxReader['read'],
): Promise<ReadEmail & { size: number }> {
  const query = { source: { maxLength: MAX_BYTES }, size: true };
  const email = await client.fetchOne(String(uid), query, { uid: true });
  if (!email || !email.source) {
    const isThere = await client.search({ uid: String(uid) }, { uid: true });
    if (!isThere) throw failure('SEARCH_FAILED');
    if (isThere.includes(uid)) throw failure('NOT_RETURNED');
    // It was deleted.
    return { uid, events: [], size: 0 };
  }
  const size = email.source.length;
  const isWhole = (email.size ?? 0) <= MAX_BYTES;
  try {
    return { uid, events: await read({ source: email.source, isWhole }), size };
  } catch (error) {
    if (error instanceof Unreadable) return { ...skipped(uid, error.message), size };
    throw error;
  }
}

/** Once more, because it is skipped otherwise. */
async function readAgain(client: ImapFlow, uid: number, read: MailboxReader['read']): Promise<ReadEmail> {
  try {
    const { size: _size, ...email } = await readEmail(client, uid, read);
    return email;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return skipped(uid, 'the server does not return it');
  }
}

const isTooLarge = (error: unknown): boolean =>
  ['LiteralTooLarge', 'ResponseTooLarge', 'LineTooLarge'].includes((error as ImapFlowError).code ?? '');

/** The codes of a server that returns no email for now (RFC 5530, section 3). */
const NOT_NOW = new Set(['UNAVAILABLE', 'INUSE', 'LIMIT']);

function isRefusal(error: unknown): boolean {
  const { code, responseStatus, serverResponseCode = '' } = error as Partial<ImapFlowError>;
  const isRefused = (responseStatus === 'NO' || responseStatus === 'BAD') && code !== 'ETHROTTLE';
  return code === 'NOT_RETURNED' || (isRefused && !NOT_NOW.has(serverResponseCode));
}
