import { sql } from 'slonik';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, type ApiResponse, apiClient } from '#test/support/client.ts';
import { createLead, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';

/** Hostile templates of tenants and hostile fields of contacts do no harm. */

let app: TestApp;
let receiver: Endpoint;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
});
afterAll(async () => {
  await receiver.close();
});
beforeEach(async () => {
  workspace = await createWorkspace(app);
  await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
  await api('POST', '/api/webhooks', {
    name: 'all',
    url: receiver.url,
    events: ['message.sent', 'message.failed', 'message.fallback'],
  });
});

const withFallback = () =>
  api('PATCH', '/api/workspace/fallback-config', {
    enabled: true,
    provider: 'simulated',
    fromNumber: '+14155550100',
  });

const refuses = (path: string): object => ({
  status: 400,
  body: { code: 'VALIDATION_ERROR', issues: [expect.objectContaining({ path })] },
});

const id = newId();
/** Every field of a request that contains a template. */
const FIELDS: [field: string, method: string, path: string, body: (template: string) => object][] = [
  ['message', 'POST', '/api/messages', (message) => ({ message, recipientPhone: phone() })],
  [
    'smsFallbackMessage',
    'POST',
    '/api/messages',
    (smsFallbackMessage) => ({ message: 'Hi', recipientPhone: phone(), smsFallbackMessage }),
  ],
  ['message', 'POST', '/api/drip', (message) => ({ message, recipientPhone: phone() })],
  [
    'smsFallbackMessage',
    'POST',
    '/api/drip',
    (smsFallbackMessage) => ({ message: 'Hi', recipientPhone: phone(), smsFallbackMessage }),
  ],
  ['message', 'POST', '/api/inbox/send-reply', (message) => ({ message, phone: phone() })],
  ['message', 'POST', '/api/fallback-sms', (message) => ({ message, messageId: id })],
  [
    'message',
    'POST',
    '/api/knowledge-base/auto-replies',
    (message) => ({ replyId: id, action: 'approve', message }),
  ],
  [
    'defaultMessage',
    'PATCH',
    '/api/workspace/fallback-config',
    (defaultMessage) => ({ provider: 'simulated', defaultMessage }),
  ],
  [
    'steps.2.message',
    'POST',
    '/api/campaigns',
    (message) => ({ name: 'Spring', steps: [{ message: 'One' }, { message: 'Two' }, { message }] }),
  ],
  [
    'steps.0.smsFallbackMessage',
    'POST',
    '/api/campaigns',
    (smsFallbackMessage) => ({ name: 'Spring', steps: [{ message: 'One', smsFallbackMessage }] }),
  ],
  ['steps.0.message', 'PATCH', `/api/campaigns/${id}`, (message) => ({ steps: [{ message }] })],
];

