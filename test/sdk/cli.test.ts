import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, inject, it, onTestFinished, test, vi } from 'vitest';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { LOST_CONNECTIONS, startDroppingStream } from '#test/support/dropping-stream.ts';
import { startTestEndpoint, verify } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { listening } from '#test/support/lossy-front.ts';
import { signIn } from '#test/support/sessions.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { installTypeScriptPackage } from '#test/support/typescript-package.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
/** The installed program, as `npx linepace` runs it. */
let program: string;
/** The program in a clone of the repository. */
const CLONE = join(process.cwd(), 'cli/linepace.mjs');
/** The home of a user who has not signed in. */
let home: string;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
  program = join(await installTypeScriptPackage(), 'node_modules/.bin/linepace');
  home = await mkdtemp(join(inject('runFolder'), 'cli-home-'));
});

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: home,
  LINEPACE_NO_KEYCHAIN: '1',
});

const signedIn = () => ({ ...environment(), LINEPACE_URL: app.url, LINEPACE_API_KEY: workspace.key });

/** Runs a command as a signed-in user. */
const linepace = (...args: string[]): Promise<Outcome> => run(args, signedIn());

function run(args: string[], env: NodeJS.ProcessEnv, input = '', file = program): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(file, args, { env, cwd: home }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

describe('the output', () => {
  it('may be read only in part, as by head', async () => {
    const child = spawn(program, ['--help'], { env: environment(), cwd: home });
    child.stdout.destroy();
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, errors]).toEqual([0, '']);
  });
});

test('says its version, from a package and from a clone', async () => {
  const version = async (file: string): Promise<unknown> =>
    (JSON.parse(await readFile(join(process.cwd(), file), 'utf8')) as { version: unknown }).version;
  expect(await run(['--version'], environment())).toEqual({
    code: 0,
    stdout: `${String(await version('sdk/typescript/package.json'))}\n`,
    stderr: '',
  });
  expect(await run(['--version'], environment(), '', CLONE)).toMatchObject({
    code: 0,
    stdout: `${String(await version('package.json'))}\n`,
  });
});

describe('login', () => {
  it('stores the key in a file that only its owner reads, per profile', async () => {
    const login = await run(['login', '--url', app.url], environment(), `${workspace.key}\n`);
    expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining('Signed in to Test') as string });
    const file = join(home, '.config/linepace/config.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      current: 'default',
      profiles: { default: { url: app.url, apiKey: workspace.key } },
    });
    const lines = await run(['lines', '--json'], environment());
    expect(JSON.parse(lines.stdout)).toMatchObject([{ _id: workspace.lineId }]);
  });

  it('takes the key of the demo in the folder of the caller with --demo, also from a clone', async () => {
    const demo = { baseUrl: app.url, workspaceKey: workspace.key };
    await mkdir(join(home, '.data'));
    await writeFile(join(home, '.data/demo.json'), JSON.stringify(demo));
    for (const file of [program, CLONE])
      expect(await run(['login', '--demo'], environment(), '', file)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`at ${app.url}`) as string,
      });
    await rm(join(home, '.data'), { recursive: true });
  });

  it('sends no key where the folder of the caller says', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization ?? '');
      response.writeHead(401).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await mkdir(join(home, '.data'));
    const demo = join(home, '.data/demo.json');
    try {
      await writeFile(demo, JSON.stringify({ baseUrl: elsewhere, workspaceKey: 'svc_sk_theirs' }));
      // The product of the tests runs at another port than the default.
      const [plain, stored] = [
        await run(['login', '--url', app.url], environment(), `${workspace.key}\n`),
        await run(['lines'], { ...environment(), LINEPACE_URL: elsewhere }),
      ];
      expect(plain).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(new URL(app.url).host) as string,
      });
      expect(stored).toMatchObject({ code: 2, stderr: expect.stringContaining('stored for') as string });
      await writeFile(demo, JSON.stringify({ baseUrl: 'https://attacker.example', workspaceKey: 'x' }));
      expect(await run(['login', '--demo'], environment())).toMatchObject({ code: 2 });
      expect(
        await run(['login', '--url', 'http://attacker.example'], environment(), 'svc_sk_x'),
      ).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('not https') as string,
      });
      expect(asked).toEqual([]);
    } finally {
      server.close();
      await rm(join(home, '.data'), { recursive: true });
    }
  });

  it('refuses a wrong key and stores nothing', async () => {
    const wrong = { ...environment(), HOME: await mkdtemp(join(inject('runFolder'), 'cli-home-')) };
    const login = await run(['login', '--url', app.url, '--key', 'svc_sk_wrong'], wrong);
    expect(login).toMatchObject({ code: 3, stderr: expect.stringContaining('UNAUTHORIZED') as string });
    expect(await run(['lines'], wrong)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('linepace login') as string,
    });
  });

  it('takes only test keys with --test', async () => {
    const login = await run(['login', '--test', '--url', app.url, '--key', workspace.key], environment());
    expect(login).toMatchObject({ code: 2, stderr: expect.stringContaining('svc_test_') as string });
  });
});

