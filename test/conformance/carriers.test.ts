import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { newId } from '#domain/ids.ts';
import { BadSignature, type CallbackRequest, type OutboundMessage } from '#providers/carriers/carrier.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { maskConfig, openConfig, sealConfig } from '#providers/carriers/secret-config.ts';
import { createGuard } from '#providers/egress-guard.ts';
import { type CarrierWorld, LINE_ID, outbound, simulatedWorld, smtpWorld } from './carrier-worlds.ts';
import { blueBubblesWorld, twilioWorld } from './http-carrier-worlds.ts';

/** What every carrier adapter must do, against a real server of its protocol. A new one is added here. */
const CARRIERS = [
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
    create: () => blueBubblesWorld(),
    recognisesAttempts: true,
    deduplicates: false,
    knowsReach: true,
  },
  { name: 'twilio', create: twilioWorld, recognisesAttempts: true, deduplicates: false, knowsReach: false },
];
/** Those whose server can be asked about an attempt, and reports back. */
const TALKING_CARRIERS = CARRIERS.filter(({ recognisesAttempts }) => recognisesAttempts);

const guard = createGuard({ allowPrivate: false, httpsOnly: true });
const never = new AbortController().signal;
/** So long ago that nothing can still be on its way. */
const longAgo = (): Date => new Date(Date.now() - 10 * 60_000);
/** No two attempts send the same: some servers can only be asked by what was sent. */
const textOf = (attemptId: string): string => `Hello Ada, ${attemptId}`;

test('every carrier there is stands in this file', async () => {
  const simulator = { url: 'http://127.0.0.1:1', secret: 'secret' };
  const carriers = createCarriers({ simulator, guard, untrusted: createUntrustedWork() });
  expect(new Set(carriers.names)).toEqual(new Set(CARRIERS.map(({ name }) => name)));
  for (const name of carriers.names) expect(carriers.get(name).name).toBe(name);
  expect(() => carriers.get('pigeon')).toThrow('pigeon');
  await carriers.close();
});

test('there is no simulated carrier without a simulator', async () => {
  const carriers = createCarriers({ simulator: null, guard, untrusted: createUntrustedWork() });
  expect(() => carriers.get('simulated')).toThrow('simulated');
  await carriers.close();
});

/** A world for the tests of one `describe`. */
function inhabit(create: () => Promise<CarrierWorld>) {
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
  return {
    get: () => world,
    send,
    async accepted(to: string, fields: Partial<OutboundMessage> = {}): Promise<string> {
      const outcome = await send(to, fields);
      if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
      return outcome.carrierMessageId;
    },
    reconcile: (attemptId: string, startedAt: Date, to = world.to.taken) =>
      world.carrier.reconcile(world.config, {
        attemptId,
        startedAt,
        lineId: LINE_ID,
        channel: world.channel,
        to,
        text: textOf(attemptId),
        attachmentCount: 0,
        takenIds: [],
      }),
  };
}