describe('a template', () => {
  it.each(FIELDS)('is checked on intake: %s of %s %s', async (field, method, path, body) => {
    for (const template of [
      '{{ open',
      '{% include ".data/secrets.json" %}',
      '{% layout "/etc/passwd" %}',
      '{% liquid echo "x" %}',
      '{{ firstName | nothing }}',
      '{% for i in (1..1000000000) %}x{% endfor %}',
    ]) {
      expect(await api(method, path, body(template)), template).toMatchObject(refuses(field));
    }
  });

  const FILES = [
    'package.json',
    './package.json',
    '../package.json',
    '../../../../../../../etc/passwd',
    '/etc/passwd',
  ];
  const TAGS = [
    'include',
    'render',
    'layout',
    'block',
    'tablerow',
    'cycle',
    'increment',
    'decrement',
    'echo',
    'liquid',
    '#',
  ];

  /** Stores a campaign with unchecked templates. */
  async function storedCampaign(messages: string[]): Promise<string> {
    const { body } = await api('POST', '/api/campaigns', {
      name: 'Old',
      steps: messages.map(() => ({ message: 'Hi' })),
    });
    const steps = messages.map((message) => ({ ...body.campaign.steps[0], id: undefined, message }));
    await systemDb(app.pools).query(sql.type(z.unknown())`
      update campaigns set steps = ${JSON.stringify(steps)} where id = ${body.campaign._id}`);
    return body.campaign._id;
  }

  it('cannot read a file with any tag in a preview', async () => {
    const leadId = await createLead(app, workspace.id, { phones: [phone()] });
    for (const tag of TAGS) {
      const responses: ApiResponse[] = [];
      for (const file of FILES) {
        const campaign = await storedCampaign([`{% ${tag} "${file}" %}`]);
        responses.push(await api('POST', `/api/campaigns/${campaign}/preview`, { leadId }));
      }
      expect(responses, tag).toMatchObject(FILES.map(() => refuses('steps.0.message')));
      expect(JSON.stringify(responses)).not.toMatch(/linepace|root:/);
    }
  });

  it('cannot read a file with any tag when it is sent', async () => {
    const sent: [string, string][] = [];
    for (const tag of TAGS) {
      const to = phone();
      const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
      const { body } = await api('POST', '/api/messages', {
        message: 'x',
        recipientPhone: to,
        scheduledDate,
      });
      sent.push([body._id, to]);
      await systemDb(app.pools).query(sql.type(z.unknown())`
        update messages set body = ${`{% ${tag} "package.json" %}`} where id = ${body._id}`);
    }
    await systemDb(app.pools).query(sql.type(z.unknown())`
      update messages set scheduled_at = now() where workspace_id = ${workspace.id}`);
    await api('POST', '/api/messages', { message: 'Wakes the line', recipientPhone: phone() });
    for (const [messageId, to] of sent) {
      expect(await ended(messageId)).toMatchObject({ status: 'failed', errorMessage: 'template_error' });
      expect(await sentTo(app, to)).toEqual([]);
    }
  });

  const EXPENSIVE =
    '{% for a in (1..1000) %}{% for b in (1..1000) %}{% for c in (1..1000) %}{% endfor %}{% endfor %}{% endfor %}';

  it('shares one budget with all other templates of its request', async () => {
    const leadId = await createLead(app, workspace.id, { phones: [phone()] });
    const loop = '{% for i in (1..1000) %}{{ i }}{% endfor %}';
    const one = await storedCampaign([loop]);
    expect(await api('POST', `/api/campaigns/${one}/preview`, { leadId })).toMatchObject({ status: 200 });
    const fifty = await storedCampaign(Array.from({ length: 50 }, () => loop));
    expect(await api('POST', `/api/campaigns/${fifty}/preview`, { leadId })).toMatchObject({
      status: 400,
      body: {
        code: 'VALIDATION_ERROR',
        error: expect.stringMatching(/^steps\.\d+\.message: .*takes too long/),
      },
    });
    const dense = Array.from({ length: 20 }, () => ({ message: '{{firstName}}'.repeat(700) }));
    expect(await api('POST', '/api/campaigns', { name: 'Dense', steps: dense })).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^steps\.\d+\.message: .*takes too long/) },
    });
  });

  it('that takes too long fails its message when it is due, and is shown unrendered until then', async () => {
    const to = phone();
    const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
    const later = await api('POST', '/api/messages', {
      message: EXPENSIVE,
      recipientPhone: to,
      scheduledDate,
    });
    expect(later).toMatchObject({ status: 201, body: { message: EXPENSIVE } });
    const thread = await api('GET', `/api/conversations/${to}`);
    expect(thread.body.messages).toMatchObject([{ message: EXPENSIVE }]);

    const { body } = await api('POST', '/api/messages', { message: EXPENSIVE, recipientPhone: to });
    expect(await ended(body._id)).toMatchObject({
      status: 'failed',
      errorMessage: 'template_too_expensive',
      message: EXPENSIVE,
    });
    expect(await sentTo(app, to)).toEqual([]);
  });
});

