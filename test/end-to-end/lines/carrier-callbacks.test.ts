import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it, test } from 'vitest';
import type { z } from 'zod';
import type { Channel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import { BlueBubblesConfig } from '#providers/carriers/bluebubbles/api.ts';
import { callbackKey } from '#providers/carriers/simulated-protocol.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { signTwilio } from '#providers/carriers/twilio/callback.ts';
import { TwilioConfig } from '#providers/carriers/twilio/api.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

const SECRET = 'a secret for callbacks';
const TOKEN = 'the-token-of-the-account';
const BLUEBUBBLES = { url: 'http://127.0.0.1:9', password: 'a password', callbackSecret: SECRET };

let app: TestApp;
let workspace: TestWorkspace;
let lines: Record<'smtp' | 'bluebubbles' | 'twilio' | 'simulated', string>;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  workspace = await createWorkspace(app);
  const lineAt = (channel: Channel, name: string, schema: z.ZodType, settings: object) =>
    createLineAt(app, workspace.id, channel, { name, schema, settings });
  lines = {
    smtp: await lineAt('email', 'smtp', SmtpConfig, { url: app.smtpUrl, inboundSecret: SECRET }),
    bluebubbles: await lineAt('imessage', 'bluebubbles', BlueBubblesConfig, BLUEBUBBLES),
    twilio: await lineAt('sms', 'twilio', TwilioConfig, { accountSid: 'AC1', authToken: TOKEN }),
    simulated: await createLine(app, workspace.id, 'imessage'),
  };
});

/** Sends a callback with a valid secret or signature and any body. */
async function callBack(carrier: keyof typeof lines, body: string, contentType = 'application/json') {
  const query =
    carrier === 'smtp' || carrier === 'bluebubbles' ? `?secret=${encodeURIComponent(SECRET)}` : '';
  const path = `/callbacks/carriers/${carrier}/${lines[carrier]}${query}`;
  const at = new Date();
  const signed: Record<string, string> =
    carrier === 'twilio'
      ? {
          'x-twilio-signature': signTwilio(TOKEN, app.config.publicUrl + path, new URLSearchParams(body)),
        }
      : carrier === 'simulated'
        ? {
            'webhook-id': 'id',
            'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
            'webhook-signature': new Webhook(callbackKey(app.config.simulator?.secret ?? '')).sign(
              'id',
              at,
              body,
            ),
          }
        : {};
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': contentType, ...signed },
    body,
  });
  return { status: response.status, text: await response.text() };
}

const MALFORMED = [
  '',
  ' ',
  '{',
  'null',
  '[]',
  '"text"',
  '1e999',
  '\0',
  '{"a":"\\ud800"}',
  '[[[[[',
  '{"type":1}',
];
const email = (fields: object) =>
  JSON.stringify({ MessageID: newId(), From: 'a@example.com', TextBody: 'Hi', ...fields });
const reply = (fields: object) => ({
  kind: 'reply',
  eventId: newId(),
  carrierMessageId: newId(),
  at: new Date().toISOString(),
  from: '+14155550177',
  text: 'Hi',
  attachments: [],
  autoReply: false,
  ...fields,
});
const simulated = (...events: object[]) => JSON.stringify({ lineId: lines.simulated, events });
const bluebubbles = (data: unknown, type = 'new-message') => JSON.stringify({ type, data });

