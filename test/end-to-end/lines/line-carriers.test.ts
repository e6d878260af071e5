import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { withTenant } from '#db/connection/transactions.ts';
import { setAllocated } from '#db/queries/lines/line-requests.ts';
import { newId } from '#domain/base/ids.ts';
import { MASK } from '#providers/carriers/secret-config.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '#simulator/bluebubbles.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, type OwnApp, sharedApp, startTestApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { startMailbox } from '#test/support/mailbox.ts';
import { mailsTo } from '#test/support/mails.ts';
import { signIn } from '#test/support/sessions.ts';
import { HTTP_CARRIERS } from '#test/conformance/http-carrier-worlds.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { planQuery } from '#workflows/protocol/queries.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

const PASSWORD = 'the password of the Mac';

let twilio: TwilioStandIn;
let mac: BlueBubblesStandIn;
let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  [twilio, mac] = [await startTwilio(TWILIO_ACCOUNT), await startBlueBubbles(PASSWORD)];
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});
afterAll(async () => {
  await Promise.all([twilio.stop(), mac.stop()]);
});

const twilioConfig = () => ({
  accountSid: TWILIO_ACCOUNT.sid,
  authToken: TWILIO_ACCOUNT.authToken,
  baseUrl: twilio.url,
});
const connect = (lineId: string, body: object, call = api) =>
  call('PUT', `/api/lines/${lineId}/carrier`, body);
const connectionOf = async (lineId: string) =>
  (await api('GET', `/api/lines/${lineId}/carrier`)).body.connection;
const settled = (id: string, status: string, call = api) =>
  eventually(async () => {
    const { body } = await call('GET', `/api/messages/${id}`);
    return body.status === status && body;
  });

async function send(fromLineId: string, fields: object, call = api): Promise<string> {
  const { status, body } = await call('POST', '/api/messages', { message: 'Hello', fromLineId, ...fields });
  expect(status).toBe(201);
  return body._id;
}

describe('a line connected over the API', () => {
  it('sends through Twilio and accepts its receipts', async () => {
    const lineId = await createLine(app, workspace.id, 'sms');
    const [before, after] = [phone(), phone()];
    await settled(await send(lineId, { recipientPhone: before, messageType: 'sms' }), 'delivered');
    const { status, body } = await connect(lineId, {
      provider: 'twilio',
      address: '(415) 555-0134',
      config: twilioConfig(),
    });
    expect([status, body.connection]).toEqual([
      200,
      {
        lineId,
        provider: 'twilio',
        address: '+14155550134',
        config: { ...twilioConfig(), authToken: MASK },
        callbackUrl: `${app.config.publicUrl}/callbacks/carriers/twilio/${lineId}`,
        callbackRegistered: false,
      },
    ]);
    expect(await connectionOf(lineId)).toEqual(body.connection);
    await settled(await send(lineId, { recipientPhone: after, messageType: 'sms' }), 'delivered');
    expect(twilio.sent.filter(({ to }) => to === after)).toEqual([
      expect.objectContaining({ from: '+14155550134', body: 'Hello' }),
    ]);
    expect(await sentTo(app, after)).toEqual([]);
    expect(await sentTo(app, before)).toHaveLength(1);
    await pacerServedBy(lineId, 'twilio');
  });

  it('sends through a Mac, where it registers its callback URL', async () => {
    const lineId = await createLine(app, workspace.id);
    const config = { url: mac.url, password: PASSWORD };
    const { status, body } = await connect(lineId, { provider: 'bluebubbles', config });
    expect(status).toBe(200);
    const { callbackUrl, callbackRegistered } = body.connection;
    expect(callbackRegistered).toBe(true);
    expect(body.connection.config).toEqual({
      url: mac.url,
      password: MASK,
      method: 'apple-script',
      callbackSecret: MASK,
    });
    expect(mac.webhooks.map(({ url }) => url)).toEqual([callbackUrl]);
    const to = phone();
    await settled(await send(lineId, { recipientPhone: to }), 'delivered');
    expect(mac.messages.filter((message) => message.to === to)).toHaveLength(1);

    // Connecting again keeps the generated secret and the registered URL.
    expect((await connect(lineId, { provider: 'bluebubbles', config })).body.connection.callbackUrl).toBe(
      callbackUrl,
    );
    expect(mac.webhooks).toHaveLength(1);
  });

  it('sends through a mail server and receives replies at its callback URL', async () => {
    const lineId = await createLine(app, workspace.id, 'email');
    const address = `dana-${lineId}@example.com`;
    const server = new URL(app.smtpUrl);
    const config = { host: server.hostname, port: Number(server.port), user: 'dana', password: 'hunter2' };
    const { status, body } = await connect(lineId, { provider: 'smtp', address, config });
    expect([status, body.connection.config]).toEqual([
      200,
      { ...config, secure: false, password: MASK, inboundSecret: MASK },
    ]);
    const to = `ada-${newId()}@example.com`;
    await settled(await send(lineId, { recipientEmail: to, messageType: 'email' }), 'sent');
    const [mail] = await mailsTo(app, to);
    expect(mail?.headers['from']).toContain(address);

    const email = { MessageID: newId(), From: to, TextBody: 'Sounds good' };
    const reply = await fetch(body.connection.callbackUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(email),
    });
    expect(reply.status).toBe(200);
    expect(JSON.stringify((await api('GET', '/api/replies')).body.replies)).toContain('Sounds good');
  });

  it('is healthy at once and sends the messages that waited for it', async () => {
    const lineId = await createLine(app, workspace.id, 'sms', {
      carrier: 'twilio',
      carrier_config: '{}',
      health_status: 'down',
    });
    const to = phone();
    const id = await send(lineId, { recipientPhone: to, messageType: 'sms' });
    expect((await connect(lineId, { provider: 'twilio', config: twilioConfig() })).status).toBe(200);
    await settled(id, 'delivered');
    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    const line = lines.find(({ _id }: { _id: string }) => _id === lineId);
    expect(line.healthCheck.status).toBe('healthy');
  });
});