const ended = (messageId: string) =>
  eventually(async () => {
    const { body } = await api('GET', `/api/messages/${messageId}`);
    return ['sent', 'delivered', 'failed', 'fallback'].includes(body.status) && body;
  });

const failures = (messageId: string) =>
  eventually(async () => {
    const told = receiver.received.filter(({ json }) => json.messageId === messageId);
    return told.length > 0 && told.map(({ json }) => [json.event, json.data?.error]);
  });

async function send(fields: object): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', fields);
  expect(status, JSON.stringify(body)).toBe(201);
  return body._id;
}

describe('a message without a text to send', () => {
  it.each([
    ['nothing', '{{ nothing }}'],
    ['white space', '{{ " " }}\n\t\u00a0\u2003{{ jobTitle }}'],
    ['characters without width', '{{ nothing }}\u200b\u2060\ufeff\u00ad'],
  ])('fails with empty_message if the template renders to %s', async (_, message) => {
    const to = phone();
    const messageId = await send({ message, recipientPhone: to, sendFallbackSmsOnFailed: false });
    expect(await ended(messageId)).toMatchObject({ status: 'failed', errorMessage: 'empty_message' });
    expect(await failures(messageId)).toEqual([['message.failed', 'empty_message']]);
    expect(await sentTo(app, to)).toEqual([]);
  });

  it('fails with message_too_long if it renders to more than 10,000 characters', async () => {
    const to = phone();
    const leadId = await createLead(app, workspace.id, { phones: [to], notes: 'a'.repeat(5000) });
    const fits = await send({ message: '{{ notes }}{{ notes }}', leadId });
    const long = await send({ message: '{{ notes }}{{ notes }}.', leadId });
    expect(await ended(long)).toMatchObject({ status: 'failed', errorMessage: 'message_too_long' });
    expect((await ended(fits)).message).toHaveLength(10_000);
    expect((await sentTo(app, to)).map(({ text }) => text.length)).toEqual([10_000]);
  });

  it('counts a character outside the basic plane once, when it is accepted as when it is sent', async () => {
    const to = phone();
    const fits = await send({ message: '😀'.repeat(10_000), recipientPhone: to });
    expect((await ended(fits)).errorMessage).toBeNull();
    expect((await sentTo(app, to)).map(({ text }) => Array.from(text).length)).toEqual([10_000]);

    const refused = await api('POST', '/api/messages', {
      message: `${'😀'.repeat(6000)}{% include "file" %}`,
      recipientPhone: to,
    });
    expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: 'message' }] } });
  });

  it('fails as a drip as well', async () => {
    const { body } = await api('POST', '/api/drip', { message: '{{ nothing }}', recipientPhone: phone() });
    const [message] = await eventually(async () => {
      const found = await api('GET', `/api/messages?correlationId=${body.correlationId}`);
      return found.body.messages.length > 0 && found.body.messages;
    });
    await systemDb(app.pools).query(sql.type(z.unknown())`
      update messages set scheduled_at = now() where id = ${message._id}`);
    await send({ message: 'Wakes the line', recipientPhone: phone() });
    expect(await ended(message._id)).toMatchObject({ status: 'failed', errorMessage: 'empty_message' });
  });

  it('fails as a fallback SMS as well, whether forced or after a failure', async () => {
    await withFallback();
    const [unavailable, refused, forced] = [phone('0001'), phone('0002'), phone()];
    const empty = { message: 'Hi', smsFallbackMessage: '{{ nothing }}' };
    const all = [
      await send({ ...empty, recipientPhone: unavailable, smsFallbackEnabled: true }),
      await send({ ...empty, recipientPhone: refused, sendFallbackSmsOnFailed: true }),
      await send({ ...empty, recipientPhone: forced, forceFallback: true }),
    ];
    for (const messageId of all) {
      expect(await ended(messageId)).toMatchObject({ status: 'failed', errorMessage: 'empty_message' });
      expect(await failures(messageId)).toEqual([['message.failed', 'empty_message']]);
    }
    for (const to of [unavailable, refused, forced]) expect(await sentTo(app, to)).toEqual([]);
  });

  it('does not fall back to SMS, since no channel failed', async () => {
    await withFallback();
    const to = phone();
    const messageId = await send({
      message: '{{ nothing }}',
      recipientPhone: to,
      sendFallbackSmsOnFailed: true,
      smsFallbackMessage: 'By SMS',
    });
    expect(await ended(messageId)).toMatchObject({ status: 'failed', errorMessage: 'empty_message' });
    expect(await sentTo(app, to)).toEqual([]);
  });

  it('is sent if it has a file', async () => {
    const form = new FormData();
    form.set('file', new Blob(['%PDF-1.4\n%âãÏÓ\n1 0 obj\n<<>>\nendobj\n']), 'a.pdf');
    const upload = await fetch(`${app.url}/api/attachments/upload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workspace.key}` },
      body: form,
    });
    const { url } = z.object({ url: z.string() }).parse(await upload.json());
    const to = phone();
    const messageId = await send({ message: '{{ nothing }}', recipientPhone: to, attachmentUrls: [url] });
    expect(['sent', 'delivered']).toContain((await ended(messageId)).status);
    expect(await sentTo(app, to)).toMatchObject([{ attachments: [{ name: 'a.pdf' }] }]);
  });

  it.each(['', '   ', '\n\t', '\u200b', '\u2060\ufeff \u00a0'])(
    'is refused on intake if it is %j',
    async (message) => {
      for (const [path, fields] of [
        ['/api/messages', { recipientPhone: phone() }],
        ['/api/drip', { recipientPhone: phone() }],
        ['/api/inbox/send-reply', { phone: phone() }],
      ] as const) {
        expect(await api('POST', path, { message, ...fields }), path).toMatchObject(refuses('message'));
      }
      expect(await api('POST', '/api/campaigns', { name: 'Empty', steps: [{ message }] })).toMatchObject(
        refuses('steps.0.message'),
      );
    },
  );

  it('is shown as rendered once its fallback SMS was sent', async () => {
    await withFallback();
    const to = phone('0001');
    const leadId = await createLead(app, workspace.id, { first_name: 'Grace', phones: [to] });
    const messageId = await send({ message: 'Hi {{ firstName }}', leadId, smsFallbackEnabled: true });
    const shown = await eventually(async () => {
      const { body } = await api('GET', `/api/messages/${messageId}`);
      return body.fallbackSmsDispatched && body;
    });
    expect(shown.message).toBe('Hi Grace');
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual(['Hi Grace']);
  });
});

