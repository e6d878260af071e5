import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createTransport, type NodemailerError, type SendMailOptions } from 'nodemailer';
import { z } from 'zod';
import { normalizeEmail } from '#domain/address.ts';
import type { Carrier, FetchMedia, OutboundAttachment, SendOutcome } from './carrier.ts';
import type { Guard } from '../egress-guard.ts';
import { isLoopback } from '../egress-address.ts';
import { mailboxOf, readMailbox } from './smtp-mailbox.ts';
import { checkSecret } from './callback-secret.ts';
import type { UntrustedWork } from '../untrusted/processes.ts';
import { composeEmail } from './smtp-message.ts';
import { smtpFailure } from './smtp-failure.ts';

export interface SmtpCarrierOptions {
  /** How mail servers are connected to, which tenants name. */
  guard?: Guard;
  /** Reads the email that comes in. */
  untrusted: UntrustedWork;
  fetchMedia?: FetchMedia;
  timeoutMs?: number;
}

/** An email line's mail server: a `url` (`smtps://user:password@host:465`), or its parts. */
export const SmtpConfig = z
  .object({
    url: z
      .url({ protocol: /^smtps?$/ })
      .meta({ secret: true })
      .optional(),
    host: z.string().min(1).optional(),
    port: z.int().min(1).max(65_535).optional(),
    /** TLS from the first byte; otherwise by STARTTLS, which a login needs except on this machine. */
    secure: z.boolean().default(false),
    user: z.string().optional(),
    password: z.string().meta({ secret: true }).optional(),
    /** The mailbox that replies and bounces come to: `imaps://user:password@host:993/INBOX`; without it none is read. */
    imapUrl: z
      .url({ protocol: /^imaps?$/ })
      .meta({ secret: true })
      .optional(),
    /** What stands as `secret` in the address that inbound email and bounces are posted to; without it none is taken. */
    inboundSecret: z.string().min(16).meta({ secret: true }).optional(),
  })
  .refine(({ url, host }) => (url === undefined) !== (host === undefined), 'give either url or host');
export type SmtpConfig = z.infer<typeof SmtpConfig>;

/** An inbound email with its files, in bytes; in base64 they are a third larger. */
const INBOUND_LIMIT = 10 * 1024 * 1024;
/** What stands before the content of a file in its address. */
const FILE = 'data:;base64,';
const CONNECT_MS = 10_000;
/** A line's sends are paced: a second connection is for the message that waits behind a slow one. */
const CONNECTIONS_PER_LINE = 2;
/** Mail servers whose connections are kept; the one used longest ago goes first. */
const MAX_POOLS = 500;

type Pool = ReturnType<typeof createPool>;

/** The server in its parts. The library is never given the URL itself: it takes any of its options from a query there. */
function serverOf({ url, host = '', port, secure, user, password = '' }: SmtpConfig) {
  if (url === undefined) {
    const auth = user === undefined ? null : { user, pass: password };
    return { host, port: port ?? (secure ? 465 : 587), secure, auth };
  }
  const { protocol, hostname, port: given, username, password: pass } = new URL(url);
  const isSecure = protocol === 'smtps:';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: given === '' ? (isSecure ? 465 : 587) : Number(given),
    secure: isSecure,
    auth: username === '' ? null : { user: decodeURIComponent(username), pass: decodeURIComponent(pass) },
  };
}

