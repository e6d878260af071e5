import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import type { createTransport, NodemailerError, SendMailOptions } from 'nodemailer';
import { isLoopback } from '../../egress-address.ts';
import type { Guard } from '../../egress-guard.ts';
import type { SendOutcome } from '../carrier.ts';
import { serverOf, type SmtpConfig } from './config.ts';
import { smtpFailure } from './failure.ts';

const CONNECT_MS = 10_000;
/** The second connection prevents a slow message from delaying the next one. */
const CONNECTIONS_PER_LINE = 2;
/** Mail servers with open connections; the least recently used is closed first. */
const MAX_POOLS = 500;

type Pool = ReturnType<typeof createPool>;

interface PoolOptions {
  guard: Guard | undefined;
  timeoutMs: number;
  /** Certificate authorities besides the public ones, in PEM format. */
  ca: string | null;
  /** The host name for EHLO. */
  ehloName: string | null;
}

export interface SmtpPools {
  /** The authorities that the settings trust; undefined: the public ones. */
  trusted(config: SmtpConfig): string[] | undefined;
  send(config: SmtpConfig, email: SendMailOptions, signal: AbortSignal): Promise<SendOutcome>;
  /** Connects and logs in, unless a connection is open. Throws. */
  verify(config: SmtpConfig): Promise<void>;
  /** Uses a separate connection. @returns why it failed; null if it worked. */
  verifyOnce(config: SmtpConfig): Promise<Error | null>;
  close(): void;
}

/** Open connections to mail servers. */
export function createSmtpPools({ guard, timeoutMs, ca, ehloName }: PoolOptions): SmtpPools {
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

  return {
    trusted,
    send: async (config, email, signal) => deliver(await poolOf(config), email, signal),
    async verify(config) {
      await (await poolOf(config)).verify();
    },
    async verifyOnce(config) {
      const { createTransport } = await import('nodemailer');
      const pool = openPool(createTransport, config);
      try {
        await pool.verify();
        return null;
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      } finally {
        pool.close();
      }
    },
    close() {
      for (const pool of pools.values()) pool.close();
      pools.clear();
    },
  };
}

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