describe("an id in a body that is unknown or another workspace's", () => {
  const listInput = () => ({ name: 'Spring', steps: [{ message: 'Hi' }] });
  const message = () => ({ message: 'Hi', recipientPhone: phone() });
  const BODIES: [field: string, method: string, path: string, body: (id: unknown) => object][] = [
    ['leadId', 'POST', '/api/messages', (leadId) => ({ ...message(), leadId })],
    ['fromLineId', 'POST', '/api/messages', (fromLineId) => ({ ...message(), fromLineId })],
    [
      'eligibleLineIds',
      'POST',
      '/api/messages',
      (eligible) => ({ ...message(), eligibleLineIds: [eligible] }),
    ],
    ['leadId', 'POST', '/api/drip', (leadId) => ({ ...message(), leadId })],
    ['fromLineId', 'POST', '/api/drip', (fromLineId) => ({ ...message(), fromLineId })],
    ['leadId', 'POST', '/api/inbox/send-reply', (leadId) => ({ message: 'Hi', leadId })],
    ['leadId', 'POST', '/api/inbox/send-reply', (leadId) => ({ message: 'Hi', phone: phone(), leadId })],
    [
      'fromLineId',
      'POST',
      '/api/inbox/send-reply',
      (fromLineId) => ({ message: 'Hi', phone: phone(), fromLineId }),
    ],
    ['messageId', 'POST', '/api/fallback-sms', (messageId) => ({ messageId })],
    ['listId', 'POST', '/api/leads', (listId) => ({ leads: [{ phone: phone() }], listId })],
    ['listId', 'POST', '/api/leads/check-availability', (listId) => ({ listId })],
    ['leadIds', 'POST', '/api/leads/check-availability', (leadId) => ({ leadIds: [leadId] })],
    ['listId', 'POST', '/api/campaigns', (listId) => ({ ...listInput(), listId })],
    [
      'eligibleLineIds',
      'POST',
      '/api/campaigns',
      (lineId) => ({ ...listInput(), eligibleLineIds: [lineId] }),
    ],
    ['leadId', 'POST', '/api/campaigns/{id}/leads', (leadId) => ({ leadId })],
    ['leadId', 'POST', '/api/campaigns/{id}/preview', (leadId) => ({ leadId })],
    ['listId', 'PATCH', '/api/campaigns/{id}', (listId) => ({ listId })],
    ['eligibleLineIds', 'PATCH', '/api/campaigns/{id}', (lineId) => ({ eligibleLineIds: [lineId] })],
    ['replyId', 'POST', '/api/knowledge-base/auto-replies', (replyId) => ({ replyId, action: 'reject' })],
  ];

  it.each(BODIES)(
    'gets a 404, or a 400 that names the field: %s of %s %s',
    async (field, method, path, body) => {
      const stranger = await createWorkspace(app);
      const theirs = [
        await createLine(app, stranger.id),
        await createLead(app, stranger.id, { phones: [phone()] }),
      ];
      const campaign = await api('POST', '/api/campaigns', { name: 'Mine', steps: [{ message: 'Hi' }] });
      const target = path.replace('{id}', campaign.body.campaign._id);
      for (const unknown of [
        ...theirs,
        newId(),
        ' ',
        'nonsense',
        '__proto__',
        "' or 1=1 --",
        '０'.repeat(24),
        {},
        [],
        7,
        true,
      ]) {
        const { status, body: response } = await api(method, target, body(unknown));
        expect([400, 404], `${JSON.stringify(unknown)}: ${JSON.stringify(response)}`).toContain(status);
        if (status === 400) expect(JSON.stringify(response), JSON.stringify(unknown)).toContain(field);
      }
    },
  );
});

