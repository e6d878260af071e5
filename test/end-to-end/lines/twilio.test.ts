import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { signTwilio } from '#providers/carriers/twilio/callback.ts';
import { TwilioConfig } from '#providers/carriers/twilio/api.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import type { PlacedCall, TwilioCall } from '#simulator/twilio-calls.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace } from '#test/support/factories.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

const LINE = '+14155550111';

let twilio: TwilioStandIn;
let app: OwnApp;

beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  app = await startTestApp({ environment: { TWILIO_API_URL: twilio.url } });
});
afterAll(async () => {
  await app.stop();
  await twilio.stop();
});

const at = (to: string) => twilio.sent.filter((message) => message.to === to);

async function send(call: ApiClient, fields: object, until: (message: { status: string }) => boolean) {
  const { status, body } = await call('POST', '/api/messages', { message: 'Hello', ...fields });
  expect(status).toBe(201);
  return eventually(async () => {
    const found = await call('GET', `/api/messages/${body._id}`);
    return until(found.body) && found.body;
  });
}

async function withFallback() {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const call = apiClient(app.url, workspace.key);
  const account = {
    accountSid: TWILIO_ACCOUNT.sid,
    authToken: TWILIO_ACCOUNT.authToken,
    fromNumber: '+14155550100',
  };
  await call('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'twilio', ...account });
  return { call, callbackUrl: `${app.url}/callbacks/carriers/twilio/${lineId}` };
}

test("fallback SMS use the workspace's Twilio account, whose callbacks are accepted for any of its lines", async () => {
  const { call, callbackUrl } = await withFallback();
  const to = phone('0001');
  twilio.quiet = true;
  await send(call, { recipientPhone: to, smsFallbackEnabled: true }, ({ status }) => status === 'fallback');
  const [sms] = await eventually(async () => at(to).length > 0 && at(to));
  expect(sms).toMatchObject({ from: '+14155550100', body: 'Hello', statusCallback: callbackUrl });
  if (!sms) throw new Error('no SMS');
  expect(await twilio.reportStatus(sms, 'delivered')).toBe(200);

  const response = await twilio.receive(callbackUrl, {
    MessageSid: 'SM1',
    From: to,
    To: '+14155550100',
    Body: 'No, thanks',
  });
  expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
    200,
    'text/xml; charset=utf-8',
    '<Response/>',
  ]);
  const { body } = await call('GET', '/api/replies');
  expect(JSON.stringify(body.replies)).toContain('No, thanks');

  const { headers, body: form } = twilio.sign(callbackUrl, { MessageSid: 'SM2', From: to, Body: 'Forged' });
  const forged = await fetch(callbackUrl, {
    method: 'POST',
    headers,
    body: form.replace('Forged', 'Changed'),
  });
  expect(forged.status).toBe(401);
});

test('callbacks of the fallback account are accepted that are signed with its SharedKey', async () => {
  const { call, callbackUrl } = await withFallback();
  const key = 'the shared key of the account';
  const form = new URLSearchParams({ MessageSid: newId(), From: phone(), To: '+14155550100', Body: 'Hello' });
  const post = async (signedWith: string): Promise<number> => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': signTwilio(signedWith, callbackUrl, form, 'sha256'),
      'x-twilio-webhooks-signature-settings': 'key=SK1,algorithm=HMAC_SHA256',
    };
    return (await fetch(callbackUrl, { method: 'POST', headers, body: form.toString() })).status;
  };
  const patch = (sharedKeySecret: string | null) =>
    call('PATCH', '/api/workspace/fallback-config', { sharedKeySecret });
  expect(await post(key)).toBe(401);
  const saved = await patch(key);
  expect([saved.status, JSON.stringify(saved.body).includes(key)]).toEqual([200, false]);
  expect([await post('another key'), await post(key)]).toEqual([401, 200]);
  await call('PATCH', '/api/workspace/fallback-config', { enabled: true });
  expect(await post(key)).toBe(200);
  await patch(null);
  expect(await post(key)).toBe(401);
});

