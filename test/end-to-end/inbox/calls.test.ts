import { beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '#domain/inbox/call.ts';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace } from '#test/support/factories.ts';
import { callBack } from '#test/support/inbound.ts';

let app: TestApp;
let api: ApiClient;
let lineId: string;
const line = '+14155550199';
beforeAll(async () => {
  app = await sharedApp();
  const workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id, 'imessage', { phone: line });
  api = apiClient(app.url, workspace.key);
});

type CallEvent = Extract<CarrierEvent, { kind: 'call' }>;
const START = Date.UTC(2026, 2, 1, 12);

/** An event of a call, a number of seconds after its start. */
const step = (
  call: { callId: string; to: string },
  status: CallEvent['status'],
  second: number,
  fields: Partial<CallEvent> = {},
): CallEvent => ({
  kind: 'call',
  eventId: newId(),
  at: new Date(START + second * 1000),
  from: line,
  status,
  ...call,
  ...fields,
});

/** Has the simulated carrier place a call. */
const place = async (to: string, fields: object = {}): Promise<void> => {
  const placed = { lineId, from: line, to, seconds: 90, answered: true, recording: true, ...fields };
  const response = await fetch(`${app.url}/simulated/carrier/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(placed),
  });
  expect(response.ok).toBe(true);
};

const read = async (number: string, query = '') => {
  const { status, body } = await api(
    'GET',
    `/api/voice/recordings?number=${encodeURIComponent(number)}${query}`,
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

describe('calls', () => {
  it('are stored from the first ring to the recording', async () => {
    const to = phone();
    await place(to);
    const call = await eventually(async () => (await read(to, '&withRecordingOnly=true')).calls[0]);
    expect(call).toMatchObject({
      from: line,
      to,
      surface: 'carrier',
      status: 'billed',
      durationSec: 90,
      billedSec: 120,
      billedCents: 4,
      hangupCause: 'normal_clearing',
    });
    expect(Date.parse(call.endedAt) - Date.parse(call.answeredAt)).toBe(90_000);
    expect(Date.parse(call.answeredAt)).toBeGreaterThan(Date.parse(call.requestedAt));
    const recording = await fetch(call.recordingUrl);
    expect(recording.headers.get('content-type')).toBe('audio/wav');
    expect(
      Buffer.from(await recording.arrayBuffer())
        .subarray(0, 4)
        .toString(),
    ).toBe('RIFF');
  });

  it('only move forward in status, whatever the order of their events', async () => {
    const call = { callId: newId(), to: phone() };
    const steps = [
      step(call, 'ringing', 1),
      step(call, 'billed', 40, { durationSec: 30 }),
      step(call, 'answered', 10),
      step(call, 'requested', 0),
      step(call, 'failed', 50, { hangupCause: 'late' }),
    ];
    const seen = [];
    for (const event of steps) {
      await callBack(app, lineId, event);
      seen.push((await read(call.to)).calls[0].status);
    }
    expect(seen).toEqual(['ringing', 'billed', 'billed', 'billed', 'billed']);
    const { number, count, calls } = await read(call.to);
    expect([number, count]).toEqual([call.to, 1]);
    expect(calls[0]).toEqual({
      callId: expect.stringMatching(/^[0-9a-f]{24}$/),
      from: line,
      to: call.to,
      surface: 'carrier',
      status: 'billed',
      requestedAt: '2026-03-01T12:00:00.000Z',
      answeredAt: '2026-03-01T12:00:10.000Z',
      endedAt: '2026-03-01T12:00:40.000Z',
      durationSec: 30,
      billedSec: 30,
      hangupCause: 'late',
      recordingUrl: null,
    });
  });

  it.each(['%E0%A4%A', 'a%00b', 'x%2Fy', 'n'.repeat(1500)])(
    'are stored whatever the name of their recording is: %s',
    async (name) => {
      const call = { callId: newId(), to: phone() };
      const recordingUrl = `https://carrier.example/recordings/${name}`;
      expect(await callBack(app, lineId, step(call, 'billed', 1, { recordingUrl }))).toBe(200);
      expect((await read(call.to)).calls).toMatchObject([{ status: 'billed' }]);
    },
  );

  it('are listed newest first, by either number in any notation', async () => {
    const to = phone();
    for (const second of [1, 3, 2])
      await callBack(app, lineId, step({ callId: `call-${second}-${to}`, to }, 'requested', second));
    const seconds = (body: { calls: { requestedAt: string }[] }) =>
      body.calls.map(({ requestedAt }) => new Date(requestedAt).getUTCSeconds());
    expect(seconds(await read(to))).toEqual([3, 2, 1]);
    expect(seconds(await read(to, '&limit=2'))).toEqual([3, 2]);
    for (const ignored of [0, 50, 500])
      expect(seconds(await read(to, `&latest=true&limit=${ignored}`))).toEqual([3]);
    expect(seconds(await read(to, '&latest=True&limit=all'))).toEqual([3]);
    expect((await read(to, '&withRecordingOnly=true')).count).toBe(0);
    expect((await api('GET', `/api/voice/recordings?to=${to}`)).body).toMatchObject({ number: to, count: 3 });
    expect(seconds(await read(`(${to.slice(2, 5)}) ${to.slice(5, 8)}-${to.slice(8)}`))).toEqual([3, 2, 1]);
    expect((await read(line, '&limit=1')).calls[0].from).toBe(line);
  });

  it('that nobody answers fail without a recording', async () => {
    const to = phone();
    await place(to, { answered: false });
    const ended = await eventually(async () => (await read(to)).calls.find(({ endedAt }: Call) => endedAt));
    expect(ended).toMatchObject({ status: 'failed', hangupCause: 'no_answer', recordingUrl: null });
    expect(ended).not.toHaveProperty('answeredAt');
  });

  it('with a recording are found among later ones without', async () => {
    const to = phone();
    await place(to);
    const { callId } = await eventually(async () => (await read(to, '&withRecordingOnly=true')).calls[0]);
    const later = step({ callId: newId(), to }, 'requested', 0, { at: new Date() });
    await callBack(app, lineId, later);
    expect((await read(to, '&latest=1')).calls[0].callId).not.toBe(callId);
    for (const query of ['&latest=true&withRecordingOnly=true', '&withRecordingOnly=1&limit=1']) {
      const { count, calls } = await read(to, query);
      expect([count, calls[0].callId]).toEqual([1, callId]);
    }
    for (const query of ['', '&latest=&withRecordingOnly=', '&latest=0&withRecordingOnly=false'])
      expect((await read(to, query)).count).toBe(2);
  });

  it('of an unknown number are an empty list', async () => {
    const number = phone();
    expect(await read(number, '&to=+14155550198')).toEqual({ number, count: 0, calls: [] });
  });

  it('are listed 20 at a time by default and up to 100 on request', async () => {
    const to = phone();
    const steps = Array.from({ length: 25 }, (_, second) =>
      step({ callId: newId(), to }, 'requested', second),
    );
    expect(await callBack(app, lineId, ...steps)).toBe(200);
    expect((await read(to)).count).toBe(20);
    expect((await read(to, '&limit=100')).count).toBe(25);
    const { paths } = (await api('GET', '/openapi.json')).body;
    const { parameters } = paths['/api/voice/recordings'].get;
    expect(parameters.find(({ name }: { name: string }) => name === 'limit').schema).toMatchObject({
      default: 20,
      minimum: 1,
      maximum: 100,
    });
  });

  it.each([
    ['no number', '', 'MISSING_NUMBER'],
    ['an empty number', '?number=', 'MISSING_NUMBER'],
    ['two empty numbers', '?number=&to=%20', 'MISSING_NUMBER'],
    ['an invalid number', '?number=12', 'VALIDATION_ERROR'],
    ['two numbers', '?number=%2B14155550100&number=%2B14155550101', 'VALIDATION_ERROR'],
    ['a fractional limit', '?number=%2B14155550100&limit=2.5', 'VALIDATION_ERROR'],
    ['an invalid boolean', '?number=%2B14155550100&latest=maybe', 'VALIDATION_ERROR'],
    ['a limit of 0', '?number=%2B14155550100&limit=0', 'VALIDATION_ERROR'],
    ['a limit of 101', '?number=%2B14155550100&limit=101', 'VALIDATION_ERROR'],
    ['a limit that is no number', '?number=%2B14155550100&limit=x', 'VALIDATION_ERROR'],
  ])('cannot be listed for %s', async (_, query, code) => {
    const { status, body } = await api('GET', `/api/voice/recordings${query}`);
    expect([status, body.code]).toEqual([400, code]);
  });

  it('are visible to their own workspace only', async () => {
    const to = phone();
    await callBack(app, lineId, step({ callId: newId(), to }, 'requested', 0));
    const other = apiClient(app.url, (await createWorkspace(app)).key);
    expect((await other('GET', `/api/voice/recordings?to=${to}`)).body.calls).toEqual([]);
    const anonymous = await apiClient(app.url, '')('GET', `/api/voice/recordings?to=${to}`);
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'UNAUTHORIZED']);
    const agency = apiClient(app.url, (await createAgency(app)).key);
    expect((await agency('GET', `/api/voice/recordings?to=${to}`)).status).toBe(403);
  });
});
