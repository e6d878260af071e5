import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { sql } from 'slonik';
import { beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createCarrierCalls } from '#activities/sending/carrier-calls.ts';
import type { Dependencies } from '#activities/dependencies.ts';
import { createGapWaits } from '#activities/sending/gap-waits.ts';
import { createReconciliation } from '#activities/sending/reconciliation.ts';
import { createSendActivities } from '#activities/sending/send.ts';
import { claimFallback } from '#db/commands/sending/send-claim.ts';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { createSettle } from '#activities/sending/settlement.ts';
import { forceFallback } from '#db/commands/sending/failures.ts';
import { settleFallback } from '#db/commands/sending/outcomes.ts';
import { type AttemptRow, insertAttempts, openAttempts } from '#db/queries/sending/attempts.ts';
import { NoRows } from '#db/connection/rows.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { firstSendTime } from '#domain/sending/quiet-hours.ts';
import { createLogger } from '#providers/log.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createSigner } from '#providers/signer.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { numberIn, phone } from '#test/support/carrier.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { lineQueue } from '#workflows/protocol/task-queues.ts';

let app: TestApp;
// No worker: the test makes the attempts at times of its choice.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

const SECOND = 1000;
const DAY = 24 * 3_600_000;
const accepted = { kind: 'accepted', carrierMessageId: 'SM1' } as const;
const down = { kind: 'transient', reason: 'connection refused' } as const;

async function createSender() {
  const workspace = await createWorkspace(app);
  const { api } = workspace;
  const lineId = await createLine(app, workspace.id);
  await api('PATCH', '/api/workspace/fallback-config', {
    enabled: true,
    provider: 'simulated',
    fromNumber: '+14155550100',
  });
  const inTenant = <T>(work: (db: TenantDb) => Promise<T>) => withTenant(app.pools, workspace.id, work);

  return {
    workspace,
    lineId,
    inTenant,
    /** A message whose fallback SMS may be sent. */
    async owe(now: Date, to = phone()) {
      const request = { message: 'Hello', recipientPhone: to, forceFallback: true };
      const { body } = await api('POST', '/api/messages', request);
      await inTenant((db) => forceFallback(db, body._id, now));
      return { id: body._id as string, to };
    },
    async attempt({ id, to }: { id: string; to: string }, outcome: typeof accepted | typeof down, at: Date) {
      const attempt: AttemptRow = {
        id: newId(at),
        messageId: id,
        lineId,
        kind: 'fallback',
        channel: 'sms',
        carrier: 'simulated',
        address: to,
        isNew: false,
        contactLastSentAt: null,
        startedAt: at,
        answerBy: new Date(at.getTime() + SECOND),
      };
      await inTenant(async (db) => {
        await insertAttempts(db, [attempt]);
        await settleFallback(db, attempt, outcome, 'Hello', at);
      });
    },
    async plan(at: Date) {
      const plan = await inTenant((db) => planSends(db, lineId, SECOND, () => at));
      return { fallbacksDue: plan?.fallbacksDue, nextAt: plan?.nextAt };
    },
    waitingFor: async (id: string): Promise<object | null> =>
      (await api('GET', `/api/messages/${id}/timeline`)).body.waitingFor,
  };
}

test('a fallback SMS is retried with growing pauses for a day while its account accepts nothing', async () => {
  const sender = await createSender();
  const start = new Date();
  const message = await sender.owe(start);
  const pauses: number[] = [];
  let now = start;
  for (let tries = 0; tries < 10; tries += 1) {
    expect(await sender.plan(now)).toMatchObject({ fallbacksDue: [message.id] });
    await sender.attempt(message, down, now);
    const { fallbacksDue, nextAt } = await sender.plan(now);
    expect(fallbacksDue).toEqual([]);
    if (!nextAt) throw new Error('nobody looks again');
    pauses.push((nextAt.getTime() - now.getTime()) / SECOND);
    now = nextAt;
  }
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
  expect(await sender.waitingFor(message.id)).toMatchObject({
    reason: 'fallback_sms',
    until: now.toISOString(),
    text: expect.stringContaining(
      'The SMS account did not take it (“connection refused”). It is tried again',
    ),
  });

  const dayLater = new Date(start.getTime() + DAY);
  await sender.attempt(message, down, dayLater);
  expect(await sender.plan(new Date(dayLater.getTime() + DAY))).toEqual({ fallbacksDue: [], nextAt: null });
  expect(await sender.waitingFor(message.id)).toBeNull();
});

test('a fallback SMS that waits is not sent once fallbacks are switched off', async () => {
  const { owe, inTenant, plan, lineId, workspace } = await createSender();
  const now = new Date();
  const { id } = await owe(now);
  await inTenant((db) =>
    db.query(sql.unsafe`update fallback_configs set enabled = false where workspace_id = ${workspace.id}`),
  );
  expect(await inTenant((db) => claimFallback(db, lineId, id, () => SECOND))).toBeNull();
  expect(await plan(now)).toEqual({ fallbacksDue: [], nextAt: null });
});