describe('a test of settings before a line exists', () => {
  const testSettings = (body: object, call = api) => call('POST', '/api/lines/carriers/test', body);
  const resultsOf = ({ checks }: { checks: { name: string; result: string }[] }) =>
    Object.fromEntries(checks.map(({ name, result }) => [name, result]));
  const sms = () => ({ provider: 'twilio', channel: 'sms', config: twilioConfig() });

  it('says of each setting that it works', async () => {
    const { status, body } = await testSettings({ ...sms(), address: '+14155550111' });
    expect([status, body.works, resultsOf(body)]).toEqual([
      200,
      true,
      { server: 'pass', credentials: 'pass', sender: 'pass', callback_address: 'pass' },
    ]);
    const config = { url: mac.url, password: PASSWORD };
    const found = (await testSettings({ provider: 'bluebubbles', channel: 'imessage', config })).body;
    expect([found.works, resultsOf(found)]).toEqual([
      true,
      { server: 'pass', credentials: 'pass', sender: 'pass', callback_address: 'pass' },
    ]);
    expect(mac.webhooks.filter(({ url }) => url.includes('carriers/test'))).toEqual([]);
  });

  it.each<[what: string, body: () => object, check: string, field: string | null]>([
    [
      'a wrong password',
      () => ({ ...sms(), config: { ...twilioConfig(), authToken: 'not-the-token' } }),
      'credentials',
      'config.authToken',
    ],
    ['a number of nobody', () => ({ ...sms(), address: '+14155550199' }), 'sender', 'address'],
    [
      'a server that is not there',
      () => ({ ...sms(), config: { ...twilioConfig(), baseUrl: 'http://127.0.0.1:1' } }),
      'server',
      'config.baseUrl',
    ],
    [
      'a Private API that is off',
      () => ({
        provider: 'bluebubbles',
        channel: 'imessage',
        config: { url: mac.url, password: PASSWORD, method: 'private-api' },
      }),
      'private_api',
      'config.method',
    ],
    [
      'a server of another kind',
      () => ({
        provider: 'bluebubbles',
        channel: 'imessage',
        config: { url: twilio.url, password: PASSWORD },
      }),
      'credentials',
      'config.url',
    ],
    [
      'a mail server that is not there',
      () => ({ provider: 'smtp', channel: 'email', config: { host: '127.0.0.1', port: 1 } }),
      'server',
      'config.host',
    ],
    [
      'a mailbox that is not there',
      () => ({
        provider: 'smtp',
        channel: 'email',
        config: { url: app.smtpUrl, imapUrl: 'imap://dana:hunter2@127.0.0.1:1/INBOX' },
      }),
      'inbox_server',
      'config.imapUrl',
    ],
  ])('names %s, and no secret', async (_what, body, name, field) => {
    const given = body();
    const response = await testSettings(given);
    expect([response.status, response.body.works]).toEqual([200, false]);
    const failed = response.body.checks.filter(({ result }: { result: string }) => result === 'fail');
    expect(failed).toEqual([{ name, result: 'fail', text: expect.stringMatching(/.+/), field }]);
    const text = JSON.stringify(response.body);
    for (const secret of ['not-the-token', PASSWORD, 'hunter2', TWILIO_ACCOUNT.authToken])
      expect(text).not.toContain(secret);
  });

  it('opens the mailbox for replies, and names what keeps it from that', async () => {
    const mailbox = await startMailbox();
    const cases = [
      [mailbox.url, { inbox_server: 'pass', inbox_credentials: 'pass', inbox: 'pass' }],
      [mailbox.url.replace('hunter2', 'hunter3'), { inbox_server: 'pass', inbox_credentials: 'fail' }],
      [
        mailbox.url.replace('INBOX', 'Replies'),
        { inbox_server: 'pass', inbox_credentials: 'pass', inbox: 'fail' },
      ],
    ] as const;
    for (const [imapUrl, expected] of cases) {
      const config = { url: app.smtpUrl, imapUrl };
      const { body } = await testSettings({ provider: 'smtp', channel: 'email', config });
      expect(resultsOf(body)).toEqual({ server: 'pass', credentials: 'unknown', ...expected });
      expect(JSON.stringify(body)).not.toMatch(/hunter\d/);
    }
    await mailbox.stop();
  });

  it.each<[what: string, body: () => object, code: string, path: string]>([
    ['an unknown provider', () => ({ ...sms(), provider: 'pigeon' }), 'VALIDATION_ERROR', 'provider'],
    ['incomplete settings', () => ({ ...sms(), config: {} }), 'VALIDATION_ERROR', 'config.accountSid'],
    [
      'an address of another kind',
      () => ({ ...sms(), address: 'dana@example.com' }),
      'VALIDATION_ERROR',
      'address',
    ],
    [
      'a server in a private network',
      () => ({ ...sms(), config: { ...twilioConfig(), baseUrl: 'http://10.0.0.1' } }),
      'URL_NOT_ALLOWED',
      'config.baseUrl',
    ],
  ])('refuses %s without connecting', async (_what, body, code, path) => {
    const response = await testSettings(body());
    expect([response.status, response.body.code, response.body.issues[0].path]).toEqual([400, code, path]);
  });

  it('refuses every setting that names a server in a private network, as every carrier describes them', async () => {
    const call = apiClient(app.url, (await createWorkspace(app)).key);
    const { carriers } = (await call('GET', '/api/lines/carriers')).body;
    const configs = new Map(
      HTTP_CARRIERS.map(({ name, connect: at }) => [name, at('http://example.com').config]),
    );
    const servers: string[] = [];
    for (const { provider, channels, settings } of carriers) {
      const named = Object.entries<{ format?: string }>(settings.properties).filter(
        ([name, { format }]) => format === 'uri' || name === 'host',
      );
      for (const [field] of named) {
        // A metadata service; that URLs may write it in other ways, is tested with the guard.
        const host = '169.254.169.254';
        const protocol = field === 'imapUrl' ? 'imap' : provider === 'smtp' ? 'smtp' : 'http';
        const config = {
          ...(configs.get(provider) ?? (field === 'imapUrl' ? { host: 'example.com' } : {})),
          [field]: field === 'host' ? host : `${protocol}://${host}`,
        };
        const { status, body } = await testSettings({ provider, channel: channels[0], config }, call);
        expect({ provider, field, host, status, ...body }).toMatchObject({
          status: 400,
          code: 'URL_NOT_ALLOWED',
          issues: [{ path: `config.${field}` }],
        });
        servers.push(`${provider} ${field}`);
      }
    }
    expect(servers.toSorted()).toEqual([
      'bluebubbles url',
      'linq baseUrl',
      'sendblue baseUrl',
      'smtp host',
      'smtp imapUrl',
      'smtp url',
      'telnyx baseUrl',
      'twilio baseUrl',
    ]);
  });

  it('is limited, because each is a login at a server that the caller names', async () => {
    const call = apiClient(app.url, (await createWorkspace(app)).key);
    const unusable = { ...sms(), provider: 'pigeon' };
    const statuses = await Promise.all(
      Array.from({ length: 21 }, async () => (await testSettings(unusable, call)).status),
    );
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  });
});