describe('exit codes', () => {
  it('tell a refusal, wrong usage and a server that is away apart', async () => {
    expect(await linepace('send', 'Hello', '--to', '12')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('recipientPhone') as string,
    });
    expect(await linepace('send', 'Hello')).toMatchObject({ code: 2 });
    expect(await linepace('no-such-command')).toMatchObject({ code: 2 });
    expect(await run(['lines'], { ...signedIn(), LINEPACE_URL: 'http://127.0.0.1:1' })).toMatchObject({
      code: 3,
    });
    expect(await linepace('--help')).toMatchObject({ code: 0 });
  });

  it.each([
    ['a missing argument', ['campaigns', 'start'], "missing required argument 'campaignId'"],
    ['a wrong choice', ['keys', 'create', 'Reader', '--scopes', 'nope'], 'Allowed choices are read,'],
    ['an unknown option', ['drafts', 'approve', 'x', '--nope'], "unknown option '--nope'"],
  ])('tell that a subcommand is used wrongly: %s', async (_title, args, reason) => {
    expect(await linepace(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(new RegExp(`${reason}[^]*\\(see --help\\)`)) as string,
    });
  });

  it.each([
    'keys create Reader --expires-in-days abc',
    'keys create Reader --expires-in-days 1.5',
    'keys roll x --overlap-hours ',
    'messages --limit all',
  ])('tell that an option is not a number: %s', async (line) => {
    expect(await linepace(...line.split(' '))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is invalid\. It must be a (whole )?number\./) as string,
    });
  });
});

describe('the environment', () => {
  it('counts an empty variable as unset, and takes an address that ends with a slash', async () => {
    const user = await mkdtemp(join(inject('runFolder'), 'cli-home-'));
    const unset = { XDG_CONFIG_HOME: '', LINEPACE_URL: '', LINEPACE_API_KEY: '', LINEPACE_PROFILE: '' };
    const env = { ...environment(), ...unset, HOME: user };
    expect(await run(['login', '--url', `${app.url}/`], env, workspace.key)).toMatchObject({ code: 0 });
    expect((await stat(join(user, '.config/linepace/config.json'))).isFile()).toBe(true);
    const slashed = { ...signedIn(), LINEPACE_URL: `${app.url}/` };
    const [stored, given, page] = await Promise.all([
      run(['doctor'], env),
      run(['doctor'], slashed),
      run(['open', '--print-only'], slashed),
    ]);
    for (const { stdout } of [stored, given]) expect(stdout).toContain(`✓ server: ${app.url} is ready`);
    expect(page.stdout).toBe(`${app.url}/console\n`);
  });

  it.each([
    [
      'an address without http',
      { LINEPACE_URL: 'localhost:3000' },
      ['lines'],
      2,
      'is not a URL that begins with',
    ],
    [
      'a key that no header takes',
      { LINEPACE_API_KEY: 'svc_sk_ä€' },
      ['lines'],
      2,
      'The key from LINEPACE_API_KEY',
    ],
    ['a URL that is none', {}, ['listen', '--forward-to', 'here'], 2, '--forward-to here is not a URL'],
    ['a page that is none', {}, ['open', 'toString', '--print-only'], 2, 'Allowed choices are console, docs'],
    [
      'a folder that cannot be made',
      { XDG_CONFIG_HOME: '/dev/null' },
      ['login', '--key', 'KEY'],
      1,
      'linepace',
    ],
  ])('tells what is wrong, without a stack: %s', async (_title, changes, args, code, text) => {
    const env = { ...signedIn(), ...changes };
    const told = await run(
      args.map((word) => (word === 'KEY' ? workspace.key : word)),
      env,
    );
    expect(told).toMatchObject({ code, stderr: expect.stringContaining(text) as string });
    expect(told.stderr).not.toMatch(/^ +at /m);
  });
});

