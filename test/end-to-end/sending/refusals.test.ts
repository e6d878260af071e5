import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { settleAccepted } from '#db/commands/sending/accepted-sends.ts';
import { settlePrimary } from '#db/commands/sending/outcomes.ts';
import { happenedIn } from '#db/connection/message-traces.ts';
import { listShownMessages, presentFound } from '#db/queries/messages/shown-messages.ts';
import { settleSetAside } from '#db/commands/operations/set-aside.ts';
import { listSetAside } from '#db/queries/operations/set-aside.ts';
import { type AttemptRow, markAnsweredElsewhere } from '#db/queries/sending/attempts.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { refusedCredentials, type SendOutcome } from '#domain/messages/send-outcome.ts';
import { lineGapMs } from '#domain/sending/line-limits.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { startReplying } from '#test/support/replying-mail-server.ts';
import { HTTP_CARRIERS, startSomebodyElse } from '#test/conformance/http-carrier-worlds.ts';
import { smtpCarrier } from '#providers/carriers/smtp/smtp.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';

let app: TestApp;

// No worker: the test is the carrier.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

const ANSWERS = {
  accepted: { kind: 'accepted', carrierMessageId: '' },
  refused: { kind: 'refused', reason: 'Message filtered' },
  elsewhere: { kind: 'transient', reason: 'the carrier responded 404', ofLine: true },
  credentials: refusedCredentials('Authenticate'),
  overloaded: { kind: 'transient', reason: 'Too many requests' },
  unavailable: { kind: 'unavailable', reason: 'not on iMessage' },
  optedOut: { kind: 'refused', reason: 'Recipient has opted out', optedOut: true },
} as const satisfies Record<string, SendOutcome>;
type Answer = keyof typeof ANSWERS;

const MESSAGES = 14;

/** A line with due messages, and a carrier that answers as the test says. */
async function startLine(minGapSeconds: number) {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id, 'imessage', {
    min_gap_seconds: minGapSeconds,
    hourly_new_limit: 100,
  });
  const api = apiClient(app.url, workspace.key);
  for (let n = 0; n < MESSAGES; n += 1)
    await api('POST', '/api/messages', { message: 'Hello', recipientPhone: phone(), fromLineId: lineId });
  const settle = (attempt: AttemptRow, outcome: SendOutcome, at: Date) =>
    withTenant(app.pools, workspace.id, async (db) => {
      if (outcome.kind !== 'accepted') return settlePrimary(db, attempt, outcome, at);
      const send = { attempt, carrierMessageId: newId(), text: null, at, happenedIn: happenedIn() };
      await settleAccepted(db, [send], at);
    });
  const calls: { at: number; answer: SendOutcome }[] = [];
  let time = Date.now() + 1000;
  return {
    lineId,
    calls,
    api,
    inTenant: <T>(work: (db: TenantDb) => Promise<T>) => withTenant(app.pools, workspace.id, work),
    /** Nothing is tried, as while the send window of the line is closed. */
    rest: (days: number) => void (time += days * 24 * 3_600_000),
    /** Plans, and answers what is sent, until the line rests. */
    async run(
      answer: (call: number, attempt: AttemptRow) => Answer | Promise<SendOutcome>,
      { rounds = 40 } = {},
    ): Promise<void> {
      for (let round = 0; round < rounds; round += 1) {
        const at = new Date(time);
        const plan = await withTenant(app.pools, workspace.id, (db) => planSends(db, lineId, 1000, () => at));
        for (const { attempt } of plan?.claims ?? []) {
          const given = answer(calls.length, attempt);
          const outcome = typeof given === 'string' ? ANSWERS[given] : await given;
          calls.push({ at: time, answer: outcome });
          // It stays open, and its carrier is asked.
          if (outcome.kind !== 'unknown') await settle(attempt, outcome, at);
        }
        if (!plan?.nextAt) return;
        time = Math.max(time + 1, plan.nextAt.getTime());
      }
    },
    // The API would say that no worker serves the carrier.
    messages: () =>
      withTenant(app.pools, workspace.id, async (db) => {
        const now = new Date();
        const { messages } = await listShownMessages(db, { lineId }, { limit: 100 }, now);
        return messages.map((found) => presentFound(found, now));
      }),
    line: async () =>
      (await api('GET', '/api/lines/by-user')).body.lines.find(({ _id }: { _id: string }) => _id === lineId),
  };
}

const failed = (messages: readonly { status: string }[]): number =>
  messages.filter(({ status }) => status === 'failed').length;

