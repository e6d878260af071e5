import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { sdkSource } from '#sdk/openapi.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { codeSamples } from '#test/support/code-samples.ts';
import {
  EXPECTED_RESUME_IDS,
  LOST_CONNECTIONS,
  EXPECTED_EVENTS,
  startDroppingStream,
} from '#test/support/dropping-stream.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { listening, startLossyFront } from '#test/support/lossy-front.ts';
import { installTypeScriptPackage } from '#test/support/typescript-package.ts';

const run = promisify(execFile);
// Its types are tested with the examples of its README.
// oxlint-disable-next-line no-explicit-any
type Sdk = any;

let app: TestApp;
let workspace: WorkspaceWithLine;
/** An empty project into which the package was installed. */
let project: string;
let sdk: Sdk;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
  project = await installTypeScriptPackage();
  sdk = await import(pathToFileURL(join(project, 'node_modules/linepace/dist/index.js')).href);
});

const client = (options = {}) => new sdk.Linepace({ baseUrl: app.url, apiKey: workspace.key, ...options });

describe('the package', () => {
  it('is generated from the current routes', async () => {
    const facts = await readFile('sdk/typescript/src/generated/facts.gen.ts', 'utf8');
    expect(facts, 'run `npm run sdk`').toContain(sdkSource().digest);
  });

  it('has no dependencies', async () => {
    const { dependencies } = JSON.parse(
      await readFile(join(project, 'node_modules/linepace/package.json'), 'utf8'),
    ) as { dependencies?: object };
    expect(dependencies).toBeUndefined();
  });

  it('runs the first example of its README', async () => {
    const [example] = await examples();
    await writeFile(join(project, 'example.ts'), example ?? '');
    const { stdout } = await run(process.execPath, ['example.ts'], {
      cwd: project,
      env: { ...process.env, LINEPACE_URL: app.url, LINEPACE_API_KEY: workspace.key },
    });
    expect(stdout).toMatch(/^[0-9a-f]{24} (pending|scheduled)\n$/);
  });

  it('has types for every example of its README, and every sample of the reference page', async () => {
    const folder = join(project, 'examples');
    await mkdir(folder);
    for (const [index, example] of [...(await examples()), ...codeSamples('TypeScript')].entries())
      await writeFile(join(folder, `${index}.ts`), `export {};\n${example}`);
    await writeFile(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'esnext',
          strict: true,
          noEmit: true,
          types: ['node'],
          typeRoots: [join(process.cwd(), 'node_modules/@types')],
        },
        include: ['examples'],
      }),
    );
    await run(join(process.cwd(), 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: project });
  });
});

const examples = async (): Promise<string[]> =>
  [...(await readFile('sdk/typescript/README.md', 'utf8')).matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, code = '']) => code,
  );

