import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { createCopilot, receiveReply } from '#test/support/copilot.ts';
import { type Received, registerWebhook, startEndpoint, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { listening } from '#test/support/lossy-front.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { installTypeScriptPackage } from '#test/support/typescript-package.ts';

const RECIPES = resolve('examples/recipes');

let app: TestApp;
let workspace: WorkspaceWithLine;
/** A project with the package, into which recipes are copied. */
let project: string;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
  project = await installTypeScriptPackage();
});

const environment = (more: Record<string, string> = {}, key = workspace.key) => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  LINEPACE_URL: app.url,
  LINEPACE_API_KEY: key,
  ...more,
});

const copied = async (recipe: string): Promise<string> => {
  const target = join(project, basename(recipe));
  await cp(join(RECIPES, recipe), target);
  return target;
};

/** Starts a recipe that is a server. @returns its URL. */
async function started(
  recipe: string,
  more: Record<string, string>,
  { port, key }: { port: number; key?: string },
): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, [await copied(recipe)], {
    env: environment({ PORT: String(port), ...more }, key),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  await new Promise((ready) => child.stdout?.once('data', ready));
  return `http://localhost:${port}`;
}

test('a CRM that repeats its webhook sends one message', async () => {
  const url = await started('crm-webhook.ts', {}, { port: await freePort() });
  const post = async (phone: string, eventId: string) => {
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ eventId, stage: 'proposal_sent', contact: { name: 'Ada', phone } }),
    });
    return { status: response.status, text: await response.text() };
  };
  const [first, second] = [await post('+14155550123', 'deal-1'), await post('+14155550123', 'deal-1')];
  expect(first.status).toBe(200);
  expect(second).toEqual(first);
  expect(await post('12', 'deal-2')).toMatchObject({
    status: 200,
    text: expect.stringContaining('recipientPhone') as string,
  });
  const { body } = await workspace.api('GET', '/api/messages?correlationId=deal-1');
  expect(body.messages).toHaveLength(1);
});

test('a draft is approved with a button in Slack, once', async () => {
  const shown: { blocks: { elements?: { action_id: string; value: string }[] }[] }[] = [];
  const answers: { text: string }[] = [];
  const slack = createServer(async (request, response) => {
    const body = await json(request);
    if (request.url === '/answer') answers.push(body as { text: string });
    else shown.push(body as (typeof shown)[number]);
    response.end('ok');
  });
  const slackUrl = await listening(slack);
  const copilot = await createCopilot(app, await startTestEndpoint());
  const port = await freePort();
  const { secret } = await registerWebhook(copilot.call, `http://localhost:${port}/drafts`, {
    events: ['message.ai_draft'],
  });
  const url = await started(
    'slack-approval.ts',
    {
      LINEPACE_WEBHOOK_SECRET: secret,
      SLACK_WEBHOOK_URL: `${slackUrl}/channel`,
      SLACK_SIGNING_SECRET: 'slack-secret',
    },
    { port, key: copilot.workspace.key },
  );
  await receiveReply(copilot, '+14155550777', 'Can we talk on Tuesday?');
  const approve = await vi.waitFor(() => {
    const button = shown[0]?.blocks
      .flatMap(({ elements = [] }) => elements)
      .find(({ action_id }) => action_id === 'approve');
    if (!button) throw new Error('no draft was shown');
    return button;
  }, 20_000);

  const click = (signingSecret: string) => {
    const payload = { actions: [approve], response_url: `${slackUrl}/answer` };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const timestamp = String(Math.floor(Date.now() / 1000));
    const digest = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
    return fetch(`${url}/slack`, {
      method: 'POST',
      headers: { 'X-Slack-Request-Timestamp': timestamp, 'X-Slack-Signature': `v0=${digest}` },
      body,
    });
  };
  expect((await click('forged')).status).toBe(401);
  expect((await click('slack-secret')).status).toBe(200);
  expect((await click('slack-secret')).status).toBe(200);
  expect(answers.map(({ text }) => text)).toEqual([
    'The draft is approved.',
    'Somebody else was first: the draft is approved.',
  ]);
});

test('an import of last night names the rejected rows', async () => {
  const recipe = await copied('nightly-import.ts');
  const file = join(project, 'contacts.csv');
  await writeFile(file, 'firstName,phone\nAda,+14155553101\nEve,12\n');
  const run = () => output(process.execPath, [recipe, file, 'From the CRM'], environment());
  expect(await run()).toMatch(/^1 new, 0 known, 1 rejected\n.*Eve/s);
  expect(await run()).toMatch(/^0 new, 1 known, 1 rejected\n/);
});

test('a sequence of five days is tested in seconds', async () => {
  // Of its own, so that a retry begins anew.
  const { key } = await openTestMode(app, await createWorkspaceWithLine(app));
  const recipe = await copied('test-a-sequence/sequence.test.ts');
  const result = await output(process.execPath, ['--test', recipe], environment({}, key));
  expect(result).toMatch(/pass 1\n/);
}, 240_000);

describe('verify a webhook', () => {
  let delivery: Received;
  let secret: string;

  beforeAll(async () => {
    const endpoint = await startEndpoint();
    ({ secret } = await registerWebhook(workspace.api, endpoint.url));
    await workspace.api('POST', '/api/messages', { message: 'Grüße 👋', recipientPhone: '+14155550123' });
    delivery = await vi.waitFor(() => {
      const [first] = endpoint.received;
      if (!first) throw new Error('nothing was delivered');
      return first;
    }, 20_000);
    await endpoint.close();
  });

  const LANGUAGES = {
    TypeScript: ['verify.ts', process.execPath],
    Python: ['verify.py', 'python3'],
    Go: ['verify.go', 'go', 'run'],
    Ruby: ['verify.rb', 'ruby'],
    PHP: ['verify.php', 'php'],
  } as const;

  for (const [language, [file, program, ...args]] of Object.entries(LANGUAGES)) {
    const isMissing = !isInstalled(program);
    if (isMissing) console.warn(`Verification in ${language} is not tested: ${program} is not installed`);
    it.skipIf(isMissing)(
      `in ${language}`,
      async () => {
        const path = await copied(`verify-webhook/${file}`);
        const verify = (
          body: string,
          key = secret,
          timestamp = String(delivery.headers['webhook-timestamp']),
        ) =>
          output(
            program,
            [...args, path],
            environment({
              WEBHOOK_ID: String(delivery.headers['webhook-id']),
              WEBHOOK_TIMESTAMP: timestamp,
              WEBHOOK_SIGNATURE: String(delivery.headers['webhook-signature']),
              WEBHOOK_SECRET: key,
            }),
            body,
          );
        expect(await verify(delivery.body)).toBe('message.sent\n');
        await expect(verify(`${delivery.body} `)).rejects.toThrow('exit code 1');
        await expect(verify(delivery.body, `whsec_${btoa('another')}`)).rejects.toThrow('exit code 1');
        await expect(verify(delivery.body, secret, '1700000000')).rejects.toThrow('exit code 1');
      },
      120_000,
    );
  }
});

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, [program === 'go' ? 'version' : '--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function output(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input = '',
): Promise<string> {
  return new Promise((done, failed) => {
    const child = execFile(program, args, { env }, (error, stdout, stderr) =>
      error ? failed(new Error(`exit code ${error.code}: ${stderr}`)) : done(stdout),
    );
    child.stdin?.end(input);
  });
}