test('a line whose carrier refuses five recipients in a row fails no further message until one is accepted', async () => {
  const line = await startLine(0);
  await line.run(() => 'refused');
  const waiting = await line.messages();
  expect(failed(waiting)).toBe(5);
  expect(waiting.filter(({ holdReason }) => holdReason === 'carrier_pause')).toHaveLength(MESSAGES - 5);
  expect(await line.line()).toMatchObject({
    blocked: { since: expect.any(String), reason: 'Message filtered' },
  });
  const before = line.calls.length;
  await line.run((call) => (call === before + 2 ? 'accepted' : 'refused'), { rounds: 8 });
  expect(failed(await line.messages())).toBeLessThanOrEqual(10);
});

test.each([
  ['a recipient who is not on iMessage', 'unavailable', 5],
  ['a recipient who has opted out', 'optedOut', MESSAGES],
] as const)('%s does not end the block by five refusals', async (_, answer, failures) => {
  const line = await startLine(1);
  await line.run((call) => (call < 5 ? 'refused' : answer));
  expect(failed(await line.messages())).toBe(failures);
  const trials = line.calls.slice(5);
  expect(trials).toHaveLength(MESSAGES - 5);
  for (const [n, { at }] of trials.entries())
    expect(at - (line.calls[n + 4]?.at ?? 0)).toBeGreaterThanOrEqual(Math.min(15_000 * 2 ** n, 300_000));
  expect((await line.line()).blocked).not.toBeNull();
  await line.api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    fromLineId: line.lineId,
  });
  await line.run(() => 'accepted');
  expect((await line.line()).blocked).toBeNull();
});

test('the block by five refusals lasts over days on which nothing is tried', async () => {
  const line = await startLine(0);
  await line.run(() => 'refused', { rounds: 8 });
  for (const days of [3, 10]) {
    line.rest(days);
    const before = line.calls.length;
    await line.run(() => 'refused', { rounds: 2 });
    expect(new Set(line.calls.slice(before).map(({ at }) => at)).size).toBe(line.calls.length - before);
    expect((await line.line()).blocked).not.toBeNull();
  }
  expect(failed(await line.messages())).toBe(5);
});

test('an operator who resumes a blocked line has its carrier tried again at once', async () => {
  const line = await startLine(0);
  await line.run(() => 'refused', { rounds: 12 });
  expect((await line.line()).blocked).not.toBeNull();
  const { status, body } = await line.api('POST', `/api/lines/${line.lineId}/resume`, {});
  expect(status).toBe(200);
  expect(body.line.blocked).toBeNull();
});

test('messages keep their places while somebody else answers for the carrier', async () => {
  const line = await startLine(20);
  await line.run(() => 'elsewhere', { rounds: 30 });
  const waiting = await line.messages();
  expect(failed(waiting)).toBe(0);
  expect(new Set(waiting.map(({ holdReason }) => holdReason))).toEqual(new Set(['carrier_pause']));
  expect((await line.line()).blocked).toMatchObject({ reason: 'the carrier responded 404' });
  // One is tried after a growing pause.
  expect(line.calls.length).toBeLessThan(20);
});

test('a message that a line cannot send holds up no other, and is set aside until an operator decides', async () => {
  const line = await startLine(20);
  const ids = (await line.messages()).map(({ _id }) => _id).toSorted();
  const stuck = ids.slice(0, 2);
  const isStuck = ({ messageId }: AttemptRow): boolean => stuck.includes(messageId);
  await line.run((_call, attempt) => (isStuck(attempt) ? 'elsewhere' : 'accepted'), { rounds: 300 });
  const found = await line.messages();
  expect(found.filter(({ status }) => status === 'sent')).toHaveLength(MESSAGES - stuck.length);
  const aside = found.filter(({ holdReason }) => holdReason === 'set_aside');
  expect(aside.map(({ _id, status }) => [_id, status]).toSorted()).toEqual(
    stuck.map((id) => [id, 'scheduled']),
  );
  expect(line.calls).toHaveLength(MESSAGES - stuck.length + stuck.length * 21);
  const { body } = await line.api('GET', `/api/messages/${stuck[0]}/timeline`);
  expect(body.waitingFor).toMatchObject({
    reason: 'set_aside',
    text: expect.stringMatching(/sends others \(“the carrier responded 404”\)\. An operator/),
  });

  const listed = await listSetAside(systemDb(app.pools), 1000);
  expect(listed.filter(({ subject }) => stuck.includes(String(subject['messageId'])))).toMatchObject([
    { id: expect.any(String), activity: 'sendMessage', reason: 'the carrier responded 404', failures: 21 },
    { subject: { lineId: line.lineId } },
  ]);
  const ada = {
    actor: { type: 'operator', id: null, name: 'Ada' },
    channel: 'operator',
    reason: null,
  } as const;
  const [retried = '', dropped = ''] = stuck;
  expect(await settleSetAside(app.pools, retried, 'retry', ada)).toMatchObject({ endsRun: false });
  expect(await settleSetAside(app.pools, dropped, 'drop', ada)).toMatchObject({ endsRun: false });
  expect(await settleSetAside(app.pools, dropped, 'drop', ada)).toBeNull();
  await line.run(() => 'accepted');
  const ended = (await line.messages()).filter(({ _id }) => stuck.includes(_id));
  expect(
    ended.map(({ _id, status, errorMessage }) => [_id, status, errorMessage ?? null]).toSorted(),
  ).toEqual(
    [
      [retried, 'sent', null],
      [dropped, 'failed', 'the carrier responded 404'],
    ].toSorted(),
  );
});