/** Email by SMTP (RFC 5321). What a server took counts as sent; bounces and replies come in by `smtp-inbound.ts`. */
export function smtpCarrier({
  guard,
  untrusted,
  fetchMedia,
  timeoutMs = 60_000,
}: SmtpCarrierOptions): Carrier<SmtpConfig> {
  const pools = new Map<string, Pool>();

  function poolOf(config: SmtpConfig): Pool {
    const key = JSON.stringify(config);
    const pool = pools.get(key) ?? createPool(config, timeoutMs, guard);
    pools.delete(key);
    pools.set(key, pool);
    for (const [oldest, unused] of pools) {
      if (pools.size <= MAX_POOLS) break;
      pools.delete(oldest);
      unused.close();
    }
    return pool;
  }

  return {
    name: 'smtp',
    channels: ['email'],
    config: SmtpConfig,
    callbackSecret: 'inboundSecret',
    servers: (config) => ({
      [config.url === undefined ? 'host' : 'url']: serverOf(config).host,
      ...(config.imapUrl !== undefined && { imapUrl: mailboxOf(config.imapUrl).host }),
    }),
    timeoutMs,

    async send(config, message, signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const files = await fetchAll(message.attachments, fetchMedia, limit);
      if ('kind' in files) return files;
      const email = composeEmail(message, files.contents);
      return deliver(poolOf(config), email, limit);
    },

    async reconcile() {
      return { kind: 'unknown' };
    },

    async checkAvailability(_config, address) {
      return normalizeEmail(address) === null
        ? { status: 'unavailable', reason: 'not an email address' }
        : { status: 'available' };
    },

    async probe(config) {
      await poolOf(config).verify();
    },

    callbackLimit: INBOUND_LIMIT,

    checkCallback: ({ inboundSecret }, head) => checkSecret(inboundSecret, head),

    async parseCallback({ inboundSecret }, request, tenant) {
      checkSecret(inboundSecret, request);
      return untrusted.run(tenant, 'postedEmail', request.rawBody);
    },

    async readInbox({ imapUrl }, position, tenant) {
      if (imapUrl === undefined) return null;
      return readMailbox(mailboxOf(imapUrl), position, {
        guard,
        read: (email) => untrusted.run(tenant, 'mimeEmail', email),
      });
    },

    async openMedia(_config, url) {
      // Files come along in the callback itself.
      if (!url.startsWith(FILE)) throw new Error('not a file of an inbound email');
      return { contentType: null, body: Readable.from([Buffer.from(url.slice(FILE.length), 'base64')]) };
    },

    async close() {
      for (const pool of pools.values()) pool.close();
      pools.clear();
    },
  };
}

function createPool(config: SmtpConfig, timeoutMs: number, guard: Guard | undefined) {
  const { host, port, secure, auth } = serverOf(config);
  const pool = createTransport({
    host,
    port,
    secure,
    requireTLS: auth !== null && !isLoopback(host),
    ...(auth && { auth }),
    ...(guard && {
      getSocket(_options: unknown, done: (error: Error | null, socket?: { connection: Socket }) => void) {
        guard.openSocket(host, port).then(
          (connection) => done(null, { connection }),
          (error: Error) => done(error),
        );
      },
    }),
    pool: true,
    maxConnections: CONNECTIONS_PER_LINE,
    // Only of a message of which not a byte was sent, on a connection that turned out to be closed.
    maxRequeues: 1,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return pool.use('stream', ({ data, message }, done) => {
    message?.processFunc((stream) => {
      (data as ObservedEmail).onStream(stream);
      return stream;
    });
    done();
  });
}

/** The library's errors do not tell whether the data had begun to flow; whether it read this stream does. */
interface ObservedEmail extends SendMailOptions {
  onStream(stream: Readable): void;
}

async function deliver(pool: Pool, email: SendMailOptions, signal: AbortSignal): Promise<SendOutcome> {
  // More than one when the message had to be given to a second connection.
  const streams: Readable[] = [];
  const observed: ObservedEmail = { ...email, signal, onStream: (stream) => streams.push(stream) };
  try {
    const { messageId } = await pool.sendMail(observed);
    return { kind: 'accepted', carrierMessageId: messageId };
  } catch (error) {
    const dataBegan = streams.some(({ readableDidRead }) => readableDidRead);
    return smtpFailure(error as NodemailerError, dataBegan);
  }
}

/** Every attachment is in hand before the server is spoken to: one that is missing then has sent nothing. */
async function fetchAll(
  attachments: OutboundAttachment[],
  fetchMedia: FetchMedia | undefined,
  signal: AbortSignal,
): Promise<SendOutcome | { contents: { name: string; content: Buffer; contentType: string | null }[] }> {
  if (attachments.length > 0 && !fetchMedia)
    return { kind: 'refused', reason: 'attachments cannot be fetched here' };
  try {
    const contents = await Promise.all(
      attachments.map(async ({ name, url, contentType }) => {
        const file = await (fetchMedia as FetchMedia)(url, signal);
        return { name, content: file.content, contentType: contentType ?? file.contentType };
      }),
    );
    return { contents };
  } catch (error) {
    return {
      kind: 'transient',
      reason: `an attachment could not be fetched: ${error instanceof Error ? error.message : 'no reason'}`,
    };
  }
}
