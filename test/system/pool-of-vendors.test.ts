import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { recordProbe } from '#db/commands/lines/line-health.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { startTelnyx, type TelnyxStandIn } from '#simulator/telnyx.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, sharedApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { type Front, startFront } from '#test/support/front.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

const MESSAGES = 200;
/** As many have been accepted by the vendor that dies. */
const BEFORE = 30;

let twilio: TwilioStandIn;
let telnyx: TelnyxStandIn;
let front: Front;
beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  telnyx = await startTelnyx('KEY1');
  front = await startFront(telnyx.url);
});
afterAll(async () => {
  await front.close();
  await telnyx.stop();
  await twilio.stop();
});

test('of 200 messages of a pool of two vendors, one of which dies among them, none is lost and none is sent twice', async () => {
  const app = await sharedApp();
  const workspace = await createWorkspace(app);
  const call = apiClient(app.url, workspace.key);
  const [dying, healthy] = [
    await createLine(app, workspace.id, 'sms'),
    await createLine(app, workspace.id, 'sms'),
  ];
  const numberOf = async (lineId: string): Promise<string> =>
    (await call('GET', `/api/lines/${lineId}`)).body.line.phone;
  telnyx.numbers.set(await numberOf(dying), 'profile-1');
  const account = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken };
  twilio.numbers.set(await numberOf(healthy), { smsUrl: '', sms: true });
  const settings = {
    [dying]: {
      provider: 'telnyx',
      config: { apiKey: 'KEY1', publicKey: telnyx.publicKey, baseUrl: front.url },
    },
    [healthy]: { provider: 'twilio', config: { ...account, baseUrl: twilio.url } },
  };
  for (const [lineId, carrier] of Object.entries(settings))
    expect(await call('PUT', `/api/lines/${lineId}/carrier`, carrier)).toMatchObject({ status: 200 });
  const { body } = await call('POST', '/api/pools', {
    name: 'Two vendors',
    lines: [{ lineId: dying }, { lineId: healthy }],
    failover: 'always',
    failoverAfterMinutes: 0,
  });
  const count = (status: string): Promise<number> =>
    withSystem(app.pools, (db) =>
      db.oneFirst(sql.type(z.object({ count: z.int() }))`
        select count(*) count from messages where workspace_id = ${workspace.id} and status = ${status}`),
    );
  const recipients = Array.from({ length: MESSAGES }, () => phone());
  const [first = '', second = '', ...others] = recipients;
  const text = { message: 'Hello', messageType: 'sms' };
  for (let start = 0; start < others.length; start += 40) {
    const entries = others
      .slice(start, start + 40)
      .map((recipientPhone) => call('POST', '/api/drip', { ...text, recipientPhone, poolId: body.pool._id }));
    for (const { status } of await Promise.all(entries)) expect(status).toBe(202);
  }
  await eventually(async () => (await count('scheduled')) === others.length);
  // They have their times one after the other; these have all come.
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`
      update messages set scheduled_at = now() where workspace_id = ${workspace.id}`),
  );
  for (const [lineId, recipientPhone] of [
    [dying, first],
    [healthy, second],
  ])
    expect(
      (await call('POST', '/api/messages', { ...text, recipientPhone, fromLineId: lineId })).status,
    ).toBe(201);

  await eventually(async () => telnyx.sent.length >= BEFORE);
  await front.die();
  // Three failed probes in a row.
  await withTenant(app.pools, workspace.id, async (db) => {
    for (let probe = 0; probe < 3; probe += 1) await recordProbe(db, dying, false, new Date());
  });

  const timesSent = (recipient: string): number =>
    telnyx.sent.filter(({ to }) => to === recipient).length +
    twilio.sent.filter(({ to }) => to === recipient).length;
  // The first is pinned to the line that is down, and waits for it.
  await eventually(async () => [second, ...others].every((recipient) => timesSent(recipient) === 1));
  // What the vendor took without anybody hearing of it is found once it is back.
  await front.revive();
  await withTenant(app.pools, workspace.id, (db) => recordProbe(db, dying, true, new Date()));
  await eventually(async () => (await count('delivered')) === MESSAGES);
  expect(recipients.map(timesSent)).toEqual(recipients.map(() => 1));
  expect(telnyx.sent.length).toBeLessThan(MESSAGES / 2);
});
