import { Readable } from 'node:stream';
import { normalizeEmail } from '#domain/base/address.ts';
import type { Guard } from '../../egress-guard.ts';
import { Unreadable, type UntrustedWork } from '../../untrusted/processes.ts';
import { checkSecret } from '../callback-secret.ts';
import { type Carrier, type FetchMedia, NotOfInbox } from '../carrier.ts';
import { unknown } from '../connection-checks.ts';
import { fetchAll } from '../outbound-media.ts';
import { serverOf, SmtpConfig } from './config.ts';
import { mailboxChecks, mailboxFailure, sendingChecks, sendingFailure, SMTP_GUIDE } from './connection.ts';
import { mailboxOf, readMailbox } from './mailbox.ts';
import { composeEmail } from './message.ts';
import { createSmtpPools } from './pools.ts';

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

/** The maximum size of an inbound email in bytes, with its files in base64. */
const INBOUND_LIMIT = 10 * 1024 * 1024;
/** Files of inbound emails are data URLs. */
const FILE = 'data:;base64,';
/** The ports of submission and relaying; providers add 2525 for networks that block 25. */
const SMTP_PORTS = [25, 465, 587, 2525];
const IMAP_PORTS = [143, 993];

/** Email by SMTP (RFC 5321). An email accepted by the server counts as sent; `inbound.ts` handles bounces. */
export function smtpCarrier({
  guard,
  untrusted,
  fetchMedia,
  timeoutMs = 60_000,
  ca = null,
  ehloName = null,
}: SmtpCarrierOptions): Carrier<SmtpConfig> {
  const pools = createSmtpPools({ guard, timeoutMs, ca, ehloName });

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
      return pools.send(config, email, limit);
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
        await pools.verify(config);
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
        { error: await pools.verifyOnce(config), hasLogin: auth !== null },
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
      const error = await readMailbox(mailbox, null, { guard, read, ca: pools.trusted(config) }).then(
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
          ca: pools.trusted(config),
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

    close: async () => pools.close(),
  };
}

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