test('a message that Twilio says is from an email address is from nobody', async () => {
  const { call, callbackUrl } = await withLine();
  for (const [MessageSid, From] of Object.entries({ SM5: 'ada@contact.example', SM6: '72975' }))
    expect((await twilio.receive(callbackUrl, { MessageSid, From, Body: 'STOP' })).status).toBe(200);
  const { optOuts } = (await call('GET', '/api/opt-outs')).body;
  expect(optOuts).toMatchObject([{ address: '72975' }]);
  const { replies } = (await call('GET', '/api/replies')).body;
  expect(replies.map(({ warning }: { warning: string | null }) => warning).toSorted()).toEqual([
    'invalid_sender',
    null,
  ]);
});

test('a number that Twilio reports as opted out, in a response or a receipt, gets no more messages', async () => {
  const { call } = await withFallback();
  twilio.quiet = true;
  const [late, atOnce] = [phone('0001'), phone('0001')];
  twilio.fault(atOnce, { kind: 'error', status: 400, code: 21610 });
  for (const recipientPhone of [late, atOnce]) {
    await send(call, { recipientPhone, smsFallbackEnabled: true }, ({ status }) => status === 'fallback');
  }
  const [sms] = await eventually(async () => at(late).length > 0 && at(late));
  if (!sms) throw new Error('no SMS');
  await eventually(async () => (await twilio.reportStatus(sms, 'failed', { ErrorCode: '21610' })) === 200);
  for (const address of [late, atOnce]) {
    await eventually(async () => JSON.stringify((await call('GET', '/api/opt-outs')).body).includes(address));
  }
});

test('callbacks of Twilio get a 404 for a line without a Twilio account', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const response = await twilio.receive(`${app.url}/callbacks/carriers/twilio/${lineId}`, {
    MessageSid: 'SM1',
    From: '+1',
  });
  expect(response.status).toBe(404);
});

async function withLine(settings: object = {}) {
  const workspace = await createWorkspace(app);
  const id = await createLineAt(app, workspace.id, 'sms', {
    name: 'twilio',
    schema: TwilioConfig,
    settings: {
      accountSid: TWILIO_ACCOUNT.sid,
      authToken: TWILIO_ACCOUNT.authToken,
      from: LINE,
      ...settings,
    },
  });
  return {
    call: workspace.api,
    callbackUrl: `${app.url}/callbacks/carriers/twilio/${id}`,
    workspaceId: workspace.id,
    lineId: id,
  };
}

test('a line at Twilio sends and gets receipts, and sends once even if a response is lost', async () => {
  const { call } = await withLine();
  const [ordinary, lost] = [phone(), phone()];
  twilio.quiet = false;
  twilio.fault(lost, { kind: 'response_lost' });
  for (const recipientPhone of [ordinary, lost]) {
    await send(call, { recipientPhone, messageType: 'sms' }, ({ status }) => status === 'delivered');
    expect(at(recipientPhone)).toHaveLength(1);
  }
});

test('a message that its messaging service sends by RCS says so once Twilio reports it, as does its event', async () => {
  const service = { numbers: [LINE], inboundRequestUrl: null, useInboundWebhookOnNumber: true };
  twilio.services.set('MG-rcs', { ...service, rcsAgent: 'our_agent' });
  const { call } = await withLine({ messagingServiceSid: 'MG-rcs' });
  const endpoint = await startTestEndpoint();
  await call('POST', '/api/webhooks', { url: endpoint.url, events: ['message.delivered'] });
  const [byRcs, bySms] = [phone(), phone()];
  twilio.quiet = false;
  const sent = await send(
    call,
    { recipientPhone: byRcs, messageType: 'sms' },
    ({ status }) => status === 'delivered',
  );
  expect(sent).toMatchObject({ transport: 'rcs', messageType: 'sms' });
  const [event] = await eventually(async () => endpoint.received.length > 0 && endpoint.received);
  expect(event?.json.message).toMatchObject({ transport: 'rcs' });

  twilio.services.set('MG-rcs', service);
  const fellBack = await send(
    call,
    { recipientPhone: bySms, messageType: 'sms' },
    ({ status }) => status === 'delivered',
  );
  expect(fellBack).toMatchObject({ transport: 'sms' });
});

