import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it, test, vi } from 'vitest';
import { sdkSource } from '#sdk/openapi.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { codeSamples } from '#test/support/code-samples.ts';
import { EXPECTED_RESUME_IDS, LOST_CONNECTIONS, startDroppingStream } from '#test/support/dropping-stream.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { startLossyFront } from '#test/support/lossy-front.ts';
import { openTestMode } from '#test/support/test-mode.ts';

const run = promisify(execFile);

const whyNot = whyNoPython();
if (whyNot !== null) console.warn(`The Python SDK is not tested: ${whyNot}`);

/** @returns null if there is a Python that runs the SDK. */
function whyNoPython(): string | null {
  try {
    execFileSync('python3', ['-c', 'import sys, venv, ensurepip; assert sys.version_info >= (3, 10)'], {
      stdio: 'ignore',
    });
    return null;
  } catch {
    return 'python3 3.10 or later with venv is not installed';
  }
}

test('is generated from the current routes', async () => {
  const facts = await readFile('sdk/python/src/linepace/generated/facts.py', 'utf8');
  expect(facts, 'run `npm run sdk`').toContain(sdkSource().digest);
});

describe.skipIf(whyNot !== null)('the Python package', () => {
  let app: TestApp;
  let workspace: WorkspaceWithLine;
  let project: string;
  let python: string;

  beforeAll(async () => {
    app = await sharedApp();
    workspace = await createWorkspaceWithLine(app);
    project = join(inject('runFolder'), 'sdk-python');
    python = await installedPackage();
  }, 240_000);

  /** Builds the wheel and installs it into an environment of its own, as a user gets it. */
  async function installedPackage(): Promise<string> {
    await mkdir(project, { recursive: true });
    await run('python3', ['-m', 'venv', 'venv'], { cwd: project });
    const pip = join(project, 'venv/bin/pip');
    await run(pip, ['wheel', '--quiet', '--no-deps', '--wheel-dir', project, resolve('sdk/python')]);
    await run('sh', ['-c', `"${pip}" install --quiet --no-compile "${project}"/linepace-*.whl mypy`]);
    return join(project, 'venv/bin/python');
  }

  const environment = () => ({ ...process.env, LINEPACE_URL: app.url, LINEPACE_API_KEY: workspace.key });

  const examples = async (): Promise<string[]> =>
    [...(await readFile('sdk/python/README.md', 'utf8')).matchAll(/```python\n([\s\S]*?)```/g)].map(
      ([, code = '']) => code,
    );

  it('runs the first example of its README', async () => {
    const [example = ''] = await examples();
    const { stdout } = await run(python, ['-c', example], { cwd: project, env: environment() });
    expect(stdout).toMatch(/^[0-9a-f]{24} (pending|scheduled)\n$/);
  });

  it('has types for every example of its README, and every sample of the reference page', async () => {
    const folder = join(project, 'examples');
    await mkdir(folder);
    // mypy does not know the types of an argument in a dictionary, such as `from`.
    const samples = codeSamples('Python').filter((sample) => !sample.includes('**{'));
    for (const [index, example] of [...(await examples()), ...samples].entries())
      await writeFile(join(folder, `example_${index}.py`), example);
    await run(python, ['-m', 'mypy', '--strict', folder], { cwd: project });
  }, 240_000);

  it('tests a sequence of five days in seconds', async () => {
    // Of its own, so that a retry begins anew.
    const { key } = await openTestMode(app, await createWorkspaceWithLine(app));
    await run(python, [resolve('examples/recipes/test-a-sequence/test_sequence.py')], {
      cwd: project,
      env: { ...environment(), LINEPACE_API_KEY: key },
    });
  }, 240_000);

  it('sends, pages, retries, streams and verifies', async () => {
    const endpoint = await startTestEndpoint();
    const { secret } = await registerWebhook(workspace.api, endpoint.url);
    await workspace.api('POST', '/api/messages', { message: 'Hello', recipientPhone: '+14155550123' });
    const delivery = await vi.waitFor(() => {
      const [first] = endpoint.received;
      if (!first) throw new Error('nothing was delivered');
      return first;
    }, 20_000);
    const file = join(project, 'delivery.json');
    await writeFile(file, JSON.stringify({ body: delivery.body, headers: delivery.headers, secret }));
    const lossy = await startLossyFront(app.url, (attempt) => attempt === 1);
    const dropping = await startDroppingStream(LOST_CONNECTIONS);
    await run(python, [resolve('sdk/python/tests/test_client.py')], {
      cwd: project,
      env: {
        ...environment(),
        LINE_ID: workspace.lineId,
        LOSSY_URL: `${lossy.url}/linepace`,
        DROPPING_URL: dropping.url,
        DELIVERY: file,
        FIRST_EVENT_ID: String(delivery.headers['webhook-id']),
      },
    });
    expect(lossy.attempts()).toBe(2);
    // Synchronously and asynchronously.
    expect(dropping.resumeIds).toEqual([...EXPECTED_RESUME_IDS, ...EXPECTED_RESUME_IDS]);
  }, 240_000);
});