describe('send, messages, timeline', () => {
  it('sends a message once for one key, and shows what happened to it', async () => {
    const send = () => linepace('send', 'from the shell', '--to', '+14155550123', '--key', 'cli-1', '--json');
    const [first, second] = [await send(), await send()];
    const { _id } = JSON.parse(first.stdout);
    expect(JSON.parse(second.stdout)._id).toBe(_id);
    await eventually(async () => (await linepace('timeline', _id)).stdout.includes('is delivered'));
    const { stdout } = await linepace('messages', '--status', 'delivered');
    expect(stdout).toMatch(/^_ID +STATUS/);
    expect(stdout).toContain(_id);
  });
});

describe('reputation and forecast', () => {
  it('tell how a line is judged, and when a campaign will be done', async () => {
    const judged = await linepace('reputation', workspace.lineId);
    expect(judged).toMatchObject({ code: 0, stdout: expect.stringMatching(/is new: \d+ of 100/) as string });
    const { body } = await workspace.api('POST', '/api/campaigns', {
      name: 'From the shell',
      steps: [{ message: 'Hello', delay: {} }],
    });
    const foreseen = await linepace('forecast', body.campaign._id);
    expect(foreseen).toMatchObject({ code: 0, stdout: expect.stringContaining('All done: ') as string });
  });

  it('say nothing about the first step when all contacts have entered', async () => {
    const { newList, newCampaign, progressOf } = campaignHelpers(() => ({
      app,
      workspace,
      api: workspace.api,
    }));
    const { listId } = await newList([{ phone: phone() }]);
    const campaign = await newCampaign({ listId, steps: [{ message: 'One', delay: { days: 1 } }] });
    await workspace.api('POST', `/api/campaigns/${campaign}/start`);
    await eventually(async () => (await progressOf(campaign)).enteredAll);
    const { stdout } = await linepace('forecast', campaign);
    expect(stdout).toMatch(/^All done: 2/);
  });
});

describe('keys', () => {
  it('are created, rolled and revoked by a signed-in person, and refuse a key', async () => {
    expect(await linepace('keys')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('SESSION_REQUIRED') as string,
    });
    const { ownerId: userId, id: organizationId } = workspace;
    const token = await signIn(app, { userId, organizationId, role: 'org:admin' });
    const asOwner = (...args: string[]) => run(args, { ...signedIn(), LINEPACE_API_KEY: token });
    const created = await asOwner('keys', 'create', 'Reader', '--scopes', 'read', '--json');
    const { _id, key } = JSON.parse(created.stdout);
    const asReader = (...args: string[]) => run(args, { ...signedIn(), LINEPACE_API_KEY: key });
    expect(await asReader('send', 'Hello', '--to', '+14155550123')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('INSUFFICIENT_SCOPE') as string,
    });
    const rolled = await asOwner('keys', 'roll', _id, '--overlap-hours', '1');
    expect(rolled.stdout).toMatch(/^svc_/);
    expect((await asOwner('keys', 'revoke', _id)).code).toBe(0);
    expect((await asReader('lines')).code).toBe(3);
  });
});

describe('test mode', () => {
  it('is entered with a key of its own, has lines, and causes replies', async () => {
    const { key } = await openTestMode(app, workspace);
    const env = { ...environment(), HOME: await mkdtemp(join(inject('runFolder'), 'cli-home-')) };
    const login = await run(['login', '--test', '--url', app.url, '--key', key], env);
    expect(login).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('as the profile test') as string,
    });
    expect(JSON.parse((await run(['lines', '--json'], env)).stdout)).not.toEqual([]);
    const replied = await run(['trigger', 'message.reply', '--from', '+14155550123', '--json'], env);
    expect(JSON.parse(replied.stdout)).toMatchObject({ replyId: expect.any(String) as string });
    expect(await run(['trigger', 'message.reply'], env)).toMatchObject({ code: 2 });
    expect(await run(['trigger', 'message.opened', '--message', '6'.repeat(24)], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('NOT_FOUND') as string,
    });
  });
});