describe('a message that Twilio reports as failed', () => {
  async function sent() {
    const { call, lineId } = await withLine();
    twilio.quiet = true;
    const to = phone();
    const message = await send(
      call,
      { recipientPhone: to, messageType: 'sms' },
      ({ status }) => status === 'sent',
    );
    const [accepted] = at(to);
    if (!accepted) throw new Error('Twilio accepted nothing');
    const report = (status: string, more?: Record<string, string>) =>
      twilio.reportStatus(accepted, status, more);
    const read = async () => (await call('GET', `/api/messages/${message._id}`)).body;
    const until = (holds: (message: Record<string, unknown>) => boolean) =>
      eventually(async () => holds(await read()));
    return {
      call,
      lineId,
      to,
      report,
      read,
      until,
      timeline: () => call('GET', `/api/messages/${message._id}/timeline`),
    };
  }

  it('stays failed if it is reported as delivered later, and its timeline shows both', async () => {
    const { report, read, until, timeline } = await sent();
    await report('undelivered', { ErrorCode: '30008' });
    await until(({ status }) => status === 'failed');
    await report('delivered');
    await until(({ deliveredAt }) => deliveredAt !== null);
    expect(await read()).toMatchObject({ status: 'failed', errorMessage: '30008: undelivered' });
    const types = (await timeline()).body.events.map(({ type }: { type: string }) => type);
    expect(types.slice(-2)).toEqual(['failed', 'delivered']);
  });

  it('is sent again if the account was the reason, once, on a line that shows it', async () => {
    const { call, lineId, to, report, until, timeline } = await sent();
    await report('undelivered', { ErrorCode: '30034' });
    await until(({ status, holdReason }) => status === 'scheduled' && holdReason === 'carrier_pause');
    const { waitingFor } = (await timeline()).body;
    expect(waitingFor).toMatchObject({ reason: 'carrier_pause' });
    await report('failed', { ErrorCode: '30034' });
    // Once its settings change, the line tries again.
    await call('PATCH', `/api/lines/${lineId}`, { contactGapSeconds: 6 });
    await until(({ status }) => status === 'sent');
    // What Twilio repeats about the first is not about the second.
    await report('undelivered', { ErrorCode: '30008' });
    expect(at(to)).toHaveLength(2);
    const types = (await timeline()).body.events.map(({ type }: { type: string }) => type);
    expect(types).not.toContain('failed');
  });

  it('falls back as at once if the number cannot get SMS', async () => {
    const { report, until } = await sent();
    await report('undelivered', { ErrorCode: '30006' });
    await until(({ status, errorMessage }) => status === 'fallback' && errorMessage === '30006: undelivered');
  });

  // At the same time, because each asks the list only when nothing has been reported for half a minute.
  it.concurrent.each([
    [30008, { status: 'failed', errorMessage: '30008: undelivered' }],
    [30006, { status: 'fallback', errorMessage: '30006: undelivered' }],
    [30034, { status: 'scheduled', holdReason: 'carrier_pause' }],
  ])('is what the list says if its response and its callback are lost: %i', async (code, expected) => {
    const { call } = await withLine();
    const to = phone();
    twilio.fault(to, { kind: 'failure_lost', code });
    const found = await send(
      call,
      { recipientPhone: to, messageType: 'sms' },
      ({ status }) => status === expected.status && at(to).length > 0,
    );
    expect(found).toMatchObject(expected);
    expect(at(to)).toHaveLength(1);
  });

  it('gets its reason if that is reported later, and keeps it', async () => {
    const { report, read, until } = await sent();
    await report('undelivered');
    await until(({ status }) => status === 'failed');
    expect((await read()).errorMessage).toBe('undeliverable');
    await report('undelivered', { ErrorCode: '30007' });
    await until(({ errorMessage }) => errorMessage === '30007: undelivered');
    await report('failed', { ErrorCode: '30008' });
    await report('undelivered');
    expect((await read()).errorMessage).toBe('30007: undelivered');
  });
});