describe('the client', () => {
  it('throws errors with the code, the fields and the request id', async () => {
    const error = await client()
      .messages.send({ message: 'Hello', recipientPhone: '12' })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.LinepaceError);
    expect(error).toMatchObject({
      status: 400,
      code: 'VALIDATION_ERROR',
      issues: [{ path: 'recipientPhone' }],
      requestId: expect.any(String) as string,
    });
  });

  it('iterates over all pages', async () => {
    const { lineId } = workspace;
    const sent: string[] = [];
    for (const number of [1, 2, 3]) {
      const { _id } = await client().messages.send({
        message: `page ${number}`,
        recipientPhone: '+14155550199',
        fromLineId: lineId,
        scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
      });
      sent.push(_id);
    }
    const found: string[] = [];
    for await (const { _id } of sdk.pages((cursor: string | undefined) =>
      client().messages.list({ ...(cursor !== undefined && { cursor }), limit: 2, status: 'scheduled' }),
    ))
      found.push(_id);
    expect(found).toEqual(sent.toReversed());
  });

  it('sends one message when the response of the first attempt is lost', async () => {
    const lossy = await startLossyFront(app.url, (attempt) => attempt === 1);
    const message = await client({ baseUrl: lossy.url }).messages.send({
      message: 'only once',
      recipientPhone: '+14155550198',
      scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
    });
    expect(lossy.attempts()).toBe(2);
    const { messages } = await client().messages.list({ status: 'scheduled' });
    expect(messages.filter(({ message }: { message: string }) => message === 'only once')).toMatchObject([
      { _id: message._id },
    ]);
  });

  it('does not repeat an action without a key when its response is lost', async () => {
    const lossy = await startLossyFront(app.url, () => true);
    const { _id } = await client().messages.send({
      message: 'to be canceled',
      recipientPhone: '+14155550197',
      scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
    });
    await expect(client({ baseUrl: lossy.url }).messages.cancel({ id: _id })).rejects.toBeInstanceOf(
      sdk.LinepaceConnectionError,
    );
    expect(lossy.attempts()).toBe(1);
  });

  it('times out, with an error that names no contact', async () => {
    const silent = createServer(() => {});
    const url = await listening(silent);
    const impatient = client({ baseUrl: url, timeoutMs: 50, maxRetries: 0 });
    for (const address of ['+14155550199', 'ada@example.com']) {
      const error = await impatient.optOuts.get({ address }).catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(sdk.LinepaceConnectionError);
      expect(String(error)).toBe('LinepaceConnectionError: No response to GET /api/opt-outs/{}');
    }
  });

  it('streams events, and resumes after the last one', async () => {
    const events = client().stream();
    const first = events.next();
    const sent = await sendUntil(first);
    const { value } = await first;
    expect(value).toMatchObject({ event: 'message.sent' });
    expect(sent).toContain(value.data.messageId);
    await events.return();

    const resumed = client().stream({ lastEventId: value.id });
    const missed = await client().messages.send({ message: 'missed', recipientPhone: '+14155550123' });
    for await (const { data } of resumed) if (data.messageId === missed._id) break;
  });

  it('misses no event when the connection is lost before the first one, or at a reset', async () => {
    const { url, resumeIds } = await startDroppingStream(LOST_CONNECTIONS);
    const seen: string[] = [];
    for await (const { event } of client({ baseUrl: url }).stream()) {
      seen.push(event);
      if (seen.length === EXPECTED_EVENTS.length) break;
    }
    expect(seen).toEqual(EXPECTED_EVENTS);
    expect(resumeIds).toEqual(EXPECTED_RESUME_IDS);
  });

  /** Sends messages until one is streamed, because a stream begins some time after it was asked for. */
  async function sendUntil(streamed: Promise<unknown>): Promise<string[]> {
    const sent: string[] = [];
    let isOver = false;
    void streamed.finally(() => (isOver = true));
    await eventually(async () => {
      if (isOver) return true;
      const { _id } = await client().messages.send({ message: 'streamed', recipientPhone: '+14155550123' });
      sent.push(_id);
      return false;
    });
    return sent;
  }
});

describe('webhooks.unwrap', () => {
  it('returns the event of a delivery, and rejects a changed or an old one', async () => {
    const endpoint = await startTestEndpoint();
    const { secret } = await registerWebhook(workspace.api, endpoint.url);
    const { _id } = await client().messages.send({ message: 'Hello', recipientPhone: '+14155550123' });
    const { body, headers } = await vi.waitFor(() => {
      const delivery = endpoint.received.find(({ json }) => json.messageId === _id);
      if (!delivery) throw new Error('nothing was delivered');
      return delivery;
    }, 20_000);
    const { unwrap } = sdk.webhooks;
    await expect(unwrap(body, headers, secret)).resolves.toMatchObject({
      event: 'message.sent',
      messageId: _id,
    });
    await expect(unwrap(`${body} `, headers, secret)).rejects.toBeInstanceOf(sdk.WebhookVerificationError);
    await expect(unwrap(body, headers, `whsec_${btoa('another')}`)).rejects.toThrow('No signature matches');
    await expect(unwrap(body, headers, secret, { toleranceSeconds: -1 })).rejects.toThrow('too far');
  });
});