describe('drip', () => {
  it('queues each row once, however often it is run, and names the rows that are refused', async () => {
    const other = await createWorkspaceWithLine(app);
    const env = { ...signedIn(), LINEPACE_API_KEY: other.key };
    const file = join(home, 'people.csv');
    const rows = Array.from({ length: 50 }, (_, index) => `+1415555${String(2000 + index)},Hello ${index}`);
    await writeFile(file, ['recipientPhone,message', ...rows, '12,Hello'].join('\n'));
    const first = await run(['drip', file, '--json'], env);
    expect(first).toMatchObject({ code: 1 });
    expect(JSON.parse(first.stdout)).toMatchObject({ queued: 50, failures: [{ row: 52 }] });
    expect(await run(['drip', file], env)).toMatchObject({ code: 1 });
    await eventually(async () => {
      const { body } = await other.api('GET', '/api/messages?limit=200');
      return body.messages.length >= 50;
    });
    const { body } = await other.api('GET', '/api/messages?limit=200');
    expect(body.messages).toHaveLength(50);
  });

  describe('that was interrupted', () => {
    /** An API that refuses the row `12`, and the last row until `recovers` is called. */
    async function startInterruptingApi() {
      let isRecovered = false;
      const accepted: string[] = [];
      const held: (() => void)[] = [];
      const server = createServer(async (request, response) => {
        const key = String(request.headers.authorization);
        const answer = (status: number, body: object) =>
          response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
        if (request.url === '/api/workspace') return answer(200, { workspace: { _id: key } });
        const { recipientPhone, message } = (await json(request)) as Record<string, string>;
        const accept = () => {
          accepted.push(`${key} ${message}`);
          answer(200, { success: true });
        };
        if (recipientPhone === '12') return answer(400, { error: 'recipientPhone is invalid' });
        if (isRecovered) return accept();
        // As many rows are under way as the command sends at a time, so the last one follows when the refusal was received.
        if (message !== 'last') return held.push(accept);
        for (const release of held.splice(0)) release();
        answer(403, { error: 'The subscription has ended' });
      });
      return { url: await listening(server), accepted, recovers: () => (isRecovered = true) };
    }

    async function interrupted() {
      const api = await startInterruptingApi();
      const state = await mkdtemp(join(inject('runFolder'), 'cli-state-'));
      const file = join(home, 'interrupted.csv');
      const rows = Array.from({ length: 19 }, (_, index) => `+1415555${2100 + index},held ${index}`);
      await writeFile(
        file,
        ['recipientPhone,message', '12,refused', ...rows, '+14155552999,last'].join('\n'),
      );
      const drip = (apiKey: string) =>
        run(['drip', file, '--json'], {
          ...environment(),
          XDG_STATE_HOME: state,
          LINEPACE_URL: api.url,
          LINEPACE_API_KEY: apiKey,
        });
      expect(await drip('svc_a')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('ended') as string,
      });
      api.recovers();
      return { ...api, drip };
    }

    it('reports refused rows again', async () => {
      const { drip } = await interrupted();
      const { code, stdout } = await drip('svc_a');
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ queued: 20, failures: [{ row: 2 }] });
    });

    it('queues only the other rows after it was killed', async () => {
      const received: string[] = [];
      // Later rows are under way when the command is killed.
      let mostAnswered = 10;
      const server = createServer(async (request, response) => {
        const answer = (body: object) =>
          response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
        if (request.url === '/api/workspace') return answer({ workspace: { _id: 'one' } });
        const { message } = (await json(request)) as { message: string };
        received.push(message);
        if (received.length <= mostAnswered) answer({ success: true });
      });
      const env = {
        ...environment(),
        XDG_STATE_HOME: await mkdtemp(join(inject('runFolder'), 'cli-state-')),
        LINEPACE_URL: await listening(server),
        LINEPACE_API_KEY: 'svc_a',
      };
      const file = join(home, 'killed.csv');
      const rows = Array.from({ length: 30 }, (_, index) => `+1415555${2200 + index},row ${index}`);
      await writeFile(file, ['recipientPhone,message', ...rows].join('\n'));
      const start = () => spawn(program, ['drip', file], { env, cwd: home, stdio: 'ignore' });
      const child = start();
      // A row follows when an earlier one was recorded.
      await eventually(async () => received.length === 30);
      child.kill('SIGKILL');
      const accepted = received.splice(0).slice(0, 10);
      const folder = join(env.XDG_STATE_HOME, 'linepace');
      const [record = ''] = (await readdir(folder)).map((name) => join(folder, name));
      // Of a row whose number was not written to its end.
      await appendFile(record, '1');
      mostAnswered = 19;
      const again = start();
      await eventually(async () => (await readFile(record, 'utf8')).split('\n').length === 30);
      again.kill('SIGKILL');
      const others = received.splice(0);
      expect(others.filter((message) => accepted.includes(message))).toEqual([]);
      mostAnswered = 30;
      expect(JSON.parse((await run(['drip', file, '--json'], env)).stdout)).toMatchObject({ queued: 30 });
      expect(received).toEqual(others.slice(19));
    });

    it('starts over for another workspace', async () => {
      const { drip, accepted } = await interrupted();
      const { stdout } = await drip('svc_b');
      expect(JSON.parse(stdout)).toMatchObject({ queued: 20 });
      expect(accepted.filter((row) => row.startsWith('Bearer svc_b'))).toHaveLength(20);
    });
  });

  it('names what is wrong once, in the order of the rows', async () => {
    const file = join(home, 'refused.csv');
    await writeFile(file, 'recipientPhone,message\n12,Hello\n+14155552999,\n13,Hello\n');
    const { code, stdout } = await linepace('drip', file);
    expect(code).toBe(1);
    expect(stdout.match(/line \d+/g)).toEqual(['line 2', 'line 3', 'line 4']);
    expect(stdout.match(/must be a phone number/g)).toHaveLength(2);
    for (const lineEnd of ['\n', '\r\n']) {
      await writeFile(
        file,
        ['recipientPhone,message', '', '12,"Two', 'lines"', '', '13,Hello'].join(lineEnd),
      );
      const counted = await linepace('drip', file, '--json');
      expect(JSON.parse(counted.stdout)).toMatchObject({ queued: 0, failures: [{ row: 4 }, { row: 6 }] });
    }
  });

  it.each(['drip', 'import'])('%s says when its file cannot be read', async (command) => {
    const { code, stderr } = await linepace(
      command,
      join(home, 'missing.csv'),
      ...(command === 'import' ? ['--list', 'x'] : []),
    );
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^The file cannot be read: .*missing\.csv'\n$/),
    ]);
  });

  it('finds its file from a clone', async () => {
    await writeFile(join(home, 'here.csv'), 'recipientPhone,message\n+14155552998,Hello\n');
    expect(await run(['drip', 'here.csv', '--json'], signedIn(), '', CLONE)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"queued": 1') as string,
    });
  });

  it('says when its file is not CSV', async () => {
    const file = join(home, 'broken.csv');
    await writeFile(file, 'recipientPhone,message\n"+14155552999,Hello\n');
    expect(await linepace('drip', file)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^The file is not valid CSV: /) as string,
    });
  });
});