describe('calls', () => {
  const START = Date.UTC(2026, 2, 1, 12);
  const SECONDS = 61;
  let api: ApiClient;
  let callbackUrl: string;
  let workspaceId: string;
  beforeAll(async () => {
    ({ call: api, callbackUrl, workspaceId } = await withLine());
  });

  /** Places a call, by default from the line to a lead. */
  const place = (to: string, fields: Partial<PlacedCall> = {}): TwilioCall =>
    twilio.call({
      from: LINE,
      to,
      direction: 'outbound-api',
      startedAt: new Date(START),
      seconds: SECONDS,
      webhook: callbackUrl,
      ...fields,
    });

  const read = async (number: string, query = '') => {
    const { status, body } = await api('GET', `/api/voice/recordings?number=${number}${query}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body.calls;
  };
  const recorded = (number: string) =>
    eventually(async () => (await read(number, '&withRecordingOnly=true'))[0]);

  /** Sends the callbacks of a call one after the other, each twice. */
  async function tell(call: TwilioCall, steps: string[]): Promise<void> {
    for (const step of steps.flatMap((name) => [name, name])) {
      expect(step === 'recording' ? await call.reportRecording() : await call.reportStatus(step)).toBe(200);
    }
  }

  it.each([
    ['in order', ['initiated', 'ringing', 'in-progress', 'completed', 'recording']],
    ['with the recording before the end', ['initiated', 'ringing', 'in-progress', 'recording', 'completed']],
    ['with the recording before all else', ['recording', 'completed', 'ringing', 'in-progress', 'initiated']],
    ['backwards', ['completed', 'recording', 'in-progress', 'ringing', 'initiated']],
  ])('become the same records if their callbacks arrive %s', async (_, steps) => {
    const to = phone();
    await tell(place(to), steps);
    const call = await recorded(to);
    expect(await read(to)).toHaveLength(1);
    expect(call).toEqual({
      callId: expect.stringMatching(/^[0-9a-f]{24}$/),
      from: LINE,
      to,
      surface: 'carrier',
      status: 'billed',
      requestedAt: '2026-03-01T12:00:00.000Z',
      answeredAt: '2026-03-01T12:00:05.000Z',
      endedAt: '2026-03-01T12:01:06.000Z',
      durationSec: SECONDS,
      billedSec: SECONDS,
      hangupCause: 'completed',
      recordingUrl: expect.stringMatching(/\/RE\w+\.mp3\?/),
    });
    const played = await fetch(call.recordingUrl);
    expect([played.status, played.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
    const sound = Buffer.from(await played.arrayBuffer());
    expect(sound.toString('hex', 0, 2)).toBe('fff3');
    const part = await fetch(call.recordingUrl, { headers: { range: 'bytes=100-199' } });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(sound.subarray(100, 200));
  });

  const files = (to: string) =>
    withTenant(app.pools, workspaceId, (db) =>
      db.any(sql.type(z.object({ status: z.string(), tries: z.int() }))`
        select a.status, a.tries from attachments a join calls c on c.workspace_id = a.workspace_id and c.id = a.call_id
        where c.to_number = ${to}`),
    );

  it('show no recording before they have ended', async () => {
    const to = phone();
    const call = place(to);
    await tell(call, ['recording', 'in-progress']);
    await eventually(async () => (await files(to))[0]?.status === 'stored');
    expect(await read(to)).toMatchObject([{ status: 'answered', recordingUrl: null }]);
    expect(await read(to, '&withRecordingOnly=true')).toEqual([]);
    await tell(call, ['completed']);
    expect(await recorded(to)).toMatchObject({ status: 'billed' });
  });

  it('have their recording even if its callback and the first of the call arrive simultaneously', async () => {
    const tos = Array.from({ length: 30 }, () => phone());
    const calls = tos.map((to) => place(to));
    const responses = calls.flatMap((call) => [call.reportRecording(), call.reportStatus('completed')]);
    expect(new Set(await Promise.all(responses))).toEqual(new Set([200]));
    for (const to of tos) await recorded(to);
  });

  it('store a recording once that two callbacks name', async () => {
    const to = phone();
    const call = place(to);
    const { recordingSid: RecordingSid } = call;
    const RecordingUrl = `${twilio.url}/2010-04-01/Accounts/${TWILIO_ACCOUNT.sid}/Recordings/${RecordingSid}`;
    expect(
      await call.reportStatus('completed', { RecordingSid, RecordingUrl, RecordingDuration: '61' }),
    ).toBe(200);
    expect(await call.reportRecording()).toBe(200);
    expect((await recorded(to)).recordingUrl).toContain(RecordingSid);
    expect(await files(to)).toHaveLength(1);
  });

  it.each(['busy', 'no-answer', 'failed', 'canceled'])(
    'that end as %s become failed without a recording',
    async (status) => {
      const to = phone();
      const call = place(to);
      await tell(call, [status, 'ringing']);
      expect(await call.reportRecording('absent', { RecordingUrl: '', ErrorCode: '16101' })).toBe(200);
      const [record] = await read(to);
      expect(record).toMatchObject({ status: 'failed', hangupCause: status, recordingUrl: null });
      expect(record).not.toHaveProperty('answeredAt');
      expect(await files(to)).toEqual([]);
    },
  );

  it('from a lead are found by its number even if only their end is reported', async () => {
    const from = phone();
    expect(await place(LINE, { from, direction: 'inbound' }).reportStatus('completed')).toBe(200);
    expect(await read(from)).toMatchObject([
      { from, to: LINE, answeredAt: '2026-03-01T12:00:05.000Z', endedAt: '2026-03-01T12:01:06.000Z' },
    ]);
  });

  it('that nobody answers are answered by a text, once, if a rule says so', async () => {
    const text = 'Sorry that we missed your call.';
    await api('POST', '/api/rules', { name: 'Missed calls', on: 'missed_call', do: [{ reply: { text } }] });
    const from = phone();
    const call = place(LINE, { from, direction: 'inbound' });
    for (const status of ['ringing', 'no-answer', 'no-answer'])
      expect(await call.reportStatus(status)).toBe(200);
    const sentTo = async () =>
      (await api('GET', '/api/messages?limit=200')).body.messages.filter(
        ({ recipientPhone }: { recipientPhone: string }) => recipientPhone === from,
      );
    await eventually(async () => (await sentTo()).length > 0);
    expect(await sentTo()).toMatchObject([{ message: text, source: 'rule' }]);
  });

  it('report at once that a recording is too large', async () => {
    const to = phone();
    await tell(place(to, { recordingBytes: 101 * 1024 * 1024 }), ['recording', 'completed']);
    const call = await eventually(async () => {
      const [record] = await read(to);
      return record.recordingFailure !== undefined && record;
    });
    expect([call.recordingUrl, call.recordingFailure]).toEqual([
      null,
      `the file is larger than ${100 * 1024 * 1024} bytes`,
    ]);
    expect(await files(to)).toEqual([{ status: 'failed', tries: 1 }]);
  });

  it('are accepted from the account only, and recordings only from its own addresses', async () => {
    const to = phone();
    const call = place(to);
    const fields = { CallSid: call.sid, CallStatus: 'completed', From: LINE, To: to };
    const { headers, body } = twilio.sign(callbackUrl, fields);
    const forged = await fetch(callbackUrl, {
      method: 'POST',
      headers,
      body: body.replace('completed', 'ringing'),
    });
    expect(forged.status).toBe(401);
    const nameless = twilio.sign(callbackUrl, { CallSid: call.sid });
    expect((await fetch(callbackUrl, { method: 'POST', ...nameless })).status).toBe(400);
    expect(await read(to)).toEqual([]);
    await call.reportStatus('completed');
    expect(await call.reportRecording('completed', { RecordingUrl: `${app.url}/openapi.json` })).toBe(200);
    await eventually(async () => (await files(to))[0]?.tries === 1);
    expect(await files(to)).toEqual([{ status: 'waiting', tries: 1 }]);
  });
});