describe('fields', () => {
  it('of one line have a space for each run of line breaks and control characters', async () => {
    await createLine(app, workspace.id, 'email');
    const sent = await api('POST', '/api/messages', {
      message: 'Hi',
      messageType: 'email',
      recipientEmail: 'a@b.example',
      subject: 'a\r\nBcc: x@y.example',
      recipientName: 'a\u0007\n b\u0085',
      correlationId: 'a\u001b[2J',
    });
    expect(sent.status).toBe(201);
    expect((await api('GET', `/api/messages/${sent.body._id}`)).body).toMatchObject({
      subject: 'a Bcc: x@y.example',
      recipientName: 'a b ',
      correlationId: 'a [2J',
    });
    const leads = [{ phone: phone(), lastName: 'Love\nlace', customFields: { 'a\tb': 'x\ny' } }];
    const { leadIds } = (await api('POST', '/api/leads', { leads })).body;
    expect((await api('GET', `/api/leads/${leadIds[0]}`)).body.lead).toMatchObject({
      lastName: 'Love lace',
      customFields: { 'a b': 'x\ny' },
    });
  });

  it('with the NUL character are refused by name', async () => {
    const body = { message: 'Hi', recipientPhone: '+14155550123', recipientName: 'a\0b' };
    expect(await api('POST', '/api/messages', body)).toMatchObject(refuses('recipientName'));
  });

  it('that would set a prototype make the JSON invalid', async () => {
    for (const [path, body] of [
      [
        '/api/messages',
        '{"message": "Hi", "recipientPhone": "+14155550123", "__proto__": {"forceFallback": true}}',
      ],
      ['/api/leads', '{"leads": [{"phone": "+14155550123", "customFields": {"__proto__": "x"}}]}'],
    ] as const)
      expect(await api('POST', path, body)).toMatchObject({ status: 400, body: { code: 'INVALID_JSON' } });
  });

  it.each([
    ['leads.0.firstName', { firstName: 'a\u0000b' }],
    ['leads.0.customFields.city', { customFields: { city: 'a\u0007' } }],
    ['leads.0.customFields', { customFields: { 'a\0': 'x' } }],
  ])('of a lead with invalid characters are refused by name: %s', async (path, lead) => {
    const leads = [{ phone: phone(), ...lead }];
    expect(await api('POST', '/api/leads', { leads })).toMatchObject(refuses(path));
  });

  it('of a lead may have any name without exposing object properties', async () => {
    const { body: list } = await api('POST', '/api/lists', { name: 'Odd' });
    const listId: string = list.list._id;
    const [to, other] = [phone(), phone()];
    const odd = { constructor: 'Brunel', toString: 'text', hasOwnProperty: '=1+1' };
    const leads = [{ phone: to, customFields: odd }, { phone: other }];
    expect((await api('POST', '/api/leads', { listId, leads })).body.savedCount).toBe(2);
    const { body } = await api('GET', `/api/leads?listId=${listId}`);
    expect(body.leads.map(({ customFields }: { customFields: object }) => customFields)).toContainEqual(odd);
    const csv = await api('GET', `/api/lists/${listId}/export`);
    expect(csv.body).toContain('Brunel');
    expect(csv.body).toContain("'=1+1");
    expect(csv.body).not.toMatch(/function|native code/);

    const message = '[{{ customFields.constructor }}{{ customFields.valueOf }}{{ customFields.__proto__ }}]';
    await send({ message, leadId: body.leads.find(({ phone }: { phone: string }) => phone === to)._id });
    await send({ message, leadId: body.leads.find(({ phone }: { phone: string }) => phone === other)._id });
    await eventually(async () => (await sentTo(app, other)).length === 1);
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual(['[Brunel]']);
    expect((await sentTo(app, other)).map(({ text }) => text)).toEqual(['[]']);
  });
});

