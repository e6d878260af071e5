import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import type { createTransport, NodemailerError, SendMailOptions } from 'nodemailer';
import { z } from 'zod';
import { normalizeEmail } from '#domain/base/address.ts';
import { type Carrier, type FetchMedia, NotOfInbox, type SendOutcome } from './carrier.ts';
import type { Guard } from '../egress-guard.ts';
import { isLoopback } from '../egress-address.ts';
import { mailboxOf, readMailbox } from './smtp-mailbox.ts';
import { checkSecret } from './callback-secret.ts';
import { unknown } from './connection-checks.ts';
import { Unreadable, type UntrustedWork } from '../untrusted/processes.ts';
import {
  mailboxChecks,
  mailboxFailure,
  sendingChecks,
  sendingFailure,
  SMTP_GUIDE,
} from './smtp-connection.ts';
import { fetchAll } from './outbound-media.ts';
import { composeEmail } from './smtp-message.ts';
import { smtpFailure } from './smtp-failure.ts';
import { caCertificatesOf } from './ca-certificates.ts';

export interface SmtpCarrierOptions {
  /** Checks connections to mail servers whose addresses tenants set. */
  guard?: Guard;
  /** Parses inbound email. */
  untrusted: UntrustedWork;
  fetchMedia?: FetchMedia;
  timeoutMs?: number;
  /** Certificate authorities besides the public ones, in PEM format. */
  ca?: string | null;
  /** The host name for EHLO. Default: this machine's. */
  ehloName?: string | null;
}

/** An email line's mail server: a `url` (`smtps://user:password@host:465`), or its parts. */
export const SmtpConfig = z
  .object({
    url: z
      .url({ protocol: /^smtps?$/ })
      .meta({
        secret: true,
        description: 'smtps://user:password@host:465, instead of the five settings below.',
      })
      .optional(),
    host: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'The outgoing server, for example smtp.example.com.' }),
    port: z.int().min(1).max(65_535).optional(),
    /** Implicit TLS; otherwise STARTTLS, which a login requires except on loopback. */
    secure: z.boolean().default(false),
    user: z.string().optional(),
    password: z.string().meta({ secret: true }).optional(),
    /** The mailbox for replies and bounces: `imaps://user:password@host:993/INBOX`. Without it none is read. */
    imapUrl: z
      .url({ protocol: /^imaps?$/ })
      .meta({
        secret: true,
        description: 'imaps://user:password@host:993/INBOX: where replies and bounces are read.',
      })
      .optional(),
    /** The selector of the mail server's DKIM key, for checking its DNS record. */
    dkimSelector: z
      .string()
      .max(200)
      .regex(/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i, 'must be the selector of a DKIM key')
      .optional(),
    /** Which `Authentication-Results` are the receiving server's own (RFC 8601); without it, the topmost count. */
    authservId: z.string().min(1).max(255).optional().meta({
      description:
        'The name under which the receiving mail server writes Authentication-Results, for example mx.google.com. For Microsoft 365 and Outlook.com, which write none: microsoft365. Without it, the topmost results count.',
    }),
    /** Certificate authorities of the mail servers besides the public ones. */
    caCertificates: caCertificatesOf('mail servers'),
    ehloName: z
      .string()
      .max(255)
      .regex(/^(?:[a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+$/i, 'must be a full host name')
      .optional()
      .meta({
        description:
          'The host name with which the line greets its mail server. Default: `SMTP_EHLO_NAME` of this installation.',
      }),
    /** The `secret` in the callback URL for inbound email and bounces. Without it callbacks are refused. */
    inboundSecret: z.string().min(16).meta({ secret: true }).optional(),
  })
  .refine(({ url, host }) => (url === undefined) !== (host === undefined), {
    path: ['host'],
    message: 'is required, or url, but not both',
  });
export type SmtpConfig = z.infer<typeof SmtpConfig>;