test('a line that is blocked tries one recipient after the other, and all keep their places', async () => {
  const tried: string[] = [];
  const line = await startLine(20);
  const places = async () =>
    (await line.messages()).map(({ _id, scheduledDate }) => [_id, scheduledDate]).toSorted();
  const before = await places();
  await line.run(
    (_call, { messageId }) => {
      tried.push(messageId);
      return 'elsewhere';
    },
    { rounds: 2 * MESSAGES },
  );
  expect(new Set(tried.slice(0, MESSAGES)).size).toBe(MESSAGES);
  expect(await places()).toEqual(before);
});

test('what somebody else has answered is shown at once, while the carrier is asked, and fails nothing', async () => {
  const line = await startLine(20);
  const attempts: AttemptRow[] = [];
  await line.run(
    async (_call, attempt) => {
      attempts.push(attempt);
      return { kind: 'unknown', reason: 'the carrier responded 502', ofLine: true };
    },
    { rounds: 1 },
  );
  const [attempt] = attempts;
  if (!attempt) throw new Error('nothing was sent');
  await line.inTenant((db) => markAnsweredElsewhere(db, attempt.id, 'the carrier responded 502'));
  const sending = (await line.messages()).find(({ _id }) => _id === attempt.messageId);
  expect(sending).toMatchObject({ status: 'pending', holdReason: 'carrier_pause' });
  const { body } = await line.api('GET', `/api/messages/${attempt.messageId}/timeline`);
  expect(body.waitingFor).toMatchObject({
    reason: 'carrier_pause',
    text: expect.stringMatching(/“the carrier responded 502”.*It is asked whether it took this one/),
  });
});

type Line = Awaited<ReturnType<typeof startLine>>;

/** That it has called no faster than its gap, and has failed at most five messages before it stopped and said so. */
async function expectBounded(line: Line, gap: number): Promise<void> {
  const { calls } = line;
  for (const [n, call] of calls.slice(1).entries()) {
    const last = calls[n] as (typeof calls)[number];
    const gapMs = lineGapMs({ id: line.lineId, minGapSeconds: gap }, new Date(last.at));
    expect(call.at - last.at).toBeGreaterThanOrEqual(gap === 0 ? 0 : gapMs);
  }
  const kinds = calls.map(({ answer }) => answer.kind);
  const accepted = kinds.filter((kind) => kind === 'accepted').length;
  const optOuts = calls.filter(({ answer }) => answer.kind === 'refused' && answer.optedOut).length;
  expect(failed(await line.messages()) - optOuts).toBeLessThanOrEqual(5 * (accepted + 1));
  if (accepted === 0 && kinds.filter((kind) => kind === 'refused').length - optOuts > 5)
    expect((await line.line()).blocked).not.toBeNull();
}

/** Each element up to nine times. */
const runsOf = <T>(elements: readonly T[]): fc.Arbitrary<T[]> =>
  fc
    .array(fc.record({ one: fc.constantFrom(...elements), times: fc.integer({ min: 1, max: 9 }) }), {
      minLength: 2,
      maxLength: 5,
    })
    .map((runs) => runs.flatMap(({ one, times }) => Array.from({ length: times }, () => one)));
const GAPS = fc.constantFrom(0, 20);

test('no sequence of answers makes a line call its carrier faster than its gap, or fail more than five messages in a row', async () => {
  await fc.assert(
    fc.asyncProperty(runsOf(Object.keys(ANSWERS) as Answer[]), GAPS, async (answers, gap) => {
      const line = await startLine(gap);
      await line.run((call) => answers[call % answers.length] ?? 'accepted');
      await expectBounded(line, gap);
    }),
    { numRuns: 15 },
  );
}, 120_000);