test('the test of a connected line says whether the carrier reports to it, and changes nothing', async () => {
  const lineId = await createLine(app, workspace.id, 'sms');
  const check = async () => (await api('POST', `/api/lines/${lineId}/carrier/test`)).body;
  expect((await check()).checks[0]).toMatchObject({ name: 'server', result: 'pass' });
  const address = '+14155550136';
  twilio.numbers.set(address, { smsUrl: '', sms: true });
  const { connection } = (await connect(lineId, { provider: 'twilio', address, config: twilioConfig() }))
    .body;
  const before = await check();
  expect(before.works).toBe(false);
  expect(before.checks).toContainEqual({
    name: 'callback',
    result: 'fail',
    text: expect.stringContaining('enter the callback URL'),
    field: null,
  });
  twilio.numbers.set(address, { smsUrl: connection.callbackUrl, sms: true });
  expect(await check()).toMatchObject({ success: true, works: true });
  expect(await connectionOf(lineId)).toEqual(connection);
  const loose = await createLine(app, workspace.id, 'sms', { carrier: 'none' });
  expect((await api('POST', `/api/lines/${loose}/carrier/test`)).body.code).toBe('INVALID_STATE');
});

/** Waits until the pacer sends on a carrier's task queue, or in its stead, so that a slow carrier delays its lines only. */
async function pacerServedBy(lineId: string, carrier: string): Promise<void> {
  await eventually(async () => {
    const plan = await app.temporal.workflow.getHandle(linePacerId(lineId)).query(planQuery);
    return plan.carrier === carrier;
  });
}