test('a fallback SMS whose response was lost is not sent again once its account has changed', async () => {
  const { owe, inTenant, lineId, workspace } = await createSender();
  const { id } = await owe(new Date());
  // The process that claims it crashes: the account knows nothing of the attempt.
  const claim = await inTenant((db) => claimFallback(db, lineId, id, () => SECOND));
  await workspace.api('PATCH', '/api/workspace/fallback-config', { defaultMessage: 'Another text' });
  const carrier = { name: 'simulated', config: z.object({}), reconcile: async () => ({ kind: 'not_sent' }) };
  const dependencies = {
    pools: app.pools,
    carriers: { get: () => carrier },
    secrets: createSecretBox(app.config.encryptionKeys),
    logger: createLogger('test', 'silent'),
  } as unknown as Dependencies;
  const settle = createSettle(dependencies);
  const reconcile = createReconciliation(dependencies, createCarrierCalls(dependencies, settle), settle);
  const line = { workspaceId: workspace.id, lineId, carrier: 'simulated' };
  await eventually(async () => {
    await reconcile(line, () => false);
    return inTenant(async (db) => (await openAttempts(db, lineId)).length === 0);
  });
  const outcome = await inTenant((db) =>
    db.oneFirst(sql.type(z.object({ outcome: z.string() }))`
      select outcome from attempts where workspace_id = ${workspace.id} and id = ${claim?.attempt.id ?? ''}`),
  );
  expect(outcome).toBe('unknown');
  expect((await workspace.api('GET', `/api/messages/${id}`)).body).toMatchObject({
    fallbackSmsDispatched: false,
  });
});

test('a fallback SMS fails after eight attempts if its account accepts others', async () => {
  const sender = await createSender();
  const start = new Date();
  const [message, other] = [await sender.owe(start), await sender.owe(start)];
  const at = (second: number): Date => new Date(start.getTime() + second * SECOND);
  await sender.attempt(message, down, at(0));
  await sender.attempt(other, accepted, at(1));
  for (let tries = 2; tries <= 7; tries += 1) await sender.attempt(message, down, at(tries));
  expect(await sender.waitingFor(message.id)).toMatchObject({ reason: 'fallback_sms' });
  await sender.attempt(message, down, at(8));
  expect(await sender.waitingFor(message.id)).toBeNull();
  expect(await sender.plan(at(DAY))).toEqual({ fallbacksDue: [], nextAt: null });
});

test('a fallback SMS that falls due in the quiet hours of its recipient waits for their end', async () => {
  const { owe, attempt, plan, waitingFor, workspace } = await createSender();
  const hours = { start: '08:00', end: '21:00' };
  const setQuietHours = (appliesTo: string[]) =>
    workspace.api('PUT', '/api/workspace/quiet-hours', { enabled: true, ...hours, appliesTo });
  await setQuietHours(['message']);
  // 23:00 or midnight in San Francisco, and 16:00 in Tokyo.
  const night = new Date(`${new Date(Date.now() + DAY).toISOString().slice(0, 10)}T07:00:00Z`);
  const asleep = await owe(night, numberIn('+1415', 7));
  const awake = await owe(night, numberIn('+81901', 7));
  const quiet = { zones: ['America/Los_Angeles'], ...hours, law: null };
  const morning = firstSendTime({ quiet }, night);
  if (!morning) throw new Error('there is no morning');

  // Others may be due after those that are read at once.
  expect(await plan(night)).toEqual({ fallbacksDue: [awake.id], nextAt: new Date(night.getTime() + 50) });
  await attempt(awake, accepted, night);
  expect(await plan(night)).toEqual({ fallbacksDue: [], nextAt: morning });
  const get = async () => (await workspace.api('GET', `/api/messages/${asleep.id}`)).body;
  expect(await get()).toMatchObject({ status: 'fallback', holdReason: 'recipient_quiet_hours' });
  expect(await waitingFor(asleep.id)).toMatchObject({
    reason: 'recipient_quiet_hours',
    until: morning.toISOString(),
  });
  const { events } = (await workspace.api('GET', `/api/messages/${asleep.id}/timeline`)).body;
  expect(events.at(-1)).toMatchObject({ type: 'moved', data: { reason: 'recipient_quiet_hours' } });

  expect(await plan(morning)).toMatchObject({ fallbacksDue: [asleep.id] });
  await attempt(asleep, accepted, morning);
  expect(await get()).toMatchObject({ fallbackSmsDispatched: true, holdReason: null });

  await setQuietHours(['drip']);
  const other = await owe(night, numberIn('+1415', 7));
  expect(await plan(night)).toMatchObject({ fallbacksDue: [other.id] });
});

