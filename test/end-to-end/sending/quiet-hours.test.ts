import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { firstSendTime } from '#domain/sending/quiet-hours.ts';
import { placeOf } from '#db/phones/phone-places.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { numberIn } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { outbound } from '#test/support/message-rows.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
const { newList, newCampaign, messagesOf } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const setQuietHours = async (fields: object) =>
  workspace.api('PUT', '/api/workspace/quiet-hours', {
    enabled: true,
    appliesTo: ['campaign', 'drip', 'message'],
    ...fields,
  });

const clockOf = (zone: string, at: Date): string =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at);
/** Hours in which a zone is asleep now, and for some hours more. */
const asleepIn = (zone: string) => {
  const hour = (hours: number) => `${clockOf(zone, new Date(Date.now() + hours * 3_600_000)).slice(0, 2)}:00`;
  return { start: hour(4), end: hour(-2) };
};
const LOS_ANGELES = 'America/Los_Angeles';
/** A number of San Francisco. */
const phone = (): string => numberIn('+1415', 7);

async function send(fields: object = {}) {
  const { status, body } = await workspace.api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body._id as string;
}
const get = async (id: string) => (await workspace.api('GET', `/api/messages/${id}`)).body;
const isSent = (id: string) => eventually(async () => ['sent', 'delivered'].includes((await get(id)).status));
const isAsleep = (id: string) =>
  eventually(async () => {
    const message = await get(id);
    return message.holdReason === 'recipient_quiet_hours' && message;
  });