/** What stands in the place of the carrier: a tunnel, a page to sign in, another service; and the carrier's own refusal of a recipient. */
const RESPONSES = {
  tunnel: [404, 'text/html', '<!doctype html><title>The endpoint is offline</title>'],
  signIn: [302, 'text/html', ''],
  page: [200, 'text/html', '<!doctype html><title>Sign in</title>'],
  nothing: [204, 'text/plain', ''],
  half: [200, 'application/json', '{"data":{"id":"40319","record_type":"mess'],
  otherObject: [200, 'application/json', '{"data":{"id":"42","type":"sessions"}}'],
  otherError: [
    400,
    'application/json',
    '{"success":false,"error":{"type":"api_error","code":400,"message":"no"}}',
  ],
  gateway: [502, 'text/html', '<html>Bad gateway</html>'],
  forbidden: [403, 'application/json', '{"message":"Forbidden"}'],
  twilio: [400, 'application/json', '{"code":21211,"message":"Invalid To","status":400}'],
  telnyx: [400, 'application/json', '{"errors":[{"code":"10016","title":"Invalid to"}]}'],
  linq: [400, 'application/json', '{"success":false,"error":{"code":1002,"message":"Invalid number"}}'],
  sendblue: [
    400,
    'application/json',
    '{"status":"ERROR","error_code":4000,"error_message":"Invalid number"}',
  ],
  bluebubbles: [400, 'application/json', '{"status":400,"message":"no","error":{"type":"Validation Error"}}'],
} as const;
type Response = keyof typeof RESPONSES;
const OF_NOBODY = (Object.keys(RESPONSES) as Response[]).filter(
  (name) => !HTTP_CARRIERS.some((carrier) => carrier.name === name),
);

/** Sends an attempt by the adapter of a carrier. */
const sendBy = (
  { carrier, config, channel }: ReturnType<(typeof HTTP_CARRIERS)[number]['connect']>,
  { id: attemptId, messageId, lineId }: AttemptRow,
): Promise<SendOutcome> => {
  const from = channel === 'email' ? 'dana@line.example' : '+14155550111';
  const to = channel === 'email' ? 'ada@example.com' : '+14155550100';
  return carrier.send(
    carrier.config.parse(config),
    {
      attemptId,
      messageId,
      lineId,
      channel,
      from: { address: from, name: 'Dana Line' },
      to: { address: to, name: 'Ada' },
      text: 'Hello Ada',
      attachments: [],
      callbackUrl: 'http://localhost',
    },
    new AbortController().signal,
  );
};

/** Asks by the adapter of a carrier what became of an attempt. */
const askBy = (
  { carrier, config, channel }: ReturnType<(typeof HTTP_CARRIERS)[number]['connect']>,
  { id: attemptId, lineId, startedAt }: AttemptRow,
) =>
  carrier.reconcile(carrier.config.parse(config), {
    attemptId,
    lineId,
    channel,
    from: null,
    to: '+14155550100',
    text: 'Hello Ada',
    attachmentCount: 0,
    takenIds: [],
    startedAt,
    startedBy: startedAt,
  });

test.each(HTTP_CARRIERS.filter(({ name }) => name !== 'simulated'))(
  'nothing that answers for the carrier $name makes a line call it too fast, or fails more than five messages in a row',
  async ({ name, connect }) => {
    const other = await startSomebodyElse();
    const connected = connect(other.url);
    const refusal = name as Response;
    await fc.assert(
      fc.asyncProperty(runsOf([...OF_NOBODY, refusal]), GAPS, async (answers, gap) => {
        const line = await startLine(gap);
        await line.run(async (call, attempt) => {
          const [status, type, body] = RESPONSES[answers[call % answers.length] ?? 'tunnel'];
          other.answer(status, type, body);
          const sent = await sendBy(connected, attempt);
          if (sent.kind === 'unknown')
            expect(await askBy(connected, attempt)).toMatchObject({ kind: 'unreachable' });
          return sent;
        });
        await expectBounded(line, gap);
        expect(line.calls.map(({ answer }) => answer.kind)).not.toContain('accepted');
        if (!answers.includes(refusal)) expect(failed(await line.messages())).toBe(0);
      }),
      { numRuns: 2 },
    );
    await connected.carrier.close();
    await other.stop();
  },
  120_000,
);

test('nothing that answers for a mail server makes a line call it too fast, or fails more than five messages in a row', async () => {
  const foreign = [
    'HTTP/1.1 404 Not Found',
    '554 5.7.1 Relay access denied',
    '500 unrecognized command',
    '421 no',
  ];
  const refusal = '550 5.1.1 No such user here';
  await fc.assert(
    fc.asyncProperty(runsOf([...foreign, refusal]), GAPS, async (replies, gap) => {
      const line = await startLine(gap);
      await line.run(async (call, attempt) => {
        const reply = replies[call % replies.length] ?? refusal;
        const server = await startReplying({ [reply === refusal ? 'rcpt to' : 'greeting']: reply });
        const carrier = smtpCarrier({ untrusted: createUntrustedWork() });
        const sent = await sendBy({ carrier, config: { url: server.url }, channel: 'email' }, attempt);
        await carrier.close();
        await server.stop();
        return sent;
      });
      await expectBounded(line, gap);
      if (!replies.includes(refusal)) expect(failed(await line.messages())).toBe(0);
    }),
    { numRuns: 2 },
  );
}, 120_000);
