import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import type { Channel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import type { CallbackRequest, Carrier, OutboundMessage } from '#providers/carriers/carrier.ts';
import { simulatedCarrier } from '#providers/carriers/simulated.ts';
import { callbackKey } from '#providers/carriers/simulated-protocol.ts';
import { smtpCarrier } from '#providers/carriers/smtp/smtp.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { startSimulator } from '#simulator/server.ts';

/** A carrier, a real server that speaks its protocol, and a recipient for each behaviour of that server. */
export interface CarrierWorld {
  carrier: Carrier;
  config: Record<string, unknown>;
  /** Settings with a credential that the server refuses; null if settings contain none. */
  wrongConfig: Record<string, unknown> | null;
  /** Settings whose secrets are `secrets`. */
  secretConfig: { given: Record<string, unknown>; secrets: string[] };
  channel: Channel;
  /** Settings with which it can write to groups; absent: it cannot. */
  groupConfig?: Record<string, unknown>;
  to: Record<'taken' | 'refused' | 'later' | 'responseLost' | 'responseLate', string> & {
    unreachable?: string;
  };
  /** How many messages the server took for a recipient. */
  taken(to: string): Promise<number>;
  callbacks?: CallbackWorld;
  stopServer(): Promise<void>;
  stop(): Promise<void>;
}

export interface CallbackWorld {
  url: string;
  /** Responds to the first callback with 500; null if the server does not repeat callbacks. */
  failingOnceUrl: string | null;
  received: CallbackRequest[];
  /** A valid callback, and others that must be refused. */
  examples(): { good: CallbackRequest; forged: CallbackRequest[] };
}

export const LINE_ID = newId();
/** Shorter than the servers' late responses. */
const TIMEOUT_MS = 1000;

export function outbound(
  world: CarrierWorld,
  to: string,
  fields: Partial<OutboundMessage> = {},
): OutboundMessage {
  return {
    attemptId: newId(),
    messageId: newId(),
    lineId: LINE_ID,
    channel: world.channel,
    from: { address: world.channel === 'email' ? 'dana@line.example' : '+14155550111', name: 'Dana Line' },
    to: { address: to, name: 'Ada' },
    text: 'Hello Ada',
    attachments: [],
    callbackUrl: world.callbacks?.url ?? 'http://localhost',
    ...fields,
  };
}

/** The results of the connection checks of a line, by check. */
export async function connectionResults(
  { carrier, config }: Pick<CarrierWorld, 'carrier' | 'config'>,
  callbackUrl: string,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const reachCallbacks = async () => ({ result: 'pass', text: '' }) as const;
  const subject = { lineId: LINE_ID, address: '+14155550111', callbackUrl, reachCallbacks };
  for await (const { name, result } of carrier.checkConnection(config, subject)) found[name] = result;
  return found;
}

/** Records a carrier's callbacks; the first one to `?fail-once` gets a 500. */
export async function startReceiver() {
  const received: CallbackRequest[] = [];
  const receiver = createServer(async (request, response) => {
    const rawBody = (await buffer(request)).toString('utf8');
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const url = `${origin}${request.url}`;
    const isFirst = !received.some((earlier) => earlier.url === url);
    received.push({ url, headers, rawBody });
    response.writeHead(isFirst && url.endsWith('?fail-once') ? 500 : 200).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  return {
    origin,
    received,
    async stop() {
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
    },
  };
}

export async function simulatedWorld(): Promise<CarrierWorld> {
  const secret = randomBytes(32).toString('hex');
  const { origin, received, stop } = await startReceiver();
  const simulator = await startSimulator({
    port: 0,
    smtpPort: 0,
    dataDir: null,
    callbackBaseUrl: origin,
    secret,
  });
  const carrier = simulatedCarrier({ url: simulator.url, secret, timeoutMs: TIMEOUT_MS });
  const url = `${origin}/callbacks/carriers/simulated/${LINE_ID}`;
  let running = true;
  const stopServer = async (): Promise<void> => {
    if (running) await simulator.stop();
    running = false;
  };
  return {
    carrier,
    config: {},
    groupConfig: {},
    wrongConfig: null,
    secretConfig: { given: {}, secrets: [] },
    channel: 'imessage',
    to: {
      taken: '+14155550100',
      refused: '+14155550002',
      later: '+14155550003',
      responseLost: '+14155550004',
      responseLate: '+14155550009',
      unreachable: '+14155550001',
    },
    async taken(to) {
      const answer = await fetch(`${simulator.url}/simulated/carrier/sent?to=${encodeURIComponent(to)}`);
      return ((await answer.json()) as { count: number }).count;
    },
    callbacks: {
      url,
      failingOnceUrl: `${url}?fail-once`,
      received,
      examples() {
        const sign = (body: string, at: Date): CallbackRequest => ({
          url,
          headers: {
            'webhook-id': 'signed-by-the-test',
            'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
            'webhook-signature': new Webhook(callbackKey(secret)).sign('signed-by-the-test', at, body),
          },
          rawBody: body,
        });
        const event = { kind: 'read', eventId: 'e1', carrierMessageId: 'm1', at: new Date().toISOString() };
        const body = JSON.stringify({ lineId: LINE_ID, events: [event] });
        const good = sign(body, new Date());
        const { 'webhook-signature': signature, ...unsigned } = good.headers;
        return {
          good,
          forged: [
            { ...good, headers: unsigned },
            { ...good, headers: { ...unsigned, 'webhook-signature': `${signature?.slice(0, -4)}AAA=` } },
            { ...good, rawBody: body.replace('m1', 'm2') },
            { ...good, url: url.replace(LINE_ID, newId()) },
            // Signatures are valid for five minutes.
            sign(body, new Date(Date.now() - 6 * 60_000)),
          ],
        };
      },
    },
    stopServer,
    async stop() {
      await stopServer();
      await carrier.close();
      await stop();
    },
  };
}

export interface SmtpWorld extends CarrierWorld {
  mails: { to: string; email: Email }[];
  /** Ends every connection from the server's side. */
  dropConnections(): void;
}

const reply = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });

/** A mail server that refuses, disconnects or hangs, depending on the recipient's local part. */
export async function smtpWorld(): Promise<SmtpWorld> {
  const mails: SmtpWorld['mails'] = [];
  const sockets = new Set<Socket>();
  const dropConnections = (): void => sockets.forEach((socket) => socket.destroy());
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    closeTimeout: 100,
    onAuth: ({ username, password }, _session, callback) =>
      password === 'right' ? callback(null, { user: username }) : callback(reply(535, 'wrong password')),
    onRcptTo({ address }, _session, callback) {
      if (address.startsWith('refused@')) return callback(reply(550, 'no such user'));
      if (address.startsWith('later@')) return callback(reply(451, 'greylisted'));
      if (address.startsWith('broken-off@')) return dropConnections();
      callback();
    },
    onData(stream, { envelope }, callback) {
      const to = envelope.rcptTo[0]?.address ?? '';
      if (to.startsWith('stops-in-data@')) return dropConnections();
      void buffer(stream).then(async (raw) => {
        if (to.startsWith('refused-content@')) return callback(reply(554, 'this is spam'));
        if (to.startsWith('later-content@')) return callback(reply(452, 'disk full'));
        mails.push({ to, email: await PostalMime.parse(raw) });
        if (to.startsWith('answer-lost@')) return dropConnections();
        if (!to.startsWith('answer-late@')) callback();
      });
    },
  });
  server.on('error', () => {});
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  const untrusted = createUntrustedWork();
  const carrier = smtpCarrier({
    untrusted,
    timeoutMs: TIMEOUT_MS,
    fetchMedia: async (url) => {
      if (url.includes('missing')) throw new Error('answered 503');
      return { content: Buffer.from('the file'), contentType: 'text/plain' };
    },
  });
  let running = true;
  const stopServer = async (): Promise<void> => {
    if (running) await new Promise<void>((resolve) => server.close(resolve));
    running = false;
  };
  return {
    carrier,
    config: { host: '127.0.0.1', port, secure: false },
    wrongConfig: { host: '127.0.0.1', port, secure: false, user: 'dana', password: 'wrong' },
    secretConfig: {
      given: { host: 'mail.example', user: 'dana', password: 'hunter2' },
      secrets: ['hunter2'],
    },
    channel: 'email',
    to: {
      taken: 'ada@example.com',
      refused: 'refused@example.com',
      later: 'later@example.com',
      responseLost: 'answer-lost@example.com',
      responseLate: 'answer-late@example.com',
    },
    taken: async (to) => mails.filter((mail) => mail.to === to).length,
    mails,
    dropConnections,
    stopServer,
    async stop() {
      untrusted.close();
      await carrier.close();
      await stopServer();
    },
  };
}