describe('import', () => {
  it('waits until the contacts are saved', async () => {
    const { body } = await workspace.api('POST', '/api/lists', { name: 'From the shell' });
    const file = join(home, 'contacts.csv');
    await writeFile(file, 'firstName,phone\nAda,+14155553001\nBob,+14155553002\nEve,12\n');
    const { code, stdout } = await linepace('import', file, '--list', body.list._id, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', saved: 2, rejected: 1 });
  });

  it.each([
    ['Windows-1252', (csv: string) => Buffer.from(csv, 'latin1')],
    ['UTF-16', (csv: string) => Buffer.from(`\uFEFF${csv}`, 'utf16le')],
  ])('keeps the letters of a file in %s', async (encoding, encoded) => {
    const { body } = await workspace.api('POST', '/api/lists', { name: encoding });
    const file = join(home, `${encoding}.csv`);
    await writeFile(file, encoded('firstName,phone\nJosé,+14155553003\nZoë,+14155553004\n'));
    expect(await linepace('import', file, '--list', body.list._id)).toMatchObject({ code: 0 });
    const found = await workspace.api('GET', `/api/leads?listId=${body.list._id}`);
    const names = found.body.leads.map(({ firstName }: { firstName: string }) => firstName);
    expect(names.toSorted()).toEqual(['José', 'Zoë']);
  });
});

describe('listen', () => {
  it('forwards events to a local server, signed as webhooks are', async () => {
    const endpoint = await startTestEndpoint();
    const child = spawn(program, ['listen', '--forward-to', endpoint.url], { env: signedIn(), cwd: home });
    onTestFinished(() => void child.kill());
    const secret = await printed(child, /whsec_\S+/);
    await vi.waitFor(
      async () => {
        // The stream begins some time after the program has said that it is ready.
        await workspace.api('POST', '/api/messages', { message: 'Hello', recipientPhone: '+14155550123' });
        expect(endpoint.received.length).toBeGreaterThan(0);
      },
      { timeout: 20_000, interval: 500 },
    );
    const [delivery] = endpoint.received;
    expect(delivery?.json).toMatchObject({ event: 'message.sent', workspaceId: workspace.id });
    verify(delivery!, secret);
  });

  it('tells that events may be missing, and forwards only events that webhooks get', async () => {
    const { url } = await startDroppingStream(LOST_CONNECTIONS);
    const endpoint = await startTestEndpoint();
    const env = { ...signedIn(), LINEPACE_URL: url };
    const child = spawn(program, ['listen', '--forward-to', endpoint.url], { env, cwd: home });
    onTestFinished(() => void child.kill());
    await printed(child, /Events may be missing/);
    await vi.waitFor(() => expect(endpoint.received.length).toBeGreaterThan(1), 20_000);
    expect(endpoint.received.slice(0, 2).map(({ json }) => json.event)).toEqual([
      'message.sent',
      'message.reply',
    ]);
  });

  const printed = (child: ChildProcess, pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      let output = '';
      child.stderr?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        const [found] = pattern.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
});

describe('mcp', () => {
  /** Starts the program as an assistant does, with the protocol's own client. */
  async function assistant(mode: 'legacy' | 'auto', env = signedIn()): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    onTestFinished(() => client.close());
    await client.connect(new StdioClientTransport({ command: program, args: ['mcp'], env }));
    return client;
  }

  it.each(['legacy', 'auto'] as const)('offers the tools of the server over stdio (%s)', async (mode) => {
    const client = await assistant(mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['explain_message', 'draft_reply']));
    const answers = await Promise.all([
      client.callTool({ name: 'list_lines', arguments: {} }),
      client.callTool({ name: 'search_contacts', arguments: { search: 'nobody' } }),
    ]);
    expect(answers[0]).toMatchObject({ structuredContent: { lines: [{ _id: workspace.lineId }] } });
    expect(answers[1]).toMatchObject({ structuredContent: { leads: [] } });
  });

  it('tells the assistant why a server refuses or does not answer', async () => {
    const wrong = assistant('legacy', { ...signedIn(), LINEPACE_API_KEY: 'svc_sk_wrong' });
    await expect(wrong).rejects.toThrow('UNAUTHORIZED');
    const away = assistant('legacy', { ...signedIn(), LINEPACE_URL: 'http://127.0.0.1:1' });
    await expect(away).rejects.toThrow('does not respond');
  });
});

describe('doctor', () => {
  it('says whose key it checks, and where that acts', async () => {
    const env = { ...environment(), HOME: await mkdtemp(join(inject('runFolder'), 'cli-home-')) };
    const { key } = await openTestMode(app, workspace);
    await run(['login', '--url', app.url, '--key', workspace.key], env);
    expect((await run(['doctor'], env)).stdout).toMatch(
      /key: the key from the profile default acts in [^,\n]+$/m,
    );
    expect((await run(['doctor'], { ...env, LINEPACE_API_KEY: key })).stdout).toMatch(
      /key: the key from LINEPACE_API_KEY acts in .*, in test mode$/m,
    );
  });

  it('finds a workspace in order, and one without lines not', async () => {
    expect(await linepace('doctor')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('✓ lines') as string,
    });
    const empty = await createWorkspaceWithLine(app, { line: { is_active: false } });
    expect(await run(['doctor'], { ...signedIn(), LINEPACE_API_KEY: empty.key })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('✗ lines: no line is active') as string,
    });
  });
});