test('an SMS that is late waits for the send window of its message', async () => {
  const { plan, inTenant, workspace, waitingFor } = await createSender();
  const { body } = await workspace.api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    forceFallback: true,
    timezone: 'UTC',
    sendWindowStart: '09:00',
    sendWindowEnd: '18:00',
  });
  const day = new Date(Date.now() + 2 * DAY).toISOString().slice(0, 10);
  const [night, morning, nextMorning] = [
    new Date(`${day}T03:00:00Z`),
    new Date(`${day}T09:00:00Z`),
    new Date(Date.parse(`${day}T09:00:00Z`) + DAY),
  ];
  const smsOnly = async (at: Date) =>
    (await inTenant((db) => planSends(db, lineOf, SECOND, () => at)))?.smsOnly;
  const lineOf = body.fromLineId as string;
  expect(await smsOnly(night)).toEqual([]);
  expect(await waitingFor(body._id)).toMatchObject({ reason: 'send_window', until: morning.toISOString() });
  expect(await smsOnly(morning)).toEqual([body._id]);
  // Its account does not take it before the window closes.
  await inTenant((db) => forceFallback(db, body._id, morning));
  const evening = new Date(`${day}T19:00:00Z`);
  expect((await plan(evening)).fallbacksDue).toEqual([]);
  expect(await plan(evening)).toEqual({ fallbacksDue: [], nextAt: nextMorning });
  expect(await waitingFor(body._id)).toMatchObject({
    reason: 'send_window',
    until: nextMorning.toISOString(),
  });
});

test('a fallback SMS whose response was lost is not looked at all the time during quiet hours', async () => {
  const { owe, inTenant, plan, lineId, workspace } = await createSender();
  const hours = { start: '08:00', end: '21:00', appliesTo: ['message'] };
  await workspace.api('PUT', '/api/workspace/quiet-hours', { enabled: true, ...hours });
  const night = new Date(`${new Date(Date.now() + DAY).toISOString().slice(0, 10)}T07:00:00Z`);
  const { id } = await owe(night, numberIn('+1415', 7));
  expect(await inTenant((db) => claimFallback(db, lineId, id, () => SECOND))).not.toBeNull();
  expect(await plan(night)).toEqual({ fallbacksDue: [], nextAt: new Date(night.getTime() + 10 * SECOND) });
});

test('a fallback SMS that moves to another line is sent by one of them', async () => {
  const { workspace, lineId, inTenant, owe } = await createSender();
  const otherLine = await createLine(app, workspace.id);
  const claim = (db: TenantDb, line: string, id: string) => claimFallback(db, line, id, () => SECOND);
  const move = (id: string) =>
    inTenant((db) =>
      db.query(sql.type(NoRows)`
        update messages set line_id = ${otherLine} where workspace_id = ${workspace.id} and id = ${id}`),
    );

  const claimed = await owe(new Date());
  await inTenant(async (db) => {
    expect(await claim(db, lineId, claimed.id)).not.toBeNull();
    // The other line does not see the attempt before it is committed.
    expect(await inTenant((other) => claim(other, otherLine, claimed.id))).toBeNull();
  });

  const moved = await owe(new Date());
  await move(moved.id);
  expect(await inTenant((db) => claim(db, lineId, moved.id))).toBeNull();
  expect(await inTenant((db) => claim(db, otherLine, moved.id))).not.toBeNull();
});

const MINUTE = 60 * SECOND;

test.each([
  {
    when: 'its worker shuts down',
    end: (round: MockActivityEnvironment) =>
      round.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true })),
  },
  {
    when: 'its time is over',
    end: () => vi.setSystemTime(Date.now() + 3 * MINUTE),
  },
])('a round stops sending fallback SMS when $when, and the next one continues', async ({ end }) => {
  const { owe, lineId, workspace, plan } = await createSender();
  const fallbacksDue: string[] = [];
  for (let n = 0; n < 3; n += 1) fallbacksDue.push((await owe(new Date())).id);
  const taskQueue = lineQueue('simulated');
  const round = new MockActivityEnvironment({ taskQueue });
  const called: string[] = [];
  const carrier = {
    name: 'simulated',
    timeoutMs: SECOND,
    config: z.object({}),
    async send(_config: unknown, { messageId }: { messageId: string }) {
      called.push(messageId);
      end(round);
      return accepted;
    },
  };
  const logger = createLogger('test', 'silent');
  const { sendDue } = createSendActivities({
    pools: app.pools,
    temporal: app.temporal,
    carriers: { get: () => carrier },
    secrets: createSecretBox(app.config.encryptionKeys),
    signer: createSigner(app.config.signingKeys),
    publicUrl: app.url,
    gapWaits: createGapWaits({ pools: app.pools, slots: new Map(), logger }),
    logger,
  } as unknown as Dependencies);
  vi.useFakeTimers({ toFake: ['Date'] });
  const result = await round
    .run(sendDue, { workspaceId: workspace.id, lineId })
    .finally(() => vi.useRealTimers());
  expect(called).toEqual([fallbacksDue[0]]);
  expect(result).toMatchObject({ nextAt: expect.any(String) });
  // The next round is due even if the workflow does not get this result.
  const { fallbacksDue: left, nextAt } = await plan(new Date());
  expect(left).toEqual(fallbacksDue.slice(1));
  expect(nextAt?.getTime()).toBeLessThan(Date.now() + MINUTE);
});