describe('a message to somebody who is asleep', () => {
  it('waits until they are awake, with the reason and the time, and lets others pass', async () => {
    const { start, end } = asleepIn(LOS_ANGELES);
    expect((await setQuietHours({ start, end })).status).toBe(200);
    const asleep = await send();
    // A number of Berlin, where it is another time of day.
    const awake = await send({ recipientPhone: numberIn('+49151', 8) });
    const message = await isAsleep(asleep);
    await isSent(awake);

    const opening = firstSendTime({ quiet: { zones: [LOS_ANGELES], start, end, law: null } }, new Date());
    expect(message).toMatchObject({ status: 'scheduled', scheduledDate: opening?.toISOString() });
    const { waitingFor, events } = (await workspace.api('GET', `/api/messages/${asleep}/timeline`)).body;
    expect(waitingFor).toMatchObject({ reason: 'recipient_quiet_hours', until: opening?.toISOString() });
    expect(waitingFor.text).toContain(LOS_ANGELES);
    expect(events.at(-1).data).toMatchObject({ reason: 'recipient_quiet_hours' });
  });

  it('shows the hold at once, even if it is scheduled for later', async () => {
    const hours = asleepIn(LOS_ANGELES);
    await setQuietHours(hours);
    const { api } = workspace;
    const soon = new Date(Date.now() + 3_600_000);
    const quiet = { zones: [LOS_ANGELES], start: hours.start, end: hours.end, law: null };
    const opening = firstSendTime({ quiet }, soon)?.toISOString();
    const waits = { status: 'scheduled', holdReason: 'recipient_quiet_hours', scheduledDate: opening };

    const scheduled = await send({ scheduledDate: soon.toISOString() });
    expect(await get(scheduled)).toMatchObject(waits);
    const { waitingFor } = (await api('GET', `/api/messages/${scheduled}/timeline`)).body;
    expect(waitingFor).toMatchObject({ reason: 'recipient_quiet_hours', until: opening });

    const { correlationId } = (await api('POST', '/api/drip', { message: 'Hi', recipientPhone: phone() }))
      .body;
    const drip = await eventually(
      async () => (await api('GET', `/api/messages?correlationId=${correlationId}`)).body.messages[0],
    );
    expect(drip).toMatchObject(waits);

    const { listId } = await newList([{ phone: phone() }]);
    const steps = [{ message: 'Hi', delay: { hours: 1 } }];
    const campaign = await newCampaign({ steps, listId, start: true });
    const [step] = await eventually(async () => {
      const found = await messagesOf(campaign);
      return found.length > 0 && found;
    });
    expect(await get(step?._id ?? '')).toMatchObject(waits);

    await api('POST', `/api/lines/${workspace.lineId}/pause`, {});
    expect((await get(scheduled)).holdReason).toBe('line_paused');
  });

  it.each(['/api/messages', '/api/drip'])(
    'is refused by POST %s if its send window never opens while they are awake',
    async (path) => {
      await setQuietHours({ start: '09:00', end: '17:00' });
      const window = { timezone: LOS_ANGELES, sendWindowStart: '20:00', sendWindowEnd: '22:00' };
      const post = async (fields: object) =>
        (await workspace.api('POST', path, { message: 'Hello', recipientPhone: phone(), ...fields })).status;
      expect([await post(window), await post({ ...window, sendWindowStart: '12:00' })]).toEqual([
        400,
        path === '/api/drip' ? 202 : 201,
      ]);
    },
  );

  it.each(['/api/messages', '/api/drip'])(
    'is refused or accepted by POST %s by the time zone of the lead with that number',
    async (path) => {
      await setQuietHours({ start: '08:00', end: '21:00' });
      const to = phone();
      await newList([{ phone: to, timezone: 'Asia/Tokyo' }]);
      const post = async (sendWindowStart: string, sendWindowEnd: string) => {
        const window = { timezone: 'America/New_York', sendWindowStart, sendWindowEnd };
        const { status, body } = await workspace.api('POST', path, {
          message: `From ${sendWindowStart}`,
          recipientPhone: to,
          ...window,
        });
        return [status, body.issues?.[0].path];
      };
      // The window opens at 09:00 where the number is, which is night in Tokyo.
      expect(await post('12:00', '13:00')).toEqual([400, 'sendWindowStart']);
      // The window opens at midnight where the number is, which is afternoon in Tokyo.
      expect(await post('03:00', '04:00')).toEqual([path === '/api/drip' ? 202 : 201, undefined]);
    },
  );

  it('is refused with its lead if the send window of the campaign never opens while they are awake', async () => {
    await setQuietHours({ start: '08:00', end: '21:00' });
    const id = await newCampaign({
      steps: [{ message: 'Hi' }],
      timezone: 'America/New_York',
      sendWindowStart: '09:00',
      sendWindowEnd: '10:00',
    });
    const enter = (lead: object) => workspace.api('POST', `/api/campaigns/${id}/leads`, lead);
    const inTokyo = await enter({ lead: { phone: phone(), timezone: 'Asia/Tokyo' } });
    expect([inTokyo.status, inTokyo.body.issues?.[0].path]).toEqual([400, 'leadId']);
    expect((await enter({ lead: { phone: phone(), timezone: 'America/New_York' } })).status).toBe(201);
    expect(await messagesOf(id)).toHaveLength(1);
  });

  it.each(['/api/messages', '/api/drip'])(
    'is accepted by %s with a warning that says when it leaves',
    async (path) => {
      const hours = asleepIn(LOS_ANGELES);
      await setQuietHours(hours);
      const warningsOf = async (recipientPhone: string) =>
        (await workspace.api('POST', path, { message: 'Hello', recipientPhone })).body.warnings.filter(
          ({ code }: { code: string }) => code === 'quiet_hours',
        );
      const contact = phone();
      expect(await warningsOf(contact)).toEqual([
        { code: 'quiet_hours', text: expect.stringContaining(`at ${hours.start} (${LOS_ANGELES})`) },
      ]);
      expect(await warningsOf(numberIn('+49151', 8))).toEqual([]);
      await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Still awake!' });
      await eventually(async () => (await warningsOf(contact)).length === 0);
    },
  );

  it('is announced by the campaign that starts', async () => {
    await setQuietHours(asleepIn(LOS_ANGELES));
    const { listId } = await newList([{ phone: phone() }]);
    const campaign = { name: 'Spring', listId, steps: [{ message: 'Hi' }], timezone: LOS_ANGELES };
    expect((await workspace.api('POST', '/api/campaigns', campaign)).body.warnings).toEqual([]);
    const started = await workspace.api('POST', '/api/campaigns', { ...campaign, start: true });
    expect(started.body.warnings).toMatchObject([{ code: 'quiet_hours' }]);
  });

  it('is sent at once when they write', async () => {
    await setQuietHours(asleepIn(LOS_ANGELES));
    const contact = phone();
    const id = await send({ recipientPhone: contact });
    await isAsleep(id);
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Still awake!' });
    await isSent(id);
  });

  it('is sent at once when the quiet hours are switched off, or the lead turns out to be elsewhere', async () => {
    const { start, end } = asleepIn(LOS_ANGELES);
    await setQuietHours({ start, end });
    const { leadIds } = await newList([{ phone: phone() }, { phone: phone(), timezone: 'America/New_York' }]);
    const [first, second] = [await send({ leadId: leadIds[0] }), await send({ leadId: leadIds[1] })];
    await isAsleep(first);
    const newYork = firstSendTime(
      { quiet: { zones: ['America/New_York'], start, end, law: null } },
      new Date(),
    );
    expect((await isAsleep(second)).scheduledDate).toBe(newYork?.toISOString());

    const patch = { timezone: 'Europe/Berlin' };
    expect((await workspace.api('PATCH', `/api/leads/${leadIds[0]}`, patch)).body.lead.timezone).toBe(
      'Europe/Berlin',
    );
    await isSent(first);
    await setQuietHours({ enabled: false });
    await isSent(second);
  });

  it('is not sent as an SMS at once either', async () => {
    const api = workspace.api;
    await api('PATCH', '/api/workspace/fallback-config', {
      provider: 'simulated',
      fromNumber: '+14155550199',
      enabled: true,
    });
    await setQuietHours(asleepIn(LOS_ANGELES));
    const forced = { message: 'Hello', recipientPhone: phone(), forceFallback: true };
    const { body } = await api('POST', '/api/messages', forced);
    expect(body).toMatchObject({ status: 'scheduled', holdReason: 'recipient_quiet_hours' });
    const { scheduledDate } = await isAsleep(body._id);
    expect(scheduledDate).toBe(body.scheduledDate);
    expect(Date.parse(scheduledDate)).toBeGreaterThan(Date.now());
  });
});