describe('a connection is refused without any change', () => {
  let lineId: string;
  beforeAll(async () => {
    lineId = await createLine(app, workspace.id, 'sms');
  });

  it.each<[what: string, body: () => object, status: number, code: string, path: string | null]>([
    [
      'for an unknown provider',
      () => ({ provider: 'pigeon', config: {} }),
      400,
      'VALIDATION_ERROR',
      'provider',
    ],
    [
      'for another channel',
      () => ({ provider: 'smtp', config: { url: app.smtpUrl } }),
      400,
      'VALIDATION_ERROR',
      'provider',
    ],
    [
      'for incomplete settings',
      () => ({ provider: 'twilio', config: { accountSid: TWILIO_ACCOUNT.sid } }),
      400,
      'VALIDATION_ERROR',
      'config.authToken',
    ],
    [
      'for a masked secret',
      () => ({ provider: 'twilio', config: { ...twilioConfig(), authToken: MASK } }),
      400,
      'VALIDATION_ERROR',
      'config.authToken',
    ],
    [
      'for an address of another kind',
      () => ({ provider: 'twilio', address: 'dana@example.com', config: twilioConfig() }),
      400,
      'VALIDATION_ERROR',
      'address',
    ],
    [
      'for a server in a private network',
      () => ({ provider: 'twilio', config: { ...twilioConfig(), baseUrl: 'http://10.0.0.1' } }),
      400,
      'URL_NOT_ALLOWED',
      'config.baseUrl',
    ],
    [
      'for a wrong password',
      () => ({ provider: 'twilio', config: { ...twilioConfig(), authToken: 'wrong' } }),
      502,
      'CARRIER_NOT_USABLE',
      null,
    ],
  ])('%s', async (_what, body, status, code, path) => {
    const before = await connectionOf(lineId);
    const response = await connect(lineId, body());
    expect([response.status, response.body.code, response.body.issues?.[0]?.path ?? null]).toEqual([
      status,
      code,
      path,
    ]);
    expect(await connectionOf(lineId)).toEqual(before);
  });

  it.each(['192.168.1.1', '169.254.169.254', 'mail.internal', '0x7f.1', 'host/path', '[::ffff:10.0.0.1]'])(
    'for the mail server %s',
    async (host) => {
      const email = await createLine(app, workspace.id, 'email');
      const { status, body } = await connect(email, { provider: 'smtp', config: { host, port: 25 } });
      if (host === '0x7f.1') expect([status, body.code]).toEqual([502, 'CARRIER_NOT_USABLE']);
      else expect([status, body.code]).toEqual([400, 'URL_NOT_ALLOWED']);
    },
  );

  it('for members and for other workspaces', async () => {
    const role = 'org:member';
    const token = await signIn(app, { userId: workspace.ownerId, organizationId: workspace.id, role });
    const member = apiClient(app.url, token);
    const stranger = apiClient(app.url, (await createWorkspace(app)).key);
    const body = { provider: 'twilio', config: twilioConfig() };
    expect((await connect(lineId, body, member)).body.code).toBe('ADMIN_REQUIRED');
    expect((await member('GET', `/api/lines/${lineId}/carrier`)).body.code).toBe('ADMIN_REQUIRED');
    expect((await connect(lineId, body, stranger)).status).toBe(404);
    expect((await stranger('GET', `/api/lines/${lineId}/carrier`)).status).toBe(404);
  });
});