test('a campaign is refused for fields that no contact can have, at the text that names them, if it is asked to', async () => {
  const name = 'Unknown fields';
  const steps = [
    { message: 'Hi {{ firstName }}' },
    { variants: [{ body: 'Hi {{ first_name }}' }, { body: 'Hi {{ company }}' }] },
  ];
  const issues = [
    { path: 'steps.1.variants.0.body', message: expect.stringContaining('Do you mean firstName?') },
    { path: 'steps.1.variants.1.body', message: expect.stringContaining('Do you mean companyName?') },
  ];
  const refused = { status: 400, body: { code: 'VALIDATION_ERROR', issues } };
  const strictly = '?refuseUnknownFields=true';
  expect(await api('POST', `/api/campaigns${strictly}`, { name, steps })).toMatchObject(refused);
  const { status, body } = await api('POST', '/api/campaigns', { name, steps });
  expect([status, body.warnings.length]).toEqual([201, 2]);
  const path = `/api/campaigns/${body.campaign._id}`;
  expect(await api('PATCH', `${path}${strictly}`, { steps })).toMatchObject(refused);
  expect(await api('PATCH', `${path}${strictly}`, { name: 'Another name' })).toMatchObject({ status: 200 });
  expect(await api('POST', `${path}/start${strictly}`)).toMatchObject(refused);

  const fallback = '/api/workspace/fallback-config';
  const config = { provider: 'simulated', defaultMessage: 'Hi {{ first_name }}' };
  expect(await api('PATCH', `${fallback}${strictly}`, config)).toMatchObject({
    status: 400,
    body: {
      issues: [{ path: 'defaultMessage', message: expect.stringContaining('Do you mean firstName?') }],
    },
  });
  expect(await api('PATCH', fallback, config)).toMatchObject({ status: 200 });
});
