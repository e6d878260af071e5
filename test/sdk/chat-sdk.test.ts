import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createKey, createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { listening } from '#test/support/lossy-front.ts';
import { installTypeScriptPackage } from '#test/support/typescript-package.ts';

const run = promisify(execFile);
const SOURCE = 'integrations/chat-sdk';
const TYPES = join(process.cwd(), 'node_modules/@types');
// The Chat SDK is installed for these tests only.
// oxlint-disable-next-line no-explicit-any
type Sdk = any;

let app: TestApp;
let sdk: { chat: Sdk; state: Sdk; adapter: Sdk };

/** Builds and installs the adapter into an empty project that has the SDK, as a user gets both. */
beforeAll(async () => {
  app = await sharedApp();
  const project = await installTypeScriptPackage();
  const packed = JSON.parse(await readFile(`${SOURCE}/package.json`, 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const versions = ['chat', '@chat-adapter/state-memory'].map(
    (name) => `${name}@${packed.devDependencies[name]}`,
  );
  const source = join(project, 'adapter');
  await mkdir(source, { recursive: true });
  for (const file of ['package.json', 'src', 'tsconfig.json', 'README.md'])
    await cp(join(SOURCE, file), join(source, file), { recursive: true });
  const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--prefer-offline'];
  await run('npm', ['install', ...options, ...versions], { cwd: project });
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', source, '--typeRoots', TYPES]);
  const module = (name: string) =>
    import(pathToFileURL(join(project, 'node_modules', name, 'dist/index.js')).href);
  sdk = {
    chat: await module('chat'),
    state: await module('@chat-adapter/state-memory'),
    adapter: await import(pathToFileURL(join(source, 'dist/index.js')).href),
  };
}, 240_000);

/** Serves a handler of web requests over HTTP. */
const serve = (handle: (request: Request) => Promise<Response>): Server =>
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = 'POST', headers } = request;
      const body = Buffer.concat(chunks);
      void handle(new Request('http://agent.test/', { method, headers: headers as never, body })).then(
        (answer) => response.writeHead(answer.status).end(),
      );
    });
  });

/** An agent with a key of some scopes, whose webhook is registered. */
async function startAgent(scopes: string[], answer: (text: string) => Sdk) {
  const workspace = await createWorkspaceWithLine(app);
  const apiKey = await createKey(app, 'workspace', workspace.id, { scopes });
  let handle: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 });
  const url = await listening(serve((request) => handle(request)));
  const { body } = await workspace.api('POST', '/api/webhooks', {
    url,
    events: ['message.reply', 'message.reaction'],
    retries: 'standard',
  });
  const linepace = sdk.adapter.createLinepaceAdapter({
    baseUrl: app.url,
    apiKey,
    webhookSecret: body.webhook.secret,
  });
  const chat = new sdk.chat.Chat({
    userName: 'agent',
    adapters: { linepace },
    state: sdk.state.createMemoryState(),
    logger: 'silent',
  });
  chat.onDirectMessage(async (thread: Sdk, message: Sdk) => void (await thread.post(answer(message.text))));
  await chat.initialize();
  handle = (request) => chat.webhooks.linepace(request);
  const receive = (from: string, text: string) =>
    eventually(async () => (await callBack(app, workspace.lineId, replyEvent(from, text))) === 200);
  return { workspace, linepace, url, receive };
}

test('sends what an agent writes, as plain text that is no template', async () => {
  const { linepace, receive } = await startAgent(['read', 'send', 'draft'], (text) => ({
    markdown: `**You** wrote: ${text} {{ firstName }}\n\n- [Docs](https://example.com/docs)`,
  }));
  const contact = phone();
  await receive(contact, 'Is it still free?');
  const [sent] = await eventually(async () => {
    const found = await sentTo(app, contact);
    return found.length > 0 && found;
  });
  expect(sent?.text).toBe(
    'You wrote: Is it still free? {{ firstName }}\n\n- Docs (https://example.com/docs)',
  );
  const thread = await linepace.openDM(contact);
  // Until it is recorded as sent, its text is a template.
  const { messages } = await eventually(async () => {
    const found = await linepace.fetchMessages(thread);
    return found.messages.every(({ raw }: Sdk) => raw.status !== 'pending') && found;
  });
  expect(messages.map((message: Sdk) => [message.author.isMe, message.text])).toEqual([
    [false, 'Is it still free?'],
    [true, sent?.text],
  ]);
});

test('drafts what an agent writes whose key may not send, and posts a stream once', async () => {
  async function* words() {
    yield 'Yes, ';
    yield 'it is.';
  }
  const { workspace, receive } = await startAgent(['read', 'draft'], () => words());
  const contact = phone();
  await receive(contact, 'Is it still free?');
  const drafts = await eventually(async () => {
    const { body } = await workspace.api('GET', '/api/knowledge-base/auto-replies');
    return body.autoReplies.length > 0 && body.autoReplies;
  });
  expect(drafts).toMatchObject([
    { draftMessage: 'Yes, it is.', conversationRecipient: contact, source: 'api' },
  ]);
  expect(await sentTo(app, contact)).toEqual([]);
});

test('answers 401 to what the server has not signed', async () => {
  const { url } = await startAgent(['read'], () => 'never');
  const answer = await fetch(url, { method: 'POST', body: '{"event":"message.reply"}' });
  expect(answer.status).toBe(401);
});

test('has types for the example of its README', async () => {
  const project = await installTypeScriptPackage();
  const [example] =
    (await readFile(`${SOURCE}/README.md`, 'utf8')).match(/(?<=```ts\n)[\s\S]*?(?=```)/) ?? [];
  const folder = join(project, 'adapter', 'example');
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'example.ts'),
    (example ?? '').replace('chat-adapter-linepace', '../dist/index.js'),
  );
  const { compilerOptions } = JSON.parse(await readFile(`${SOURCE}/tsconfig.json`, 'utf8')) as {
    compilerOptions: object;
  };
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        ...compilerOptions,
        rootDir: '..',
        noEmit: true,
        types: ['node'],
        typeRoots: [TYPES],
      },
      include: ['.'],
    }),
  );
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder]);
});
