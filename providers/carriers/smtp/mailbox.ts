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
  if (answers.length > 0) {
    const items = await readEmails(client, answers, read);
    const isAll = items.length === answers.length;
    const ahead = isAll ? (window.at(-1) ?? lastUid) : (items.at(-1)?.uid ?? lastUid);
    const position = at(lastUid, ahead);
    return { read: items.map(({ uid: _uid, ...item }) => ({ ...item, position })), more: true };
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

/** The heads of emails, by UID. */
async function readHeads(client: ImapFlow, uids: readonly number[]): Promise<Map<number, Head>> {
  const heads = new Map<number, Head>();
  if (uids.length === 0) return heads;
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

/** Reads emails in order until the batch is full. @throws if not even the first can be read. */
async function readEmails(
  client: ImapFlow,
  uids: readonly number[],
  read: MailboxReader['read'],
): Promise<ReadEmail[]> {
  const items: ReadEmail[] = [];
  let bytes = 0;
  for (const uid of uids.slice(0, BATCH)) {
    const skipped = (reason: string): ReadEmail => ({
      uid,
      events: [],
      unreadable: { reference: String(uid), reason },
    });
    try {
      const query = { source: { maxLength: MAX_BYTES }, size: true };
      const email = await client.fetchOne(String(uid), query, { uid: true });
      // It was deleted.
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
        items.push(skipped(error.message));
        continue;
      }
      // This also closes the connection; the next one continues after this email.
      if (isTooLarge(error)) return [...items, skipped('the server sent more data than requested')];
      if (items.length > 0) return items;
      throw error;
    }
  }
  return items;
}

const isTooLarge = (error: unknown): boolean =>
  ['LiteralTooLarge', 'ResponseTooLarge', 'LineTooLarge'].includes((error as ImapFlowError).code ?? '');
