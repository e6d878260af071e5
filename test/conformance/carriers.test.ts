import { gzipSync } from 'node:zlib';
import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { Channel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import {
  type AttemptReference,
  BadSignature,
  type CallbackRequest,
  type CarrierGroup,
  type ConnectionCheck,
  type OutboundMessage,
  type SendOutcome,
} from '#providers/carriers/carrier.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { createCarriers, FIND_BY_CONTENT } from '#providers/carriers/registry.ts';
import { maskConfig, openConfig, sealConfig } from '#providers/carriers/secret-config.ts';
import { createGuard } from '#providers/egress-guard.ts';
import { type CarrierWorld, LINE_ID, outbound, simulatedWorld, smtpWorld } from './carrier-worlds.ts';
import {
  blueBubblesWorld,
  HTTP_CARRIERS,
  linqWorld,
  sendblueWorld,
  startSomebodyElse,
  telnyxWorld,
  twilioWorld,
} from './http-carrier-worlds.ts';

/** Every carrier adapter, tested against a real server of its protocol. Add new ones here. */
const CARRIERS: {
  name: string;
  create(): Promise<CarrierWorld>;
  /** Whether it finds an attempt whose response was lost. */
  recognisesAttempts: boolean;
  /** Whether an attempt that it does not find was certainly not sent. Default: yes. */
  provesAbsence?: false;
  deduplicates: boolean;
  knowsReach: boolean;
}[] = [
  {
    name: 'simulated',
    create: simulatedWorld,
    recognisesAttempts: true,
    deduplicates: true,
    knowsReach: true,
  },
  { name: 'smtp', create: smtpWorld, recognisesAttempts: false, deduplicates: false, knowsReach: false },
  {
    name: 'bluebubbles',
    async create() {
      const world = await blueBubblesWorld();
      // It creates groups with it only.
      Object.assign(world.server.info, { private_api: true, helper_connected: true });
      return world;
    },
    recognisesAttempts: true,
    deduplicates: false,
    knowsReach: true,
  },
  { name: 'twilio', create: twilioWorld, recognisesAttempts: true, deduplicates: false, knowsReach: false },
  { name: 'linq', create: linqWorld, recognisesAttempts: true, deduplicates: true, knowsReach: true },
  {
    name: 'sendblue',
    create: sendblueWorld,
    recognisesAttempts: true,
    deduplicates: false,
    knowsReach: true,
  },
  {
    name: 'telnyx',
    create: telnyxWorld,
    recognisesAttempts: true,
    // It does not say how soon it lists a message.
    provesAbsence: false,
    deduplicates: false,
    knowsReach: false,
  },
];
/** Carriers whose server can be asked about an attempt and sends callbacks. */
const CARRIERS_WITH_CALLBACKS = CARRIERS.filter(({ recognisesAttempts }) => recognisesAttempts);

const guard = createGuard({ allowPrivate: false, httpsOnly: true });
const never = new AbortController().signal;
/** Long enough ago that nothing can still be in flight. */
const longAgo = (): Date => new Date(Date.now() - 10 * 60_000);
/** A different text for each attempt: some servers identify a message only by its text. */
const textOf = (attemptId: string): string => `Hello Ada, ${attemptId}`;

/** The carrier of test mode has no server: test/end-to-end/test-mode/test-mode.test.ts. */
const testSends = { keep: async () => true, has: async () => true };

test('every registered carrier is tested in this file', async () => {
  const simulator = { url: 'http://127.0.0.1:1', secret: 'secret' };
  const carriers = createCarriers({ testSends, simulator, guard, untrusted: createUntrustedWork() });
  expect(new Set(carriers.connectable)).toEqual(new Set(CARRIERS.map(({ name }) => name)));
  for (const name of carriers.names) expect(carriers.get(name).name).toBe(name);
  expect(() => carriers.get('pigeon')).toThrow('pigeon');
  await carriers.close();
});

test('every registered carrier with an HTTP API is tested with somebody else who answers', () => {
  const others = HTTP_CARRIERS.map(({ name }) => name);
  expect(new Set([...others, 'smtp'])).toEqual(new Set(CARRIERS.map(({ name }) => name)));
});

test('the simulated carrier requires a simulator', async () => {
  const carriers = createCarriers({ testSends, simulator: null, guard, untrusted: createUntrustedWork() });
  expect(() => carriers.get('simulated')).toThrow('simulated');
  await carriers.close();
});

/** Starts a world for the tests of one `describe`. */
function useWorld(create: () => Promise<CarrierWorld>) {
  let world: CarrierWorld;
  beforeAll(async () => {
    world = await create();
  });
  afterAll(() => world.stop());
  const send = (to: string, fields: Partial<OutboundMessage> = {}, signal = never) => {
    const attemptId = fields.attemptId ?? newId();
    const message = outbound(world, to, { attemptId, text: textOf(attemptId), ...fields });
    return world.carrier.send(world.config, message, signal);
  };
  const lookUp = (
    attemptId: string,
    fields: Pick<AttemptReference, 'startedAt' | 'startedBy'> & Partial<AttemptReference>,
  ) =>
    world.carrier.reconcile(world.config, {
      attemptId,
      lineId: LINE_ID,
      channel: world.channel,
      from: null,
      to: world.to.taken,
      text: textOf(attemptId),
      attachmentCount: 0,
      takenIds: [],
      ...fields,
    });
  return {
    get: () => world,
    send,
    async accepted(to: string, fields: Partial<OutboundMessage> = {}): Promise<string> {
      const outcome = await send(to, fields);
      if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
      return outcome.carrierMessageId;
    },
    lookUp,
    reconcile: (attemptId: string, startedAt: Date, to = world.to.taken) =>
      lookUp(attemptId, { startedAt, startedBy: startedAt, to }),
  };
}

describe.each(CARRIERS)('the carrier $name', ({ name, create, recognisesAttempts }) => {
  const { get, send, accepted, lookUp, reconcile } = useWorld(create);

  it('has the name under which it is registered', () => {
    expect(get().carrier.name).toBe(name);
    expect(get().carrier.channels).toContain(get().channel);
  });

  it('reports accepted for a message that its server takes once', async () => {
    const { to, taken } = get();
    expect(await accepted(to.taken)).not.toBe('');
    expect(await taken(to.taken)).toBe(1);
  });

  it('reports refused for a permanent refusal', async () => {
    const { to, taken } = get();
    expect(await send(to.refused)).toEqual({ kind: 'refused', reason: expect.stringMatching(/.+/) });
    expect(await taken(to.refused)).toBe(0);
  });

  it('reports a reachable recipient as available', async () => {
    const { carrier, config, to } = get();
    expect(await carrier.checkAvailability(config, to.taken)).toEqual({ status: 'available' });
  });

  it('reports transient, and sends nothing, if the server asks to retry later', async () => {
    const { to, taken } = get();
    expect(await send(to.later)).toMatchObject({ kind: 'transient' });
    expect(await taken(to.later)).toBe(0);
  });

  it('reports unknown for a lost response, and reconciles it if the server can be asked', async () => {
    const { to, taken } = get();
    const attemptId = newId();
    expect(await send(to.responseLost, { attemptId })).toMatchObject({ kind: 'unknown' });
    expect(await taken(to.responseLost)).toBe(1);
    const found = await reconcile(attemptId, new Date(), to.responseLost);
    expect(found.kind).toBe(recognisesAttempts ? 'accepted' : 'unknown');
  });

  it('finds a message of which no record is left, if it is listed as a carrier that can', async () => {
    const { to } = get();
    const text = textOf(newId());
    const carrierMessageId = await accepted(to.taken, { text });
    const found = await lookUp(newId(), { startedAt: new Date(), startedBy: new Date(), text });
    if (FIND_BY_CONTENT.includes(name)) expect(found).toMatchObject({ kind: 'accepted', carrierMessageId });
    else expect(found.kind).not.toBe('accepted');
  });

  it('reports unknown for a late response without waiting for it', async () => {
    const { to, carrier } = get();
    const attemptId = newId();
    const started = performance.now();
    expect(await send(to.responseLate, { attemptId })).toMatchObject({ kind: 'unknown' });
    expect(performance.now() - started).toBeLessThan(2 * carrier.timeoutMs);
    const found = await reconcile(attemptId, new Date(), to.responseLate);
    expect(found.kind).toBe(recognisesAttempts ? 'accepted' : 'unknown');
  });

  it('sends nothing if the call is aborted before it begins', async () => {
    const { to, taken } = get();
    const before = await taken(to.taken);
    expect(await send(to.taken, {}, AbortSignal.abort())).toMatchObject({ kind: 'transient' });
    expect(await taken(to.taken)).toBe(before);
  });

  it('has its secrets sealed in storage, masked in responses and opened for use', () => {
    const { carrier, secretConfig } = get();
    const seal = (plain: string) => `sealed:${Buffer.from(plain).toString('base64')}`;
    const open = (sealed: string) => Buffer.from(sealed.slice('sealed:'.length), 'base64').toString();
    const stored = sealConfig(carrier.config, secretConfig.given, seal);
    const shown = JSON.stringify(maskConfig(carrier.config, stored));
    for (const secret of secretConfig.secrets) {
      expect(JSON.stringify(stored)).not.toContain(secret);
      expect(JSON.stringify(stored)).toContain(seal(secret));
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain(seal(secret));
    }
    expect(openConfig(carrier.config, stored, open)).toMatchObject(secretConfig.given);
  });

  it('passes the probe of a line that can send', async () => {
    const { carrier, config } = get();
    await expect(carrier.probe(config, LINE_ID)).resolves.toBeUndefined();
  });

  it('reports transient and fails the probe while its server is down', async () => {
    const { carrier, config, to, stopServer } = get();
    await stopServer();
    expect(await send(to.taken)).toMatchObject({ kind: 'transient' });
    await expect(carrier.probe(config, LINE_ID)).rejects.toThrow(/ECONNREFUSED|connection refused/);
    const kind = recognisesAttempts ? 'unreachable' : 'unknown';
    expect((await reconcile(newId(), longAgo())).kind).toBe(kind);
  });
});

describe.each(CARRIERS)('the groups of the carrier $name', ({ create }) => {
  const { get } = useWorld(create);
  const other = '+14155550150';
  const send = (
    participants: string[],
    fields: Partial<OutboundMessage> = {},
    id: string | null = null,
  ): Promise<SendOutcome> => {
    const { carrier, groupConfig } = get();
    const group = { id, participants };
    const message = outbound(get(), `group:${LINE_ID}`, { text: textOf(newId()), group, ...fields });
    return carrier.send(groupConfig, message, never);
  };
  const find = (group: CarrierGroup, text: string, fields: Partial<AttemptReference> = {}) => {
    const { carrier, groupConfig, channel } = get();
    const startedAt = fields.startedAt ?? new Date();
    return carrier.reconcile(groupConfig, {
      attemptId: newId(),
      lineId: LINE_ID,
      channel,
      from: null,
      to: `group:${LINE_ID}`,
      group,
      startedAt,
      startedBy: startedAt,
      text,
      attachmentCount: 0,
      takenIds: [],
      ...fields,
    });
  };

  it('are declared if there are any', () => {
    const { carrier, channel, groupConfig, config } = get();
    expect(carrier.capabilities(channel, groupConfig ?? config).includes('groups')).toBe(
      groupConfig !== undefined,
    );
    expect(carrier.capabilities('sms', groupConfig ?? config)).not.toContain('groups');
  });

  it('are created by the first message, and then written to', async () => {
    const { to, taken, groupConfig } = get();
    if (!groupConfig) return;
    const participants = [to.taken, other];
    const first = await send(participants);
    expect(first).toMatchObject({ kind: 'accepted', groupId: expect.stringMatching(/.+/) });
    const id = 'groupId' in first ? (first.groupId ?? null) : null;
    expect(await send(participants, {}, id)).toMatchObject({ kind: 'accepted' });
    expect(await taken(to.taken)).toBe(2);
  });

  it('and what was sent to them are found if the response is lost', async () => {
    const { to, taken, groupConfig } = get();
    if (!groupConfig) return;
    const participants = [to.responseLost, other];
    const [attemptId, text] = [newId(), textOf(newId())];
    expect(await send(participants, { attemptId, text })).toMatchObject({ kind: 'unknown' });
    const found = await find({ id: null, participants }, text, { attemptId });
    expect(found).toMatchObject({ kind: 'accepted', groupId: expect.stringMatching(/.+/) });
    const id = 'groupId' in found ? (found.groupId ?? null) : null;
    const next = { attemptId: newId(), text: textOf(newId()) };
    expect(await send(participants, next, id)).toMatchObject({ kind: 'unknown' });
    const again = await find({ id, participants }, next.text, next);
    expect(again).toMatchObject({ kind: 'accepted' });
    expect(again).not.toMatchObject(found);
    expect(await taken(to.responseLost)).toBe(2);
  });

  it('are not found if they were not created', async () => {
    const { groupConfig } = get();
    if (!groupConfig) return;
    const participants = ['+14155550160', '+14155550161'];
    expect(await find({ id: null, participants }, 'Hello', { startedAt: longAgo() })).toEqual({
      kind: 'not_sent',
    });
  });

  it('are not created if somebody cannot be reached', async () => {
    const { to, taken, groupConfig } = get();
    if (!groupConfig || to.unreachable === undefined) return;
    const before = await taken(to.taken);
    expect(await send([to.taken, to.unreachable])).toMatchObject({ kind: 'unavailable' });
    expect(await taken(to.taken)).toBe(before);
  });
});

describe.each(CARRIERS)('the connection checks of the carrier $name', ({ create }) => {
  const { get } = useWorld(create);
  const check = async (config: unknown) => {
    const { carrier, channel, callbacks } = get();
    const found: ConnectionCheck[] = [];
    const checks = carrier.checkConnection(config, {
      lineId: LINE_ID,
      address: channel === 'email' ? 'dana@line.example' : '+14155550111',
      callbackUrl: callbacks?.url.split('?')[0] ?? null,
      reachCallbacks: async () => ({ result: 'pass', text: 'It answers.' }),
    });
    for await (const check of checks) found.push(check);
    return found;
  };

  it('find no fault with settings that work', async () => {
    const found = await check(get().config);
    // Somebody has to enter the callback URL at the provider.
    const failed = found.filter(({ result, name }) => result === 'fail' && name !== 'callback');
    expect(failed).toEqual([]);
    expect(found[0]).toMatchObject({ name: 'server', result: 'pass' });
    expect(new Set(found.map(({ name }) => name)).size).toBe(found.length);
  });

  it('name the credential that the server refuses, and what it is in the settings', async () => {
    const { wrongConfig } = get();
    if (wrongConfig === null) return;
    const [server, credentials] = await check(wrongConfig);
    expect(server).toMatchObject({ name: 'server', result: 'pass' });
    expect(credentials).toMatchObject({ name: 'credentials', result: 'fail' });
    expect(Object.keys(wrongConfig)).toContain(credentials?.setting);
  });

  it('say that the server does not respond, and why', async () => {
    const { config, stopServer } = get();
    await stopServer();
    const [server] = await check(config);
    expect(server).toMatchObject({ name: 'server', result: 'fail' });
    // On a connection that was open before, the server may still seem to respond.
    expect(server?.text).toMatch(/connection (refused|reset|closed)/);
  });
});

/** What tunnels, proxies, gateways and other services respond in the place of a carrier. */
const FOREIGN_BODIES: readonly (readonly [type: string, body: string | Buffer, encoding?: string])[] = [
  ['text/html', '<!DOCTYPE html><html><body><h1>Tunnel not found</h1></body></html>'],
  ['application/json', '<!DOCTYPE html><title>Sign in</title><form method="post"></form>'],
  ['application/json', '{"message":"no Route matched with those values"}'],
  ['application/json', '{"code":404,"message":"Application not found","status":"error"}'],
  ['application/json', '{"error":"not found"}'],
  ['application/json', '{"error":{"type":"invalid_request_error","code":"resource_missing","message":"no"}}'],
  ['application/json', '{"success":false,"error":{"code":400,"message":"Bad Request"}}'],
  ['application/json', '{"success":false,"errors":[{"code":1003,"message":"Invalid or missing zone id."}]}'],
  ['application/json', '{"errors":[{"status":"404","code":"404","title":"Not Found"}]}'],
  ['application/vnd.api+json', '{"data":{"id":"42","type":"sessions","attributes":{}}}'],
  ['application/json', '{"ok":true,"id":"42","ts":"1700000000.0001"}'],
  // Cut off, which the length of the response does not show.
  [
    'application/json',
    '{"data":{"id":"40319","record_type":"message","guid":"1","sid":"SM1","message_handle":"1',
  ],
  ['application/json', '{"success":false,"error":{"code":1004,"message":"Invalid mess'],
  ['text/plain', ''],
  ['application/json', gzipSync(Buffer.alloc(8_000_000, ' ')), 'gzip'],
];

const toSomebody = (channel: Channel): OutboundMessage => ({
  attemptId: newId(),
  messageId: newId(),
  lineId: LINE_ID,
  channel,
  from: { address: '+14155550111', name: 'Dana Line' },
  to: { address: '+14155550100', name: 'Ada' },
  text: 'Hello Ada',
  attachments: [],
  callbackUrl: 'http://localhost',
});

describe.each(HTTP_CARRIERS)('the settings of the carrier $name', ({ name, connect }) => {
  it('are refused by name if they cannot be sent', async () => {
    const other = await startSomebodyElse();
    const { carrier, config, channel } = connect(other.url);
    for (const [field, value] of Object.entries(config))
      for (const bad of [`${String(value)}\nx-other: 1`, `${String(value)}\0`, `${String(value)} ключ`]) {
        const parsed = carrier.config.safeParse({ ...config, [field]: bad });
        const before = other.requests();
        if (parsed.success) await carrier.send(parsed.data, toSomebody(channel), never);
        else expect(parsed.error.issues.map(({ path }) => path)).toEqual([[field]]);
        expect({ field, bad, isSent: other.requests() > before }).toMatchObject({ isSent: parsed.success });
      }
    await carrier.close();
    await other.stop();
  });

  // That of the simulator is the operator's.
  it.skipIf(name === 'simulated')('name no server inside, whatever a name turns out to be', async () => {
    const other = await startSomebodyElse();
    const rebound = createGuard({
      allowPrivate: false,
      httpsOnly: false,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const carriers = createCarriers({
      testSends,
      simulator: null,
      guard: rebound,
      untrusted: createUntrustedWork(),
    });
    const carrier = carriers.get(name);
    const { config, channel } = connect(other.url);
    const setting = 'url' in config ? 'url' : 'baseUrl';
    for (const host of ['carrier.example', '127.0.0.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:7f00:1]']) {
      const there = { ...config, [setting]: other.url.replace('127.0.0.1', host) };
      const outcome = await carrier.send(carrier.config.parse(there), toSomebody(channel), never);
      expect({ host, ...outcome }).toMatchObject({
        kind: 'transient',
        reason: expect.stringContaining('loopback'),
      });
      await expect(carrier.probe(there, LINE_ID)).rejects.toThrow('loopback');
    }
    expect(other.requests()).toBe(0);
    await carriers.close();
    await other.stop();
  });
});

describe.each(HTTP_CARRIERS)('somebody else who answers for the carrier $name', ({ name, connect }) => {
  it('fails no message, whatever the status and the body', async () => {
    const other = await startSomebodyElse();
    const { carrier, config, channel } = connect(other.url);
    const reachCallbacks = async () => ({ result: 'pass', text: '' }) as const;
    const subject = { lineId: LINE_ID, address: null, callbackUrl: null, reachCallbacks };
    const send = async (status: number, body: (typeof FOREIGN_BODIES)[number]) => {
      other.answer(status, ...body);
      return carrier.send(carrier.config.parse(config), toSomebody(channel), never);
    };
    for (const body of FOREIGN_BODIES) {
      for (const status of [302, 400, 401, 403, 404, 405, 407, 410, 413, 414, 421, 429, 431, 451])
        expect({ name, status, body, ...(await send(status, body)) }).toMatchObject({
          kind: 'transient',
          ofLine: true,
        });
      // It may have been passed on to the carrier, unless a question comes first.
      const kind = name === 'linq' ? 'transient' : 'unknown';
      for (const status of [200, 202, 204, 500, 502, 503, 504, 530])
        expect({ name, status, body, ...(await send(status, body)) }).toMatchObject({ kind, ofLine: true });
      const before = other.requests();
      await send(502, body);
      expect(other.requests() - before).toBeLessThanOrEqual(
        name === 'bluebubbles' || name === 'sendblue' ? 2 : 1,
      );
      for (const status of [200, 302, 404, 530]) {
        other.answer(status, ...body);
        await expect(carrier.probe(config, LINE_ID)).rejects.toThrow(/\S/);
        for await (const { name: check, result } of carrier.checkConnection(config, subject))
          expect(['credentials', 'line'].includes(check) && result === 'pass').toBe(false);
      }
    }
    await carrier.close();
    await other.stop();
  });
});

/** For each stand-in and case. */
const MESSAGES = Number(process.env['FAULT_MESSAGES'] ?? 20);

describe.each(CARRIERS)('the carrier $name under load', ({ name, create, recognisesAttempts }) => {
  const { get, send, reconcile } = useWorld(create);
  const found = recognisesAttempts ? 'accepted' : 'unknown';

  it.each([
    ['taken', 'accepted', 1],
    ['refused', 'refused', 0],
    ['responseLost', found, 1],
  ] as const)(
    'with recipients of the kind “%s” no message is lost and none is sent twice',
    async (kind, expectedEnd, timesTaken) => {
      const to = get().to[kind];
      const before = await get().taken(to);
      const attempts = Array.from({ length: MESSAGES }, () => newId());
      // To lose a response, the mail server ends every connection, so it gets one message at a time.
      const limited = pLimit(name === 'smtp' ? 1 : 10);
      const ends = await Promise.all(
        attempts.map((attemptId) =>
          limited(async () => {
            const outcome = await send(to, { attemptId });
            return outcome.kind === 'unknown'
              ? (await reconcile(attemptId, new Date(), to)).kind
              : outcome.kind;
          }),
        ),
      );
      expect(ends).toEqual(attempts.map(() => expectedEnd));
      expect((await get().taken(to)) - before).toBe(timesTaken * MESSAGES);
    },
    300_000,
  );
});

describe.each(CARRIERS_WITH_CALLBACKS)(
  'the server of the carrier $name',
  ({ create, deduplicates, knowsReach, provesAbsence = true }) => {
    const { get, send, reconcile } = useWorld(create);

    it('makes a send to an unreachable recipient unavailable, and says so beforehand if it can', async () => {
      const { carrier, config, to, taken } = get();
      const unreachable = to.unreachable ?? '';
      expect(await send(unreachable)).toMatchObject({ kind: 'unavailable' });
      expect(await taken(unreachable)).toBe(0);
      const { status } = await carrier.checkAvailability(config, unreachable);
      expect(status).toBe(knowsReach ? 'unavailable' : 'available');
    });

    it.runIf(deduplicates)('takes an attempt once and repeats its response for the same id', async () => {
      const { to, taken } = get();
      const attemptId = newId();
      const first = await send(to.taken, { attemptId });
      expect(first.kind).toBe('accepted');
      expect(await send(to.taken, { attemptId })).toEqual(first);
      expect(await taken(to.taken)).toBe(1);
    });

    it('reports an unknown attempt as not sent only once it can no longer be in flight', async () => {
      // Nobody has written to this recipient.
      const { later: to } = get().to;
      expect(await reconcile(newId(), new Date(), to)).toMatchObject({ kind: 'unreachable' });
      const later = provesAbsence ? { kind: 'not_sent' } : { kind: 'unreachable' };
      expect(await reconcile(newId(), longAgo(), to)).toMatchObject(later);
    });
  },
);

describe.each(CARRIERS_WITH_CALLBACKS)('a callback of the carrier $name', ({ create }) => {
  const { get, accepted } = useWorld(create);
  const callbacks = () => get().callbacks as NonNullable<CarrierWorld['callbacks']>;
  const read = (request: CallbackRequest) => get().carrier.parseCallback(get().config, request, 'tenant');
  const readAll = async (requests: CallbackRequest[]) => (await Promise.all(requests.map(read))).flat();
  const about = (id: string) => callbacks().received.filter(({ rawBody }) => rawBody.includes(id));

  it('gives its events if it is signed', async () => {
    const carrierMessageId = await accepted(get().to.taken);
    const receipts = async () => {
      // Some carriers also report the message itself, or tell of it at two addresses.
      const told = (await readAll(about(carrierMessageId))).filter(({ kind }) => kind !== 'own_message');
      // How it has travelled, only some tell.
      return [...new Map(told.map((event) => [event.eventId, { ...event, transport: undefined }])).values()];
    };
    await expect.poll(receipts).toEqual([
      {
        kind: 'receipt',
        eventId: expect.stringMatching(/.+/),
        carrierMessageId,
        status: 'delivered',
        at: expect.any(Date),
      },
    ]);
  });

  it('is repeated with the same event id unless the response is 2xx', async ({ skip }) => {
    const { failingOnceUrl } = callbacks();
    if (failingOnceUrl === null) return skip('the server does not repeat its callbacks');
    const carrierMessageId = await accepted(get().to.taken, { callbackUrl: failingOnceUrl });
    await expect.poll(() => about(carrierMessageId).length, { timeout: 5000 }).toBe(2);
    const [first, second] = await readAll(about(carrierMessageId));
    expect(first?.eventId).toBeDefined();
    expect(second?.eventId).toBe(first?.eventId);
  });

  it('is refused if it is forged, altered, old or for another line', async () => {
    const { good, forged } = callbacks().examples();
    expect(await read(good)).toHaveLength(1);
    expect(forged.length).toBeGreaterThan(0);
    for (const request of forged) await expect(read(request)).rejects.toThrow(BadSignature);
  });
});
