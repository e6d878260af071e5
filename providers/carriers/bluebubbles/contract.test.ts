import { expect, test } from 'vitest';
import { startBlueBubbles } from '#simulator/bluebubbles.ts';
import {
  blueBubblesViolations,
  readBlueBubblesContract,
  routeOf,
} from '#test/support/bluebubbles-contract.ts';
import { recordBlueBubblesRequests } from '#test/support/bluebubbles-requests.ts';
import type { SentRequest } from '#test/support/openapi-contract.ts';

/**
 * What is sent to a BlueBubbles server passes its own validators (github.com/BlueBubblesApp/bluebubbles-server), whose rules about the
 * routes that are used are in `test/fixtures/contracts/bluebubbles.json`.
 */
const CONTRACT = readBlueBubblesContract();

test('each request is valid, and each route is used', async () => {
  const requests = await recordBlueBubblesRequests();
  expect(await blueBubblesViolations(CONTRACT, requests)).toEqual([]);
  const used = new Set(requests.map((request) => routeOf(CONTRACT, request)));
  expect(CONTRACT.routes.filter((route) => !used.has(route))).toEqual([]);
});

const TEXT = { chatGuid: 'iMessage;-;+14155550100', tempGuid: 'T1', message: 'Hi', method: 'apple-script' };
const HOOK = { url: 'https://linepace.example/', events: ['new-message'] };
const CHAT = { addresses: ['+14155550100'], message: 'Hi' };
/** Requests that the server refuses, and what is wrong with them. */
const WRONG: [path: string, body: object | null, problem: string][] = [
  ['/message/text', { ...TEXT, chatGuid: undefined }, 'chatGuid is missing'],
  ['/message/text', { ...TEXT, message: undefined }, 'message is missing'],
  ['/message/text', { ...TEXT, message: 7 }, 'message must not be 7'],
  ['/message/text', { ...TEXT, method: 'shortcut' }, 'method must not be "shortcut"'],
  ['/message/text', { ...TEXT, tempGuid: undefined }, 'tempGuid is missing for apple-script'],
  [
    '/message/text',
    { ...TEXT, message: '', method: 'private-api' },
    'message or subject is missing for private-api',
  ],
  ['/chat/new', { ...CHAT, addresses: undefined }, 'addresses is missing'],
  ['/chat/new', { ...CHAT, service: 'RCS' }, 'service must not be "RCS"'],
  ['/message/query', { limit: 1001 }, 'limit must not be 1001'],
  ['/message/query', { before: 0 }, 'before must not be 0'],
  ['/message/query', { sort: 'asc' }, 'sort must not be "asc"'],
  ['/message/query', { with: 'chat' }, 'with must not be "chat"'],
  ['/webhook', { ...HOOK, url: 'linepace.example' }, 'url must not be "linepace.example"'],
  ['/webhook', { ...HOOK, events: ['new-messages'] }, 'events must not be ["new-messages"]'],
  ['/handle/availability/imessage', null, 'address is missing'],
];

test.each(WRONG)(
  'the check and the simulated server refuse a wrong request: %s %j',
  async (path, body, problem) => {
    const request: SentRequest = {
      method: body ? 'POST' : 'GET',
      path: `/api/v1${path}?password=secret`,
      body: body ? JSON.stringify(body) : '',
      ...(body && { contentType: 'application/json' }),
    };
    expect(await blueBubblesViolations(CONTRACT, [request])).toContain(
      `${request.method} ${path}: ${problem}`,
    );
    const server = await startBlueBubbles('secret');
    try {
      const response = await fetch(server.url + request.path, {
        method: request.method,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: request.body }),
      });
      expect(response.status).toBe(400);
    } finally {
      await server.stop();
    }
  },
);

const attachment = async (fields: Record<string, string>, content: string): Promise<SentRequest> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('attachment', new File([content], 'a.txt'));
  const encoded = new Response(form);
  return {
    method: 'POST',
    path: '/api/v1/message/attachment?password=secret',
    contentType: encoded.headers.get('content-type') ?? '',
    body: await encoded.text(),
  };
};

test.each([
  ['tempGuid is missing for apple-script', { chatGuid: TEXT.chatGuid, name: 'a.txt' }, 'content'],
  ['name is missing', { chatGuid: TEXT.chatGuid, tempGuid: 'T1' }, 'content'],
  ['attachment is missing or empty', { chatGuid: TEXT.chatGuid, tempGuid: 'T1', name: 'a.txt' }, ''],
])('… and a wrong file: %s', async (problem, fields, content) => {
  const request = await attachment(fields, content);
  expect(await blueBubblesViolations(CONTRACT, [request])).toContain(`POST /message/attachment: ${problem}`);
  const server = await startBlueBubbles('secret');
  try {
    const { contentType = '', body } = request;
    const headers = { 'content-type': contentType };
    const response = await fetch(server.url + request.path, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
  } finally {
    await server.stop();
  }
});

test('the check finds unknown routes and fields, and a missing password', async () => {
  const text = JSON.stringify({ ...TEXT, text: 'Hi' });
  const sent = { method: 'POST', path: '/api/v1/message/text', contentType: 'application/json', body: text };
  const listed = { method: 'GET', path: '/api/v1/message?password=secret', body: '' };
  expect(await blueBubblesViolations(CONTRACT, [sent, listed])).toEqual([
    'POST /message/text: the password is missing',
    'POST /message/text: text is unknown',
    'GET /api/v1/message: there is no such route',
  ]);
});
