import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { type AppProcess, startProcess } from '#test/support/process.ts';

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
    { status: 'ready', checks: { polling: 'ok', postgresql: 'ok', temporal: 'ok' } },
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
  const samples = parseSamples(await scrape(app.url)).concat(parseSamples(await scrape(workerUrl)));
  const queries = await allQueries();
  expect(queries.length).toBeGreaterThan(30);
  const missing = queries
    .flatMap((query) => selectorsOf(query))
    .filter(
      ({ metric, labels }) =>
        !samples.some(
          (sample) => sample.metric === metric && labels.every((label) => sample.labels.includes(label)),
        ),
    );
  expect(missing).toEqual([]);
  await endpoint.close();
});

const scrape = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();

/** Counted only after a failure, so that a healthy product does not show them. */
const AFTER_FAILURES = ['temporal_workflow_task_execution_failed_total'];
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
  return [...query.matchAll(/\b((?:linepace|temporal|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)]
    .map(([, metric = '', matchers = '']) => ({
      metric,
      labels: [...grouped, ...[...matchers.matchAll(/(\w+)[=!]/g)].map(([, label = '']) => label)].filter(
        (label) => !OF_TARGETS.includes(label),
      ),
    }))
    .filter(({ metric }) => !AFTER_FAILURES.includes(metric));
}

const parseSamples = (text: string): Selector[] =>
  [...text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)].map(([, metric = '', labels = '']) => ({
    metric,
    labels: [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
  }));