/** The maximum size of an inbound email in bytes, with its files in base64. */
const INBOUND_LIMIT = 10 * 1024 * 1024;
/** Files of inbound emails are data URLs. */
const FILE = 'data:;base64,';
const CONNECT_MS = 10_000;
/** The second connection prevents a slow message from delaying the next one. */
const CONNECTIONS_PER_LINE = 2;
/** The ports of submission and relaying; providers add 2525 for networks that block 25. */
const SMTP_PORTS = [25, 465, 587, 2525];
const IMAP_PORTS = [143, 993];

/** Mail servers with open connections; the least recently used is closed first. */
const MAX_POOLS = 500;

type Pool = ReturnType<typeof createPool>;

/** The URL is not passed to the library, which would accept any of its options from the query string. */
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

/** Email by SMTP (RFC 5321). An email accepted by the server counts as sent; `smtp-inbound.ts` handles bounces. */
export function smtpCarrier({
  guard,
  untrusted,
  fetchMedia,
  timeoutMs = 60_000,
  ca = null,
  ehloName = null,
}: SmtpCarrierOptions): Carrier<SmtpConfig> {
  const pools = new Map<string, Pool>();
  const trusted = ({ caCertificates }: SmtpConfig): string[] | undefined => {
    const own = [ca, caCertificates].filter((pem) => typeof pem === 'string');
    return own.length === 0 ? undefined : [...rootCertificates, ...own];
  };
  const openPool = (open: typeof createTransport, config: SmtpConfig): Pool =>
    createPool(open, config, { timeoutMs, guard, ca: trusted(config), name: config.ehloName ?? ehloName });

  async function poolOf(config: SmtpConfig): Promise<Pool> {
    // Loaded when the first email is sent: most processes send none.
    const nodemailer = await import('nodemailer');
    const key = JSON.stringify(config);
    const pool = pools.get(key) ?? openPool(nodemailer.createTransport, config);
    pools.delete(key);
    pools.set(key, pool);
    for (const [oldest, unused] of pools) {
      if (pools.size <= MAX_POOLS) break;
      pools.delete(oldest);
      unused.close();
    }
    return pool;
  }

  /** Uses a separate connection. @returns why it failed; null if it worked. */
  async function verifyOnce(config: SmtpConfig): Promise<Error | null> {
    const { createTransport } = await import('nodemailer');
    const pool = openPool(createTransport, config);
    try {
      await pool.verify();
      return null;
    } catch (error) {
      return toError(error);
    } finally {
      pool.close();
    }
  }

  return {
    name: 'smtp',
    channels: ['email'],
    capabilities: () => ['replies', 'attachments'],
    config: SmtpConfig,
    callbackSecret: 'inboundSecret',
    servers: (config) => ({
      [config.url === undefined ? 'host' : 'url']: { ...serverOf(config), ports: SMTP_PORTS },
      ...(config.imapUrl !== undefined && { imapUrl: { ...mailboxOf(config.imapUrl), ports: IMAP_PORTS } }),
    }),
    emailServer: (config) => ({
      host: serverOf(config).host,
      dkimSelector: config.dkimSelector ?? null,
    }),
    timeoutMs,

    async send(config, message, signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const files = await fetchAll(message.attachments, fetchMedia, limit);
      if ('kind' in files) return files;
      const email = composeEmail(message, files.contents, serverOf(config).host);
      return deliver(await poolOf(config), email, limit);
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
      const { host, port } = serverOf(config);
      try {
        await (await poolOf(config)).verify();
      } catch (error) {
        throw new Error(sendingFailure(`${host}:${port}`, error), { cause: error });
      }
    },

    guide: SMTP_GUIDE,

    async *checkConnection(config, { reachCallbacks }) {
      const { host, port, auth } = serverOf(config);
      const settings =
        config.url === undefined
          ? { server: 'host', password: 'password' }
          : { server: 'url', password: 'url' };
      yield* sendingChecks(
        { name: `${host}:${port}`, settings },
        { error: await verifyOnce(config), hasLogin: auth !== null },
      );
      if (config.imapUrl === undefined) {
        yield unknown(
          'inbox',
          'No mailbox is given: replies arrive only through a mail service that posts them.',
        );
        yield { name: 'callback_address', ...(await reachCallbacks()) };
        return;
      }
      const mailbox = mailboxOf(config.imapUrl);
      const read = async (): Promise<never> => {
        throw new Error('nothing is read before the end of a mailbox');
      };
      const error = await readMailbox(mailbox, null, { guard, read, ca: trusted(config) }).then(
        () => null,
        toError,
      );
      yield* mailboxChecks({ name: `${mailbox.host}:${mailbox.port}`, folder: mailbox.folder, error });
    },

    callbackLimit: INBOUND_LIMIT,

    checkCallback: ({ inboundSecret }, head) => checkSecret(inboundSecret, head),

    async parseCallback({ inboundSecret, authservId }, request, tenant) {
      checkSecret(inboundSecret, request);
      return untrusted.run(tenant, 'postedEmail', { rawBody: request.rawBody, receiver: { authservId } });
    },

    async readInbox(config, position, tenant) {
      const { imapUrl, authservId } = config;
      if (imapUrl === undefined) return null;
      const mailbox = mailboxOf(imapUrl);
      try {
        return await readMailbox(mailbox, position, {
          guard,
          ca: trusted(config),
          read: (email) =>
            untrusted
              .run(tenant, 'mimeEmail', { ...email, receiver: { authservId } })
              .catch((error: unknown) => {
                throw error instanceof Unreadable
                  ? error
                  : new NotOfInbox('the parser failed', { cause: error });
              }),
        });
      } catch (error) {
        if (error instanceof NotOfInbox) throw error;
        throw new Error(mailboxFailure(mailbox, error), { cause: error });
      }
    },

    async openMedia(_config, url) {
      // Files are part of the callback.
      if (!url.startsWith(FILE)) throw new Error('not a file of an inbound email');
      return { contentType: null, body: Readable.from([Buffer.from(url.slice(FILE.length), 'base64')]) };
    },

    async close() {
      for (const pool of pools.values()) pool.close();
      pools.clear();
    },
  };
}

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

