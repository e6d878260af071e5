import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, sharedApp, startTestApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { type Front, startFront } from '#test/support/front.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

let twilio: TwilioStandIn;
let front: Front;
let app: TestApp;
beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  front = await startFront(twilio.url);
  app = await sharedApp();
});
afterAll(async () => {
  await front.close();
  await twilio.stop();
});

async function send({ api }: WorkspaceWithLine, fields: object = {}): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body._id;
}

const timeline = async ({ api }: WorkspaceWithLine, id: string) => {
  const { status, body } = await api('GET', `/api/messages/${id}/timeline`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};
const typesOf = ({ events }: { events: { type: string }[] }) => events.map(({ type }) => type);
const reaches = (of: WorkspaceWithLine, id: string, type: string) =>
  eventually(async () => {
    const found = await timeline(of, id);
    return typesOf(found).includes(type) && found;
  });
const holdReason = async ({ api }: WorkspaceWithLine, id: string) =>
  (await api('GET', `/api/messages/${id}`)).body.holdReason;
/** Waits until the message and its timeline give a reason. @returns `waitingFor`. */
async function waits(of: WorkspaceWithLine, id: string, reason: string) {
  const { waitingFor } = await eventually(async () => {
    const found = await timeline(of, id);
    // What only waits for its time or its turn is not held.
    const isRecorded = (await holdReason(of, id)) === (reason === 'scheduled' ? null : reason);
    return found.waitingFor?.reason === reason && isRecorded && found;
  });
  return waitingFor;
}
const update = (statement: ReturnType<typeof sql.fragment>) =>
  withSystem(app.pools, (db) => db.query(sql.type(NoRows)`${statement}`));
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe('the timeline of a message', () => {
  it('lists all events in order, including webhook deliveries', async () => {
    const of = await createWorkspaceWithLine(app);
    const [good, bad] = [await startEndpoint(), await startEndpoint(500)];
    for (const { url } of [good, bad])
      await of.api('POST', '/api/webhooks', { url, events: ['message.sent', 'message.opened'] });
    const id = await send(of, { recipientPhone: phone('0010') });
    const found = await eventually(async () => {
      const body = await timeline(of, id);
      return typesOf(body).filter((type) => type.startsWith('webhook')).length === 4 && body;
    });
    expect(found).toMatchObject({ messageId: id, status: 'delivered', waitingFor: null });
    expect(typesOf(found).filter((type) => !type.startsWith('webhook'))).toEqual([
      'accepted',
      'claimed',
      'sent',
      'delivered',
      'read',
    ]);
    const of500 = found.events.filter(({ type }: { type: string }) => type === 'webhook_failed');
    expect(of500[0]).toMatchObject({
      text: 'A webhook did not take message.sent: the endpoint responded 500.',
      data: { event: 'message.sent', responseStatus: 500 },
    });
    expect(found.events.find(({ type }: { type: string }) => type === 'claimed').data).toMatchObject({
      lineId: of.lineId,
      carrier: 'simulated',
    });
    const times = found.events.map(({ at }: { at: string }) => at);
    expect(times).toEqual(times.toSorted());
    await Promise.all([good.close(), bad.close()]);
  });

  it('lists a fallback and its SMS', async () => {
    const of = await createWorkspaceWithLine(app);
    await of.api('PATCH', '/api/workspace/fallback-config', { provider: 'simulated' });
    const id = await send(of, { recipientPhone: phone('0001'), smsFallbackEnabled: true });
    const found = await eventually(async () => {
      const body = await timeline(of, id);
      return body.waitingFor === null && body.status === 'fallback' && body;
    });
    expect(typesOf(found)).toEqual(['accepted', 'claimed', 'fallback', 'claimed', 'fallback']);
    expect(found.events.at(-1).text).toBe('The carrier accepted the SMS.');
  });

  it('lists retries, a refusal and a reconciled outcome', async () => {
    const of = await createWorkspaceWithLine(app);
    const [retried, refused, lost] = await Promise.all([
      send(of, { recipientPhone: phone('0003') }),
      send(of, { recipientPhone: phone('0002') }),
      send(of, { recipientPhone: phone('0004') }),
    ]);
    expect(typesOf(await reaches(of, refused, 'failed'))).toEqual(['accepted', 'claimed', 'failed']);
    expect(typesOf(await reaches(of, lost, 'delivered'))).toEqual([
      'accepted',
      'claimed',
      'sent',
      'delivered',
    ]);
    const tried = await waits(of, retried, 'carrier_retry');
    expect(tried.text).toMatch(
      /^The carrier did not take the message \(“.+”\). It is tried again in \d+ seconds?.$/,
    );
  });

  it('lists an open attempt that was reconciled', async () => {
    const of = await createWorkspaceWithLine(app);
    const id = await send(of, { recipientPhone: phone('0004') });
    await reaches(of, id, 'sent');
    // As after a sender was killed before it reconciled the attempt.
    await update(sql.fragment`update attempts set answer_by = started_at where message_id = ${id}`);
    expect(typesOf(await timeline(of, id))).toContain('reconciled');
  });

  it('lists the scheduled time and the cancellation', async () => {
    const of = await createWorkspaceWithLine(app);
    const scheduledDate = inAnHour();
    const id = await send(of, { scheduledDate });
    expect(await waits(of, id, 'scheduled')).toMatchObject({ until: scheduledDate });
    await of.api('POST', `/api/messages/${id}/cancel`);
    const found = await timeline(of, id);
    expect(found).toMatchObject({ status: 'canceled', waitingFor: null });
    expect(typesOf(found)).toEqual(['accepted', 'scheduled', 'canceled']);
    expect(found.events[1].data).toEqual({ scheduledDate });
  });

  it('lists the rule that moved the message, with the new time', async () => {
    const of = await createWorkspaceWithLine(app, {
      line: { daily_new_limit: 1 },
      workspace: { timezone: 'Europe/Berlin' },
    });
    await reaches(of, await send(of), 'sent');
    const id = await send(of);
    const waiting = await waits(of, id, 'daily_new_cap');
    expect(waiting.text).toMatch(
      /^The line has reached its limit of 1 new contact today; this message is sent (tomorrow|on \d+ \w+) from 09:00 Europe\/Berlin.$/,
    );
    const { body } = await of.api('GET', `/api/messages/${id}`);
    expect([body.holdReason, body.scheduledDate]).toEqual(['daily_new_cap', waiting.until]);
    const found = await timeline(of, id);
    expect(typesOf(found)).toEqual(['accepted', 'moved']);
    expect(found.events[1].data).toMatchObject({ reason: 'daily_new_cap', to: waiting.until });
  });
});

describe('what a message waits for', () => {
  it('can be a cap, a gap or its send window', async () => {
    const hourly = await createWorkspaceWithLine(app, { line: { hourly_new_limit: 0 } });
    expect((await waits(hourly, await send(hourly), 'hourly_new_cap')).text).toContain(
      '0 new contacts this hour',
    );
    const total = await createWorkspaceWithLine(app, { line: { daily_total_limit: 0 } });
    expect((await waits(total, await send(total), 'daily_total_cap')).text).toContain('0 messages today');

    const gaps = await createWorkspaceWithLine(app, { line: { min_gap_seconds: 3600 } });
    const to = phone();
    await reaches(gaps, await send(gaps, { recipientPhone: to }), 'sent');
    expect((await waits(gaps, await send(gaps), 'line_gap')).until).toEqual(expect.any(String));

    const contact = await createWorkspaceWithLine(app, { line: { contact_gap_seconds: 3600 } });
    await reaches(contact, await send(contact, { recipientPhone: to }), 'sent');
    expect((await waits(contact, await send(contact, { recipientPhone: to }), 'contact_gap')).text).toContain(
      'less than 3600 seconds before',
    );

    const inTwoDays = new Date(Date.now() + 2 * 86_400_000).getUTCDay();
    const closed = await send(contact, { timezone: 'UTC', allowedDaysOfWeek: [inTwoDays] });
    expect((await waits(contact, closed, 'send_window')).text).toMatch(
      /^The message may be sent between 00:00 and 24:00 UTC on \w+day. It is sent on \d+ \w+ from 00:00 UTC.$/,
    );
  });

  it('can be the state of its line', async () => {
    const of = await createWorkspaceWithLine(app);
    const id = await send(of, {
      scheduledDate: new Date(Date.now() + 1500).toISOString(),
      fromLineId: of.lineId,
    });
    await of.api('PATCH', `/api/lines/${of.lineId}`, { isActive: false });
    await waits(of, id, 'line_inactive');
    const later = await send(of, { fromLineId: of.lineId, scheduledDate: inAnHour() });
    await waits(of, later, 'line_inactive');
    // The message stays with its line in all these states.
    const states = {
      payment_missing: { provisioning_status: 'awaiting_payment' },
      line_provisioning: { provisioning_status: 'provisioning' },
      line_failed: { provisioning_status: 'failed' },
      line_not_connected: { carrier: 'none' },
    };
    for (const [reason, fields] of Object.entries(states)) {
      const lineId = await createLine(app, of.id, 'imessage', fields);
      await update(sql.fragment`update messages set line_id = ${lineId} where id = ${id}`);
      expect(await waits(of, id, reason)).toMatchObject({ until: null });
    }
    const changing = await createLine(app, of.id, 'imessage', {
      held_until: new Date(Date.now() + 3_600_000),
    });
    await update(sql.fragment`update messages set line_id = ${changing} where id = ${id}`);
    expect((await waits(of, id, 'line_changing')).until).toEqual(expect.any(String));
    await update(sql.fragment`update messages set line_id = null where id = ${id}`);
    await waits(of, id, 'no_line');
  });

  it('can be a line that is down', async () => {
    const of = await createWorkspaceWithLine(app, {
      line: { health_status: 'down', health_checked_at: new Date() },
    });
    const id = await send(of, { fromLineId: of.lineId });
    await waits(of, id, 'line_down');
  });

  it('can be the subscription', async () => {
    const of = await createWorkspaceWithLine(app);
    const id = await send(of, { scheduledDate: inAnHour() });
    await update(sql.fragment`update workspaces set subscription_status = 'past_due' where id = ${of.id}`);
    await waits(of, id, 'subscription_past_due');
  });

  it('can be its campaign or an earlier step', async () => {
    const of = await createWorkspaceWithLine(app);
    const { body: list } = await of.api('POST', '/api/lists', { name: 'List' });
    const leads = { listId: list.list._id, leads: [{ firstName: 'Ada', phone: phone() }] };
    expect((await of.api('POST', '/api/leads', leads)).status).toBe(201);
    const steps = [
      { message: 'One', delay: { hours: 1 } },
      { message: 'Two', delay: { days: 1 } },
    ];
    const { body } = await of.api('POST', '/api/campaigns', {
      name: 'Campaign',
      listId: list.list._id,
      steps,
      start: true,
    });
    const messages = await eventually(async () => {
      const found = (await of.api('GET', `/api/messages?campaignId=${body.campaign._id}`)).body.messages;
      return found.length === 2 && found;
    });
    const [second, first] = messages.map(({ _id }: { _id: string }) => _id);
    await waits(of, first, 'scheduled');
    expect(await waits(of, second, 'previous_step')).toMatchObject({ data: { messageId: first } });
    await of.api('POST', `/api/campaigns/${body.campaign._id}/pause`);
    for (const id of [first, second]) await waits(of, id, 'campaign_paused');
    await of.api('POST', `/api/campaigns/${body.campaign._id}/resume`);
    expect([await holdReason(of, first), await holdReason(of, second)]).toEqual([null, 'previous_step']);
    const setSubscription = (status: string) =>
      update(sql.fragment`update workspaces set subscription_status = ${status} where id = ${of.id}`);
    await setSubscription('past_due');
    for (const id of [first, second]) await waits(of, id, 'subscription_past_due');
    await setSubscription('active');
    await of.api('POST', `/api/campaigns/${body.campaign._id}/archive`);
    const archived = await reaches(of, first, 'canceled');
    expect([archived.waitingFor, archived.events.at(-1).text]).toEqual([
      null,
      'Canceled: the campaign ended.',
    ]);
  });

  it('is the start of a campaign that is a draft', async () => {
    const of = await createWorkspaceWithLine(app);
    const { body } = await of.api('POST', '/api/campaigns', { name: 'Draft', steps: [{ message: 'One' }] });
    const { _id: id } = body.campaign;
    await of.api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
    const [message] = (await of.api('GET', `/api/messages?campaignId=${id}`)).body.messages;
    await waits(of, message._id, 'campaign_inactive');
    expect(message.holdReason).toBe('campaign_inactive');
  });

  it('is nothing for a contact who has opted out, which the timeline shows', async () => {
    const of = await createWorkspaceWithLine(app);
    const to = phone();
    await of.api('POST', '/api/opt-outs', { address: to });
    const found = await reaches(of, await send(of, { recipientPhone: to }), 'failed');
    expect([found.waitingFor, found.events.at(-1).text]).toEqual([
      null,
      'Not sent: the contact has opted out of messages.',
    ]);
  });

  it('can be a carrier that refuses the credentials, also for the following messages', async () => {
    const of = await createWorkspaceWithLine(app);
    const lineId = await createLine(app, of.id, 'sms');
    const config = {
      accountSid: TWILIO_ACCOUNT.sid,
      authToken: TWILIO_ACCOUNT.authToken,
      baseUrl: front.url,
    };
    expect((await of.api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'twilio', config })).status).toBe(
      200,
    );
    front.refusal = { status: 401, body: { code: 20003, message: 'Authenticate' } };
    const sms = { messageType: 'sms', fromLineId: lineId };
    const first = await send(of, sms);
    // While its outcome is being recorded, the message is still being sent, and waits for no time.
    const text = await eventually(async () => {
      const wait = await waits(of, first, 'credentials_refused');
      return Date.parse(wait.until) > Date.now() && wait.text;
    });
    expect(text).toMatch(
      /^The carrier refuses the credentials of the line \(“20003: Authenticate”\). Connect the line to its carrier again; until then it is tried again in \d+ seconds?.$/,
    );
    // The refusal is about the line, so no other message is tried before the pause is over.
    const following = await send(of, sms);
    const { until } = await waits(of, following, 'credentials_refused');
    expect(Date.parse(until)).toBeGreaterThan(Date.now());
    expect(typesOf(await reaches(of, following, 'held'))).toEqual(['accepted', 'held']);
    front.refusal = { status: 429, body: { code: 20429, message: 'Too many requests' } };
  });

  it.each([
    ['the main queue', { worker: false }, 'linepace'],
    ['the queue of its carrier', { environment: { WORKER_QUEUES: 'main,webhooks' } }, 'carrier-simulated'],
  ])('can be a worker that serves %s', async (_, options, queue) => {
    const alone = await startTestApp(options);
    const of = await createWorkspaceWithLine(alone);
    const { text } = await waits(of, await send(of), 'worker_unavailable');
    expect(text).toContain(`No worker serves the task queue ${queue}, so nothing is sent.`);
    await alone.stop();
  });
});