describe('quiet hours', () => {
  it('apply to campaigns alone by default, and a campaign may have its own', async () => {
    const { start, end } = asleepIn(LOS_ANGELES);
    const defaults = await workspace.api('PUT', '/api/workspace/quiet-hours', { enabled: true, start, end });
    expect(defaults.body.quietHours).toEqual({
      enabled: true,
      start,
      end,
      law: 'none',
      appliesTo: ['campaign'],
    });
    await isSent(await send());

    const { listId } = await newList([{ phone: phone() }]);
    const step = { steps: [{ message: 'Hi' }], listId, start: true };
    const held = await newCampaign(step);
    const [message] = await eventually(async () => {
      const found = await messagesOf(held);
      return found.length > 0 && found;
    });
    await isAsleep(message?._id ?? '');
    const preview = await workspace.api('POST', `/api/campaigns/${held}/preview`, {
      leadId: message?.leadId,
    });
    expect(preview.body.steps[0]).toMatchObject({
      holdReason: 'recipient_quiet_hours',
      wakingHours: { zones: [LOS_ANGELES], start, end, law: null },
      skipReason: null,
    });

    const free = await newCampaign({ ...step, quietHours: { enabled: false } });
    const [sent] = await eventually(async () => {
      const found = await messagesOf(free);
      return found.length > 0 && found;
    });
    await isSent(sent?._id ?? '');
  });

  it('and a send window must have a time in common', async () => {
    await setQuietHours({ start: '08:00', end: '21:00', appliesTo: ['campaign', 'message'] });
    const night = { sendWindowStart: '22:00', sendWindowEnd: '23:00', timezone: LOS_ANGELES };
    const message = await workspace.api('POST', '/api/messages', {
      message: 'Hi',
      recipientPhone: phone(),
      ...night,
    });
    expect([message.status, JSON.stringify(message.body)]).toEqual([
      400,
      expect.stringContaining('sendWindowStart'),
    ]);
    const campaign = await workspace.api('POST', '/api/campaigns', {
      name: 'Night',
      steps: [{ message: 'Hi' }],
      ...night,
    });
    expect([campaign.status, JSON.stringify(campaign.body)]).toEqual([
      400,
      expect.stringContaining('sendWindowStart'),
    ]);
    expect((await setQuietHours({ start: '22:00', end: '06:00', law: 'us' })).status).toBe(400);
    expect((await setQuietHours({ start: '8:00' })).status).toBe(400);
    // The last valid setting stays.
    expect((await workspace.api('GET', '/api/workspace/quiet-hours')).body.quietHours.start).toBe('08:00');
  });
});

test('a message to a number without a zone leaves once the workspace moves to a zone that is awake', async () => {
  // One for each hour of the day: `Etc/GMT-12` is twelve hours ahead.
  const clocks = Array.from({ length: 24 }, (_, index) => `Etc/GMT${index < 12 ? `+${index}` : 11 - index}`);
  const at = (hour: string) => clocks.find((zone) => clockOf(zone, new Date()).startsWith(hour)) ?? '';
  await setQuietHours({ start: '08:00', end: '21:00' });
  const move = (fields: object) => workspace.api('PATCH', '/api/workspace', fields);
  expect((await move({ timezone: at('02') })).body.workspace.timezone).toBe(at('02'));
  const asleep = await send({ recipientPhone: numberIn('+1800', 7) });
  await isAsleep(asleep);
  const moved = await move({ timezone: at('12'), name: ' Harbour Homes ' });
  expect(moved.body.workspace).toMatchObject({ timezone: at('12'), name: 'Harbour Homes' });
  await isSent(asleep);
  for (const [field, value] of Object.entries({ timezone: 'Mars/Olympus', name: ' ' })) {
    const { status, body } = await move({ [field]: value });
    expect([status, body.issues[0].path]).toEqual([400, field]);
  }
});

