import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { type AppProcess, startProcess } from '#test/support/process.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

const HOUR_SECONDS = 3600;
/** Shorter than the step of the clock, and longer than this test. */
const GAP_SECONDS = 600;

const clocks = mkdtempSync(join(tmpdir(), 'linepace-clocks-'));
const metricsPort = await freePort();
let app: OwnApp;
let worker: AppProcess;

beforeAll(async () => {
  app = await startTestApp();
  await app.stopWorker();
  const steppedClock = new URL('../../lab/proof/chaos/stepped-clock.ts', import.meta.url).href;
  const variables = { NODE_OPTIONS: `--import=${steppedClock}`, CLOCKS_DIR: clocks };
  worker = await startProcess('workers/worker.ts', { ...app.config, metricsPort }, 0, 'ignore', variables);
});
afterAll(async () => {
  await worker.kill();
  await app.stop();
  rmSync(clocks, { recursive: true });
});

/** How many seconds the worker, or Temporal's server, is ahead of PostgreSQL, by the worker's metrics. */
async function clockOffset(of = 'clock'): Promise<number> {
  const metrics = await (await fetch(`http://localhost:${metricsPort}/metrics`)).text();
  return Number(new RegExp(`^linepace_${of}_offset_seconds (.*)$`, 'm').exec(metrics)?.[1]);
}

/** Whether the pacer has acted on a change of its line, and rests. */
async function hasPlanned(lineId: string): Promise<boolean> {
  if (!(await signalsOf(app, linePacerId(lineId))).includes('lineChanged')) return false;
  const { raw } = await app.temporal.workflow.getHandle(linePacerId(lineId)).describe();
  return (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
}

test.each([1, -1])(
  'a worker whose clock is stepped by %i hours keeps gaps, and sends what is due',
  async (hours) => {
    writeFileSync(join(clocks, 'worker'), '0');
    await eventually(async () => Math.abs(await clockOffset()) < 1);
    const { id: workspaceId, key } = await createWorkspace(app);
    const [paced, free] = [
      await createLine(app, workspaceId, 'imessage', { min_gap_seconds: GAP_SECONDS }),
      await createLine(app, workspaceId),
    ];
    const call = apiClient(app.url, key);
    const send = async (fromLineId: string): Promise<string> => {
      const recipientPhone = phone();
      const { status } = await call('POST', '/api/messages', {
        message: 'Hello',
        fromLineId,
        recipientPhone,
      });
      expect(status).toBe(201);
      return recipientPhone;
    };
    const isSent = async (to: string) => (await sentTo(app, to)).length === 1;

    const [first, early] = [await send(paced), await send(free)];
    await eventually(async () => (await isSent(first)) && (await isSent(early)));
    writeFileSync(join(clocks, 'worker'), String(hours * HOUR_SECONDS * 1000));
    await eventually(async () => Math.abs((await clockOffset()) - hours * HOUR_SECONDS) < 5);
    const [second, other] = [await send(paced), await send(free)];
    // Wakes the pacer, which plans anew.
    expect((await call('PATCH', `/api/lines/${paced}`, { dailyTotalMessagesLimit: 9000 })).status).toBe(200);
    await eventually(() => isSent(other));
    await eventually(() => hasPlanned(paced));

    expect(await sentTo(app, second)).toEqual([]);
    // Temporal's clock is compared with PostgreSQL's, not with that of the worker.
    await eventually(async () => Math.abs(await clockOffset('temporal_clock')) < 60);
  },
);