test('what a carrier allocates late replaces no connection that was made meanwhile', async () => {
  const lineId = await createLine(app, workspace.id, 'sms');
  const body = { provider: 'twilio', address: '+14155550134', config: twilioConfig() };
  expect((await connect(lineId, body)).status).toBe(200);
  const before = await connectionOf(lineId);
  const late = { carrier: 'simulated', channel: 'sms', address: '+14155550199', carrierConfig: {} } as const;
  await withTenant(app.pools, workspace.id, (db) => setAllocated(db, lineId, late));
  expect(await connectionOf(lineId)).toEqual(before);
});

describe('without a carrier that provisions lines', () => {
  let bare: OwnApp;
  beforeAll(async () => {
    bare = await startTestApp({
      environment: { SIMULATOR_URL: '', SIMULATOR_SECRET: '', TWILIO_API_URL: twilio.url },
    });
  });
  afterAll(() => bare.stop());

  it("a customer's own line becomes active once it is connected", async () => {
    const call = apiClient(bare.url, (await createWorkspace(bare)).key);
    const wish = { channelType: 'sms', firstName: 'Dana', lastName: 'Line' };
    expect(await call('POST', '/api/line-requests', wish)).toMatchObject({
      status: 409,
      body: { code: 'NO_CARRIER_FOR_LINE' },
    });
    const { status, body } = await call('POST', '/api/line-requests', { ...wish, lineType: 'byo' });
    expect([status, body.status]).toEqual([201, 'provisioning']);
    const lineId = body.line._id;
    await call('PATCH', `/api/lines/${lineId}`, { dailyNewConversationsLimit: 45 });
    const { baseUrl: _, ...config } = twilioConfig();
    const unnamed = await connect(lineId, { provider: 'twilio', config }, call);
    expect([unnamed.status, unnamed.body.issues?.[0]?.path]).toEqual([400, 'address']);
    const connected = await connect(lineId, { provider: 'twilio', address: '+14155550135', config }, call);
    expect(connected.status).toBe(200);
    await eventually(
      async () => (await call('GET', `/api/line-requests/${lineId}`)).body.status === 'active',
    );
    // A limit that was set by hand leaves no warm-up to begin.
    const { line } = (await call('GET', `/api/lines/${lineId}`)).body;
    expect(line.usage.newMessagesLimit).toBe(45);
    const to = phone();
    await settled(await send(lineId, { recipientPhone: to, messageType: 'sms' }, call), 'delivered', call);
    expect(twilio.sent.filter((message) => message.to === to)).toHaveLength(1);
  });
});

test('servers of a connection are on the ports of their protocols', async () => {
  const strict = await startTestApp({ worker: false, environment: { WEBHOOK_ALLOW_PRIVATE: '0' } });
  const customer = await createWorkspace(strict);
  const call = apiClient(strict.url, customer.key);
  const mail = { host: '1.1.1.1', port: 587 };
  const refused = [
    ['sms', 'twilio', { ...twilioConfig(), baseUrl: 'https://1.1.1.1:8443' }, 'baseUrl', '80, 443'],
    ['imessage', 'bluebubbles', { url: 'http://1.1.1.1:6379', password: 'x' }, 'url', '80, 443, 1234'],
    ['email', 'smtp', { ...mail, port: 22 }, 'host', '25, 465, 587, 2525'],
    ['email', 'smtp', { ...mail, imapUrl: 'imaps://dana:x@1.1.1.1:5432' }, 'imapUrl', '143, 993'],
  ] as const;
  for (const [channel, provider, config, setting, ports] of refused) {
    const lineId = await createLine(strict, customer.id, channel);
    expect(await connect(lineId, { provider, config }, call)).toMatchObject({
      status: 400,
      body: {
        code: 'URL_NOT_ALLOWED',
        issues: [{ path: `config.${setting}`, message: `the port must be one of ${ports}` }],
      },
    });
  }
  await strict.stop();
});