describe.each(CARRIERS)('$name', ({ name, create, recognisesAttempts }) => {
  const { get, send, accepted, reconcile } = inhabit(create);

  it('bears the name it is known by', () => {
    expect(get().carrier.name).toBe(name);
    expect(get().carrier.channels).toContain(get().channel);
  });

  it('a message that is taken is accepted, once', async () => {
    const { to, taken } = get();
    expect(await accepted(to.taken)).not.toBe('');
    expect(await taken(to.taken)).toBe(1);
  });

  it('a permanent refusal is refused', async () => {
    const { to, taken } = get();
    expect(await send(to.refused)).toEqual({ kind: 'refused', reason: expect.stringMatching(/.+/) });
    expect(await taken(to.refused)).toBe(0);
  });

  it('a recipient within reach is available', async () => {
    const { carrier, config, to } = get();
    expect(await carrier.checkAvailability(config, to.taken)).toEqual({ status: 'available' });
  });

  it('a server that wants it later is transient, and nothing was sent', async () => {
    const { to, taken } = get();
    expect(await send(to.later)).toMatchObject({ kind: 'transient' });
    expect(await taken(to.later)).toBe(0);
  });

  it('an answer that was lost is unknown, and found out where the server can be asked', async () => {
    const { to, taken } = get();
    const attemptId = newId();
    expect(await send(to.answerLost, { attemptId })).toMatchObject({ kind: 'unknown' });
    expect(await taken(to.answerLost)).toBe(1);
    const found = await reconcile(attemptId, new Date(), to.answerLost);
    expect(found.kind).toBe(recognisesAttempts ? 'accepted' : 'unknown');
  });

  it('an answer that comes too late is unknown, and not waited for', async () => {
    const { to, carrier } = get();
    const attemptId = newId();
    const started = performance.now();
    expect(await send(to.answerLate, { attemptId })).toMatchObject({ kind: 'unknown' });
    expect(performance.now() - started).toBeLessThan(2 * carrier.timeoutMs);
    const found = await reconcile(attemptId, new Date(), to.answerLate);
    expect(found.kind).toBe(recognisesAttempts ? 'accepted' : 'unknown');
  });

  it('a call given up before it began has sent nothing', async () => {
    const { to, taken } = get();
    const before = await taken(to.taken);
    expect(await send(to.taken, {}, AbortSignal.abort())).toMatchObject({ kind: 'transient' });
    expect(await taken(to.taken)).toBe(before);
  });

  it('secrets are sealed, shown masked, and opened for use', () => {
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

  it('a line that can send passes the probe', async () => {
    const { carrier, config } = get();
    await expect(carrier.probe(config, LINE_ID)).resolves.toBeUndefined();
  });

  it('a server that is gone is transient for sends, and fails the probe', async () => {
    const { carrier, config, to, stopServer } = get();
    await stopServer();
    expect(await send(to.taken)).toMatchObject({ kind: 'transient' });
    await expect(carrier.probe(config, LINE_ID)).rejects.toThrow('ECONNREFUSED');
    const kind = recognisesAttempts ? 'unreachable' : 'unknown';
    expect((await reconcile(newId(), longAgo())).kind).toBe(kind);
  });
});

/** `npm run bench:faults` has more of each. */
const MESSAGES = Number(process.env['FAULT_MESSAGES'] ?? 20);

describe.each(CARRIERS)('$name, many times over', ({ name, create, recognisesAttempts }) => {
  const { get, send, reconcile } = inhabit(create);
  const found = recognisesAttempts ? 'accepted' : 'unknown';

  it.each([
    ['taken', 'accepted', 1],
    ['refused', 'refused', 0],
    ['answerLost', found, 1],
  ] as const)(
    'with %s no message is lost and none is sent twice',
    async (fault, end, times) => {
      const to = get().to[fault];
      const before = await get().taken(to);
      const attempts = Array.from({ length: MESSAGES }, () => newId());
      // The mail server ends every connection when it loses an answer: one at a time there.
      const atOnce = pLimit(name === 'smtp' ? 1 : 10);
      const ends = await Promise.all(
        attempts.map((attemptId) =>
          atOnce(async () => {
            const { kind } = await send(to, { attemptId });
            return kind === 'unknown' ? (await reconcile(attemptId, new Date(), to)).kind : kind;
          }),
        ),
      );
      expect(ends).toEqual(attempts.map(() => end));
      expect((await get().taken(to)) - before).toBe(times * MESSAGES);
    },
    300_000,
  );
});

describe.each(TALKING_CARRIERS)('$name, asked', ({ create, deduplicates, knowsReach }) => {
  const { get, send, reconcile } = inhabit(create);

  it('a recipient out of reach on the channel is unavailable, and known to be where the server tells', async () => {
    const { carrier, config, to, taken } = get();
    const unreachable = to.unreachable ?? '';
    expect(await send(unreachable)).toMatchObject({ kind: 'unavailable' });
    expect(await taken(unreachable)).toBe(0);
    const { status } = await carrier.checkAvailability(config, unreachable);
    expect(status).toBe(knowsReach ? 'unavailable' : 'available');
  });

  it.runIf(deduplicates)(
    'an attempt repeated under its id gets the same answer, and is taken once',
    async () => {
      const { to, taken } = get();
      const attemptId = newId();
      const first = await send(to.taken, { attemptId });
      expect(first.kind).toBe('accepted');
      expect(await send(to.taken, { attemptId })).toEqual(first);
      expect(await taken(to.taken)).toBe(1);
    },
  );

  it('for an attempt never seen it vouches only when that cannot be on its way', async () => {
    expect(await reconcile(newId(), new Date())).toMatchObject({ kind: 'unreachable' });
    expect(await reconcile(newId(), longAgo())).toEqual({ kind: 'not_sent' });
  });
});

describe.each(TALKING_CARRIERS)('$name, calling back', ({ create }) => {
  const { get, accepted } = inhabit(create);
  const callbacks = () => get().callbacks as NonNullable<CarrierWorld['callbacks']>;
  const read = (request: CallbackRequest) => get().carrier.parseCallback(get().config, request, 'tenant');
  const readAll = async (requests: CallbackRequest[]) => (await Promise.all(requests.map(read))).flat();
  const about = (id: string) => callbacks().received.filter(({ rawBody }) => rawBody.includes(id));

  it('the events of a signed callback are read', async () => {
    const carrierMessageId = await accepted(get().to.taken);
    await expect
      .poll(() => readAll(about(carrierMessageId)))
      .toEqual([
        {
          kind: 'receipt',
          eventId: expect.stringMatching(/.+/),
          carrierMessageId,
          status: 'delivered',
          at: expect.any(Date),
        },
      ]);
  });

  it('one that was not answered with 2xx comes again, with the same event id', async ({ skip }) => {
    const { failingOnceUrl } = callbacks();
    if (failingOnceUrl === null) return skip('the server does not repeat its callbacks');
    const carrierMessageId = await accepted(get().to.taken, { callbackUrl: failingOnceUrl });
    await expect.poll(() => about(carrierMessageId).length, { timeout: 5000 }).toBe(2);
    const [first, second] = await readAll(about(carrierMessageId));
    expect(first?.eventId).toBeDefined();
    expect(second?.eventId).toBe(first?.eventId);
  });

  it('one that is forged, altered, old, or for another line is refused', async () => {
    const { good, forged } = callbacks().examples();
    expect(await read(good)).toHaveLength(1);
    expect(forged.length).toBeGreaterThan(0);
    for (const request of forged) await expect(read(request)).rejects.toThrow(BadSignature);
  });
});
