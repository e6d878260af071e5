import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import type { Demo } from '#standalone/demo-data.ts';
import type { LivelyDemo } from '#standalone/lively-file.ts';
import { PARTS } from '#standalone/parts.ts';
import { livePid, sendSignal } from '#standalone/pid-file.ts';
import { removeFolder } from '#standalone/postgres-account.ts';
import { eventually } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';

/** What a newcomer finds after `npm start`, with a data folder and ports of its own. */
const folder = mkdtempSync(join(tmpdir(), 'linepace-lively-'));
const ports: Record<string, string> = {};
const READY_MS = 120_000;
const MONTH_MS = 400_000;

let launcher: ChildProcess | undefined;
/** The output of the last start. */
let output = '';

beforeAll(async () => {
  for (const name of ['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'POSTGRES_PORT'])
    ports[name] = String(await freePort());
});

afterAll(async () => {
  await stop();
  removeFolder(join(folder, 'postgres'));
  rmSync(folder, { recursive: true, force: true });
});

/** @returns the output, once it reports that it is ready. */
async function start(DEMO: string): Promise<string> {
  const child = spawn(process.execPath, ['standalone/bootstrap.mjs', 'start'], {
    env: { ...process.env, ...ports, DATA_DIR: folder, NODE_ENV: '', LOG_LEVEL: 'warn', DEMO },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  launcher = child;
  output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text));
  await eventually(async () => output.includes('Linepace is ready') || child.exitCode !== null, READY_MS);
  expect(output).toContain('Linepace is ready');
  return output;
}

async function stop(): Promise<void> {
  if (!launcher || launcher.exitCode !== null || launcher.signalCode !== null) return;
  const ended = once(launcher, 'exit');
  sendSignal(livePid(join(folder, 'run', 'launcher.pid')) ?? (launcher.pid as number), 'SIGTERM');
  await ended;
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
const demo = () => read('demo.json') as Demo;
const isComplete = (): boolean => (read('lively.json') as LivelyDemo).complete;
const url = (): string => `http://localhost:${ports['PORT']}`;

/** Signs in by the link of a start, as the console does. */
async function signIn(output: string): Promise<{ workspaceId: string; api: ApiClient }> {
  const [, code] = /console#code=(\S+)$/m.exec(output) ?? [];
  const { body } = await apiClient(url(), '')('POST', '/api/console/session', { code });
  const { token, workspaceId } = body as { token: string; workspaceId: string };
  const client = apiClient(url(), token);
  return {
    workspaceId,
    api: (method, path, sent) => client(method, path, sent, { 'x-workspace-id': workspaceId }),
  };
}

/** Counts of what the console shows. */
async function counts(api: ApiClient): Promise<Record<string, number>> {
  const list = async (path: string, name: string): Promise<number> => {
    const { status, body } = await api('GET', path);
    expect(status).toBe(200);
    return body[name].length as number;
  };
  const conversations = (filter: string) => list(`/api/conversations?limit=200&${filter}`, 'conversations');
  const { metrics } = (await api('GET', '/api/analytics')).body;
  return {
    open: await conversations('status=open'),
    snoozed: await conversations('status=snoozed'),
    closed: await conversations('status=closed'),
    unread: await conversations('unread=true'),
    mine: await conversations('assignee=me'),
    drafts: await list('/api/knowledge-base/auto-replies?status=drafted', 'autoReplies'),
    suspected: await list('/api/opt-outs/suspected', 'suspicions'),
    optedOut: await list('/api/opt-outs', 'optOuts'),
    campaigns: await list('/api/campaigns', 'campaigns'),
    webhooks: await list('/api/webhooks', 'webhooks'),
    lines: await list('/api/lines/by-user', 'lines'),
    sent: metrics.sent,
    failed: metrics.failed,
  };
}

describe('npm start', () => {
  let complete: Record<string, number>;

  it(
    'opens the console on a workspace with a month of life, also if the start or the API is interrupted',
    { timeout: 700_000 },
    async () => {
      const first = await signIn(await start('lively'));
      // The first page has something to show while the month is played.
      await eventually(async () => (await get(first.api, '/api/messages')).messages.length > 0, READY_MS);
      const { now } = await get(first.api, '/api/test/clock');
      expect(Date.parse(now)).toBeLessThan(Date.now());
      // Without a word.
      for (const name of ['launcher', 'guard', ...Object.keys(PARTS)]) {
        const pid = livePid(join(folder, 'run', `${name}.pid`));
        if (pid !== null) sendSignal(pid, 'SIGKILL');
      }
      expect(isComplete()).toBe(false);

      const { workspaceId, api } = await signIn(await start('lively'));
      expect(workspaceId).toBe(first.workspaceId);
      await eventually(async () => (await get(api, '/api/messages')).messages.length > 0, READY_MS);
      sendSignal(livePid(join(folder, 'run', 'api.pid')) as number, 'SIGKILL');
      await eventually(async () => isComplete(), MONTH_MS);
      expect(output).toMatch(/The demo was interrupted, and is made anew: .*\n.*the API does not answer/);
      const clock = await get(api, '/api/test/clock');
      expect(Math.abs(Date.parse(clock.now) - Date.now())).toBeLessThan(60_000);
      complete = await counts(api);
      expect(complete).toMatchObject({
        snoozed: 1,
        mine: 1,
        drafts: 3,
        suspected: 1,
        optedOut: 1,
        campaigns: 2,
        webhooks: 1,
        lines: 4,
        failed: 1,
      });
      for (const name of ['open', 'closed', 'unread']) expect(complete[name]).toBeGreaterThan(3);

      const { series } = await get(api, '/api/analytics/timeseries?interval=day');
      expect(series.filter(({ sent }: { sent: number }) => sent > 0).length).toBeGreaterThan(27);
      const { lines } = await get(api, '/api/lines/by-user');
      const states = lines.map((line: { reputation: { state: string } }) => line.reputation.state);
      expect(states).toContain('watch');
      const { webhooks } = await get(api, '/api/webhooks');
      const { deliveries } = await get(api, `/api/webhooks/${webhooks[0]._id}/deliveries?limit=200`);
      expect(deliveries.filter(({ success }: { success: boolean }) => !success)).toHaveLength(1);
      expect(deliveries.length).toBeGreaterThan(5);
      const { campaigns } = await get(api, '/api/campaigns');
      expect(campaigns.map(({ status }: { status: string }) => status)).toEqual(['active', 'completed']);
      const { steps } = await get(api, `/api/campaigns/${campaigns[0]._id}/funnel`);
      expect(steps[0].variants).toHaveLength(2);
    },
  );

  it('leaves the workspace of demo.json bare', { timeout: 60_000 }, async () => {
    const { workspaceKey, agencyKey, workspaceId } = demo();
    const api = apiClient(url(), workspaceKey);
    expect(await bare(api)).toEqual([0, 0, 0]);
    const { subAccounts } = await get(apiClient(url(), agencyKey), '/api/agency/subaccounts');
    expect(subAccounts.map(({ idpOrgId }: { idpOrgId: string }) => idpOrgId)).toEqual([workspaceId]);
    expect((await get(api, '/api/workspace')).workspace.testWorkspaceId).toBeNull();
  });

  it('makes nothing twice, and empties it when asked to', { timeout: 400_000 }, async () => {
    await stop();
    const { api } = await signIn(await start('lively'));
    expect(await counts(api)).toEqual(complete);
    expect((await api('POST', '/api/test/reset', {})).status).toBe(200);
    expect(await bare(api)).toEqual([0, 0, 0]);
    expect(await counts(api)).toMatchObject({
      closed: 0,
      drafts: 0,
      campaigns: 0,
      webhooks: 0,
      lines: 3,
      sent: 0,
    });
  });

  it(
    'opens the console on the bare workspace of demo.json with DEMO=empty',
    { timeout: 200_000 },
    async () => {
      await stop();
      const { workspaceId } = await signIn(await start('empty'));
      expect(workspaceId).toBe(demo().workspaceId);
    },
  );
});

const get = async (api: ApiClient, path: string) => (await api('GET', path)).body;

/** How many messages, conversations and leads there are. */
async function bare(api: ApiClient): Promise<number[]> {
  return [
    (await get(api, '/api/messages')).messages.length,
    (await get(api, '/api/conversations')).conversations.length,
    (await get(api, '/api/leads')).leads.length,
  ];
}