function createPool(
  open: typeof createTransport,
  config: SmtpConfig,
  {
    timeoutMs,
    guard,
    ca,
    name,
  }: { timeoutMs: number; guard: Guard | undefined; ca: string[] | undefined; name: string | null },
) {
  const { host, port, secure, auth } = serverOf(config);
  const pool = open({
    host,
    port,
    secure,
    requireTLS: auth !== null && !isLoopback(host),
    ...(auth && { auth }),
    ...(name !== null && { name }),
    ...(ca && { tls: { ca } }),
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
    // The library requeues a message only if the connection was closed before anything was sent.
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

/** The library's errors do not say how much was sent. It writes the end of the data after it has read the stream to its end. */
interface ObservedEmail extends SendMailOptions {
  onStream(stream: Readable): void;
}

async function deliver(pool: Pool, email: SendMailOptions, signal: AbortSignal): Promise<SendOutcome> {
  // More than one if the message was requeued.
  const streams: Readable[] = [];
  const dataEnded = (): boolean => streams.some(({ readableEnded }) => readableEnded);
  const observed: ObservedEmail = { ...email, signal, onStream: (stream) => streams.push(stream) };
  try {
    const { messageId, response } = await pool.sendMail(observed);
    // A reply that comes before the end is to something else.
    if (!dataEnded()) return { kind: 'unknown', reason: `answered before the end of the email: ${response}` };
    return { kind: 'accepted', carrierMessageId: messageId };
  } catch (error) {
    return smtpFailure(error as NodemailerError, dataEnded());
  }
}
