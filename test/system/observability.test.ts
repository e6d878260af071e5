import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { registerWebhook, startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, createWorkspaceWithLine } from '#test/support/factories.ts';
import { type AppProcess, environment, startProcess } from '#test/support/process.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { runSweep } from '#test/support/workflows.ts';
import { ops } from '#workers/ops.ts';

let app: OwnApp;
let worker: AppProcess;
let workerUrl: string;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
  const metricsPort = await freePort();
  worker = await startProcess('workers/worker.ts', { ...app.config, metricsPort });
  workerUrl = `http://127.0.0.1:${metricsPort}`;
});
afterAll(async () => {
  await worker.kill();
  await app.stop();
});

test('a worker reports whether it is running and whether it is ready', async () => {
  expect(await (await fetch(`${workerUrl}/healthz`)).json()).toEqual({ status: 'ok' });
  const ready = await fetch(`${workerUrl}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      status: 'ready',
      checks: {
        polling: 'ok',
        build: 'ok',
        keys: 'ok',
        postgresql: 'ok',
        temporal: 'ok',
        storage: 'ok',
        model: 'ok',
        mail: 'ok',
      },
    },
  ]);
  expect((await fetch(`${workerUrl}/other`)).status).toBe(404);
});

test('every query of the alerts and the dashboard matches metrics and labels of the running product', async () => {
  const workspace = await createWorkspace(app);
  await createLine(app, workspace.id);
  const endpoint = await startEndpoint();
  const call = apiClient(app.url, workspace.key);
  await call('POST', '/api/webhooks', { url: endpoint.url, events: ['message.sent'] });
  const to = phone();
  await call('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
  await call('POST', '/api/drip', { message: 'Hello again', recipientPhone: to });
  await eventually(async () => (await sentTo(app, to)).length === 1 && endpoint.received.length === 1);
  await runSweep(app);
  expect(await scrape(workerUrl)).not.toMatch(BACKUP_AGE);
  expect(await ops(['record-backup'], environment(app.config))).toMatchObject({ status: 0 });
  // Counts are at most five seconds old.
  const texts = await eventually(async () => {
    const own = await scrape(workerUrl);
    if (!BACKUP_AGE.test(own)) return false;
    return [own, await scrape(app.url), await scrape(inject('temporalMetrics'))];
  });
  const samples = texts.flatMap(parseSamples);
  const queries = await allQueries();
  expect(queries.length).toBeGreaterThan(30);
  const missing = queries
    .flatMap((query) => selectorsOf(query))
    .filter(({ metric }) => !LATER.has(metric))
    .filter(
      ({ metric, labels }) =>
        !samples.some(
          (sample) => sample.metric === metric && labels.every((label) => sample.labels.includes(label)),
        ),
    );
  expect(missing).toEqual([]);
  expect(sampleOf(texts[0], 'linepace_last_sweep_age_seconds')).toBeLessThan(60);
  expect(
    sampleOf(texts[0], 'linepace_task_queue_pollers{queue="housekeeping",type="activity"}'),
  ).toBeGreaterThan(0);
  await endpoint.close();
});

test('a webhook whose endpoint is down is told after three deliveries, and no longer after one that succeeds', async () => {
  const { key } = await createWorkspaceWithLine(app);
  const call = apiClient(app.url, key);
  const endpoint = await startEndpoint(503);
  onTestFinished(() => endpoint.close());
  await registerWebhook(call, endpoint.url);
  const happen = () => call('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
  const failing = async () => sampleOf(await scrape(workerUrl), 'linepace_webhooks{state="failing"}');
  expect(await failing()).toBe(0);
  for (let n = 0; n < 3; n += 1) await happen();
  await eventually(async () => (await failing()) === 1);
  endpoint.behave(204);
  await happen();
  await eventually(async () => (await failing()) === 0);
});

test('how long events wait for webhooks is measured until the first attempt and until they are taken, without test mode', async () => {
  const workspace = await createWorkspaceWithLine(app);
  const call = apiClient(app.url, workspace.key);
  const endpoint = await startEndpoint(503);
  onTestFinished(() => endpoint.close());
  const event = async (api: ApiClient): Promise<void> => {
    await registerWebhook(api, endpoint.url, { events: ['message.sent'], retries: 'standard' });
    await api('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
  };
  const lateness = async () => {
    const text = await scrape(workerUrl);
    const of = (until: string) => ({
      count: sampleOf(text, `linepace_webhook_lateness_seconds_count{until="${until}"}`) || 0,
      sum: sampleOf(text, `linepace_webhook_lateness_seconds_sum{until="${until}"}`) || 0,
    });
    return { first: of('first_attempt'), success: of('success') };
  };
  const before = await lateness();
  const twin = await openTestMode(app, workspace);
  await event(twin.api);
  await eventually(async () => endpoint.received.length === 1);
  await event(call);
  await eventually(async () => (await lateness()).first.count > before.first.count);
  const failed = await lateness();
  expect(failed.success.count).toBe(before.success.count);
  endpoint.behave(204);
  const { first, success } = await eventually(async () => {
    const now = await lateness();
    return now.success.count > before.success.count && now;
  });
  expect([first.count, success.count]).toEqual([before.first.count + 1, before.success.count + 1]);
  // The second attempt was made later than the first.
  expect(success.sum - before.success.sum).toBeGreaterThan(first.sum - before.first.sum);
});

/** Temporal's SDK exports it from the first failure on, and there has been none. */
const LATER = new Set(['temporal_activity_execution_failed_total']);

const scrape = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();

const BACKUP_AGE = /^linepace_last_backup_age_seconds \d/m;

const sampleOf = (text = '', series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

/** Counted only after a failure, or with the credentials of `managed-temporal.test.ts`. */
const NOT_HERE = [
  'temporal_workflow_task_execution_failed_total',
  'persistence_error_with_type',
  'linepace_temporal_credential_expires_timestamp_seconds',
];
/** Added by Prometheus. */
const OF_TARGETS = ['job', 'instance'];

interface Selector {
  metric: string;
  labels: string[];
}

async function allQueries(): Promise<string[]> {
  const read = (file: string) => readFile(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
  const { groups } = parse(await read('prometheus/alerts.yml')) as {
    groups: { rules: { expr: string }[] }[];
  };
  const { panels } = JSON.parse(await read('grafana/linepace.json')) as {
    panels: { targets: { expr: string }[] }[];
  };
  return [
    ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
}

/** The metrics of a query, each with the labels that it or a grouping names. */
function selectorsOf(query: string): Selector[] {
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '));
  return [
    ...query.matchAll(
      /\b((?:linepace|temporal|nodejs|process|persistence)_\w+|service_requests)(?:\{([^}]*)\})?/g,
    ),
  ]
    .map(([, metric = '', matchers = '']) => ({
      metric,
      labels: [...grouped, ...[...matchers.matchAll(/(\w+)[=!]/g)].map(([, label = '']) => label)].filter(
        (label) => !OF_TARGETS.includes(label),
      ),
    }))
    .filter(({ metric }) => !NOT_HERE.includes(metric));
}

const parseSamples = (text: string): Selector[] =>
  [...text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)].map(([, metric = '', labels = '']) => ({
    metric,
    labels: [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
  }));