test('a number whose area has zones that are never all awake is refused', async () => {
  const idaho = '+12085550123';
  expect(placeOf(idaho).zones?.length).toBeGreaterThan(1);
  await setQuietHours({ start: '09:00', end: '10:00' });
  const { status, body } = await workspace.api('POST', '/api/messages', {
    message: 'Hi',
    recipientPhone: idaho,
  });
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('recipientPhone')]);
  await setQuietHours({ start: '09:00', end: '10:15' });
  await send({ recipientPhone: idaho });
});

describe('the preview', () => {
  const preview = async (fields: object) => {
    const { status, body } = await workspace.api('POST', '/api/compliance/quiet-hours-preview', {
      enabled: true,
      ...fields,
    });
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  /** A message that was sent at a time. */
  const sentAt = (at: Date, address: string, fields: Parameters<typeof outbound>[4] = {}) =>
    outbound(app, workspace.id, address, at.toISOString(), fields);
  /** 05:30 in California, and 08:30 in Florida, some days ago. */
  const dawn = new Date(`${new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10)}T12:30:00Z`);
  const zone = (at: Date) => Number(clockOf(LOS_ANGELES, at).slice(0, 2));
  const early = new Date(dawn.getTime() + (5 - zone(dawn)) * 3_600_000);

  it('says what the hours would have held, by day, place and reason, and changes nothing', async () => {
    const campaign = { campaign_id: newId(), source: 'campaign' };
    const places = { recipient_zones: `{${LOS_ANGELES}}`, recipient_region: 'US-CA' };
    await sentAt(early, phone(), { ...campaign, ...places });
    // Of a release that stored no place; the number is of San Francisco.
    await sentAt(early, phone(), campaign);
    await sentAt(early, '+13055550123', campaign);
    await sentAt(early, phone(), { ...campaign, answers_until: new Date(early.getTime() + 60_000) });
    await sentAt(early, phone());
    const held = await preview({ start: '08:00', end: '21:00' });
    expect(held).toMatchObject({
      complete: true,
      messages: 5,
      held: 2,
      longestHoldMinutes: 150,
      byReason: { hours: 2, law: 0 },
      neverSent: 0,
      byDay: [{ messages: 5, held: 2 }],
      byPlace: [{ zones: [LOS_ANGELES], region: 'US-CA', messages: 4, held: 2, longestHoldMinutes: 150 }],
    });
    expect(await preview({ start: '00:00', end: '00:00', law: 'us' })).toMatchObject({
      held: 2,
      byReason: { hours: 0, law: 2 },
    });
    expect((await preview({ appliesTo: ['message'] })).held).toBe(1);
    expect((await preview({ enabled: false })).held).toBe(0);
    expect((await workspace.api('GET', '/api/workspace/quiet-hours')).body.quietHours.enabled).toBe(false);
    const refused = await workspace.api('POST', '/api/compliance/quiet-hours-preview', {
      start: '22:00',
      end: '06:00',
      law: 'us',
    });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('start')]);
  });
});

test('ten messages to ten zones leave when it is daytime there, whatever the time is', async () => {
  const numbers = {
    'America/New_York': '+1212555',
    'America/Chicago': '+1312555',
    'America/Denver': '+1303555',
    'America/Los_Angeles': '+1415555',
    'Pacific/Honolulu': '+1808555',
    'Europe/London': '+4477009',
    'Europe/Berlin': '+4915112',
    'Asia/Calcutta': '+9198765',
    'Asia/Tokyo': '+8190123',
    'Australia/Sydney': '+6141234',
  };
  await setQuietHours({ start: '08:00', end: '21:00' });
  const sent: [zone: string, id: string, zones: string[]][] = [];
  for (const [zone, beginning] of Object.entries(numbers)) {
    const digits =
      zone.startsWith('America') || zone.startsWith('Pacific')
        ? 4
        : 5 + (zone === 'Europe/London' ? 0 : zone === 'Australia/Sydney' ? -1 : 0);
    const to = numberIn(beginning, digits);
    const { zones } = placeOf(to);
    expect(zones, to).toContain(zone);
    sent.push([zone, await send({ recipientPhone: to }), zones ?? []]);
  }
  const rows: string[] = [];
  for (const [zone, id, zones] of sent) {
    const opening = firstSendTime({ quiet: { zones, start: '08:00', end: '21:00', law: null } }, new Date());
    if (opening && opening > new Date()) {
      const { scheduledDate } = await isAsleep(id);
      expect(scheduledDate, zone).toBe(opening.toISOString());
      rows.push(`${zone}: waits until ${scheduledDate} (${clockOf(zone, new Date(scheduledDate))} there)`);
    } else {
      await isSent(id);
      const { sentAt } = await get(id);
      rows.push(`${zone}: left ${sentAt} (${clockOf(zone, new Date(sentAt))} there)`);
    }
  }
  expect(rows).toHaveLength(10);
  if (process.env['SHOW_TIMES'] === '1') process.stdout.write(`${rows.join('\n')}\n`);
});