describe('an authentic callback with an unreadable body gets a 400', () => {
  it.each([
    ...MALFORMED,
    email({ MessageID: '' }),
    email({ MessageID: 'a\0b' }),
    email({ From: 'a\0b@example.com', FromFull: { Email: 'a\0@example.com' } }),
    email({ TextBody: 7 }),
    JSON.stringify({ RecordType: 'Bounce', ID: {}, Type: 'HardBounce' }),
  ])('as an email: %j', async (body) => {
    expect(await callBack('smtp', body)).toMatchObject({ status: 400 });
  });

  it.each([
    ...MALFORMED,
    bluebubbles(null),
    bluebubbles([]),
    bluebubbles({ guid: 7 }),
    bluebubbles({ guid: 'a\0b', text: 'Hi', handle: { address: '+14155550123' } }),
    bluebubbles({ guid: 'x'.repeat(3000), text: 'Hi', handle: { address: '+14155550123' } }),
    bluebubbles({ guid: 'g', text: 'Hi', handle: { address: '+14155550123' }, dateCreated: 1e300 }),
    bluebubbles({ guid: 'g', isFromMe: true, dateDelivered: -1e300 }, 'updated-message'),
  ])('from BlueBubbles: %j', async (body) => {
    expect(await callBack('bluebubbles', body)).toMatchObject({ status: 400 });
  });

  it.each([
    '',
    'MessageSid=SM1',
    'MessageSid=SM1&From=',
    'MessageSid=SM%00&MessageStatus=delivered',
    `MessageSid=${'x'.repeat(3000)}&From=%2B14155550123&Body=Hi`,
    'CallSid=CA1',
    'CallSid=CA1&CallStatus=completed&CallDuration=1e308&From=1&To=2',
    `CallSid=CA1&CallStatus=ringing&From=${'1'.repeat(400)}`,
  ])('from Twilio: %j', async (body) => {
    expect(await callBack('twilio', body, 'application/x-www-form-urlencoded')).toMatchObject({
      status: 400,
    });
  });

  it.each([
    ...MALFORMED,
    () => simulated(),
    () => simulated({ kind: 'unknown' }),
    () => simulated(reply({ at: 'soon' })),
    () => simulated(reply({ eventId: 'a\0b' })),
    () => simulated(reply({ eventId: 'x'.repeat(3000) })),
    () => simulated(reply({ from: '' })),
    () => simulated(reply({ attachments: [{ name: 'x', contentType: null, url: 'http://[' }] })),
    () => simulated({ ...reply({}), kind: 'receipt', status: 7 }),
    () =>
      simulated({
        kind: 'call',
        eventId: 'c',
        at: new Date().toISOString(),
        callId: 'c',
        from: '',
        to: '',
        status: 'billed',
        durationSec: 1e308,
      }),
  ])('from the simulated carrier: %s', async (body) => {
    const text = typeof body === 'string' ? body : body();
    expect(await callBack('simulated', text)).toMatchObject({ status: 400 });
  });

  it('whatever its content type', async () => {
    for (const contentType of [
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/xml; charset=utf-16',
    ])
      expect(await callBack('smtp', '<mail/>', contentType)).toMatchObject({ status: 400 });
  });

  it('that names the invalid field', async () => {
    expect((await callBack('smtp', email({ TextBody: 7 }))).text).toContain('TextBody');
    expect((await callBack('simulated', simulated(reply({ at: 'soon' })))).text).toContain('at');
  });
});

describe('a reply with unusual content is accepted', () => {
  const received = async (from: string) => {
    const api = apiClient(app.url, workspace.key);
    const { body } = await api('GET', `/api/conversations/${encodeURIComponent(from)}`);
    return body.messages[0];
  };

  it('without the characters that cannot be stored', async () => {
    const address = phone();
    expect(
      await callBack('simulated', simulated(reply({ from: address, text: 'A\0B\ud800C' }))),
    ).toMatchObject({
      status: 200,
    });
    expect((await received(address)).message).toBe('AB\ufffdC');
  });

  it.each([{ Headers: 'none' }, { Headers: [null] }, { Attachments: { Name: 'x' } }])(
    'without the parts of an email in an unexpected form: %j',
    async (fields) => {
      const address = `${newId()}@example.com`;
      expect(await callBack('smtp', email({ From: address, ...fields }))).toMatchObject({ status: 200 });
      expect((await received(address)).message).toBe('Hi');
    },
  );

  it('from Twilio, with a number of files that cannot be', async () => {
    const address = phone();
    const form = new URLSearchParams({ MessageSid: newId(), From: address, Body: 'Hi', NumMedia: '1e9' });
    expect(await callBack('twilio', form.toString(), 'application/x-www-form-urlencoded')).toMatchObject({
      status: 200,
    });
    expect((await received(address)).message).toBe('Hi');
  });

  it.each(['+275760-09-13T00:00:00.000Z', '-271821-04-20T00:00:00.000Z', '1970-01-01T00:00:00.000Z'])(
    'with the current time instead of %s',
    async (at) => {
      const address = phone();
      const before = Date.now();
      expect(await callBack('simulated', simulated(reply({ from: address, at })))).toMatchObject({
        status: 200,
      });
      expect(Date.parse((await received(address)).at)).toBeGreaterThanOrEqual(before - 1000);
    },
  );
});

test('a form with more fields than any callback has is refused without verification', async () => {
  const body = Array.from({ length: 1000 }, (_, index) => `f${index}=`).join('&');
  const { status } = await callBack('twilio', body, 'application/x-www-form-urlencoded');
  expect(status).toBe(401);
});

describe('the secret in a callback URL', () => {
  it.each(['smtp', 'bluebubbles'] as const)('of %s is checked before the body is read', async (carrier) => {
    const url = `${app.url}/callbacks/carriers/${carrier}/${lines[carrier]}?secret=wrong`;
    let asked = 0;
    const endless = new ReadableStream({
      pull(controller) {
        asked += 1;
        if (asked > 1000) controller.error(new Error('the body was read'));
        else controller.enqueue(new Uint8Array(64 * 1024));
      },
    });
    const response = await fetch(url, { method: 'POST', body: endless, duplex: 'half' });
    expect(response.status).toBe(401);
  });
});
