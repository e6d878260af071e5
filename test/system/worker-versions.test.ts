import { readFile } from 'node:fs/promises';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { describe, expect, inject, it, type TestContext } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { createWorkerDeployment } from '#providers/worker-deployment.ts';
import { eventually, startTestApp } from '#test/support/app.ts';
import { age } from '#test/support/age.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { environment } from '#test/support/process.ts';
import { ops } from '#workers/ops.ts';
import { startWorker } from '#workers/worker.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** `PENDING_ACTIVITY_STATE_STARTED` in Temporal's API. */
const STARTED = 2;

interface Build extends ReturnType<typeof statusAt> {
  stop(): Promise<void>;
}

function statusAt(port: number) {
  const url = `http://127.0.0.1:${port}`;
  return {
    readiness: async () => (await fetch(`${url}/readyz`)).json() as Promise<object>,
    async isCurrent(): Promise<string | undefined> {
      const text = await (await fetch(`${url}/metrics`)).text();
      return /^linepace_build_is_current (.*)$/m.exec(text)?.[1];
    },
  };
}

/** An app without a worker, and the builds that a test starts for it. They end with the test. */
async function startFleet(onTestFinished: TestContext['onTestFinished']) {
  const app = await startTestApp({ worker: false });
  const builds = new Set<Build>();
  onTestFinished(async () => {
    await Promise.all([...builds].map((build) => build.stop()));
    await app.stop();
  });
  const workspace = await createWorkspaceWithLine(app);
  const pacerId = linePacerId(workspace.lineId);
  const pacer = app.temporal.workflow.getHandle(pacerId);
  const pacerRun = async (): Promise<string> => (await pacer.describe()).runId;

  async function post(): Promise<string> {
    const to = phone();
    const { status } = await workspace.api('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
    expect(status).toBe(201);
    return to;
  }
  const isSent = (to: string) => eventually(async () => (await sentTo(app, to)).length === 1);

  return {
    app,
    pacerId,
    pacer,
    pacerRun,
    post,
    isSent,
    deployment: createWorkerDeployment(app.temporal.connection, app.config.temporal.namespace),
    send: async (): Promise<void> => isSent(await post()).then(() => {}),
    release: (build: string, ...options: string[]) =>
      ops(['release', build, ...options], environment(app.config)),

    /** Starts a worker. */
    async startBuild(
      buildId: string | null,
      bundle: WorkflowBundleOption = { codePath: inject('workflowBundle') },
      autoRelease: { watchSeconds: number } | null = null,
    ): Promise<Build> {
      const metricsPort = await freePort();
      const config = {
        ...app.config,
        metricsPort,
        temporal: { ...app.config.temporal, buildId, autoRelease },
      };
      const worker = await startWorker(config, bundle);
      const build = { ...statusAt(metricsPort), stop: () => worker.stop() };
      builds.add(build);
      return build;
    },
    async stopBuild(build: Build): Promise<void> {
      builds.delete(build);
      await build.stop();
    },

    /** The builds that completed the pacer's workflow tasks, in order. */
    async buildsOfPacer(): Promise<string[]> {
      const { events } = await pacer.fetchHistory();
      return (events ?? []).flatMap(
        ({ workflowTaskCompletedEventAttributes: task }) => task?.deploymentVersion?.buildId ?? [],
      );
    },

    /** The state of the activity that takes the rounds of a process, for each process. */
    async roundsTaken(): Promise<string[]> {
      const states: string[] = [];
      const query = "WorkflowType = 'polledRounds' AND ExecutionStatus = 'Running'";
      for await (const { workflowId } of app.temporal.workflow.list({ query })) {
        const { raw } = await app.temporal.workflow.getHandle(workflowId).describe();
        const state: number | null | undefined = raw.pendingActivities?.[0]?.state;
        states.push(state === STARTED ? 'started' : `state ${state}`);
      }
      return states;
    },

    /** The workflows of a build that cannot continue the present run of the pacer. */
    async incompatibleBundle(): Promise<WorkflowBundleOption> {
      const code = await readFile(inject('workflowBundle'), 'utf8');
      const start = /async function linePacer\(\w+\) \{/;
      expect(code).toMatch(start);
      const info = "globalThis.__TEMPORAL_ACTIVATOR__.info.runId === '" + (await pacerRun()) + "'";
      return {
        code: code.replace(start, (found) => `${found} if (${info}) throw new Error('cannot go on');`),
      };
    },

    /** How often the task of the pacer was tried. */
    attempts: async (): Promise<number> => (await pacer.describe()).raw.pendingWorkflowTask?.attempt ?? 0,
  };
}

// They wait for the server, which tells its task queues of versions, and for the workers, which ask it. More at once would start
// more workers in one process than it serves in time.
describe('a build of the workers', () => {
  it.concurrent('the first build makes itself current, so that its workers work without further steps', async ({
    onTestFinished,
  }) => {
    const { send, startBuild, buildsOfPacer, roundsTaken } = await startFleet(onTestFinished);
    await startBuild('one');
    await send();
    // The message is sent within the first workflow task, which ends later.
    const builds = await eventually(async () => {
      const found = await buildsOfPacer();
      return found.length > 0 && found;
    });
    expect(new Set(builds)).toEqual(new Set(['one']));
    await eventually(async () => (await roundsTaken()).join() === 'started');
  });

  it.concurrent('a fleet without build ids that is rolled to a first build keeps sending', async ({
    onTestFinished,
  }) => {
    const { send, startBuild, stopBuild, buildsOfPacer } = await startFleet(onTestFinished);
    const former = await startBuild(null);
    await send();
    const first = await startBuild('one');
    await eventually(async () => (await first.isCurrent()) === '1');
    expect(await first.readiness()).toMatchObject({ status: 'ready' });
    await stopBuild(former);
    await send();
    await eventually(async () => (await buildsOfPacer()).at(-1) === 'one');
  }, 180_000);

  it.concurrent('a running workflow continues on a new build once that is released, and its line keeps sending', async ({
    onTestFinished,
  }) => {
    const { pacer, pacerRun, send, release, startBuild, stopBuild, buildsOfPacer, roundsTaken } =
      await startFleet(onTestFinished);
    const first = await startBuild('one');
    await send();
    const { runId } = await pacer.describe();

    const next = await startBuild('two');
    expect(await next.readiness()).toMatchObject({
      status: 'not ready',
      checks: { build: 'failed', polling: 'ok' },
    });
    await eventually(async () => (await next.isCurrent()) === '0');
    await send();
    // Of the first build alone.
    await eventually(async () => (await roundsTaken()).join() === 'started');

    const released = await eventually(async () => {
      const { status, stdout } = await release('two', '--ramp', '50', '--wait', '1');
      return status === 0 && (JSON.parse(stdout) as object);
    });
    expect(released).toMatchObject({ current: 'two', former: 'one', drainage: { one: expect.any(String) } });
    await eventually(async () => (await next.isCurrent()) === '1');
    await eventually(async () => (await first.isCurrent()) === '0');
    await eventually(async () => (await roundsTaken()).join() === 'started,started');
    // The former build stays ready for a while, so that a rolling update can replace its processes one by one.
    for (const worker of [first, next]) expect(await worker.readiness()).toMatchObject({ status: 'ready' });

    // The server tells its task queues of the current version one after the other.
    await eventually(async () => {
      await send();
      return (await buildsOfPacer()).at(-1) === 'two';
    });
    expect(await pacerRun()).toBe(runId);

    // The workers of the previous build are no longer needed.
    await stopBuild(first);
    await send();
    expect(await release('two')).toMatchObject({ status: 0 });
  }, 240_000);

  it.concurrent('a release is refused for a build without workers, or if somebody else decides meanwhile', async ({
    onTestFinished,
  }) => {
    const { deployment, release, startBuild } = await startFleet(onTestFinished);
    await startBuild('one');
    await eventually(async () => (await deployment.routing())?.current === 'one');
    const unknown = await release('nine', '--wait', '0');
    expect(unknown.status).toBe(1);
    expect(JSON.parse(unknown.stderr)).toMatchObject({
      code: 'NOT_FOUND',
      error: expect.stringContaining('WORKER_BUILD_ID=nine'),
    });
    for (const option of [
      ['--ramp', 'many'],
      ['--wait', '-1'],
    ])
      expect(await release('nine', ...option)).toMatchObject({ status: 2 });

    await startBuild('two');
    // Until the server knows the task queues of the build.
    await eventually(() =>
      deployment.setRamping('two', 1, { identity: 'test', basedOn: null }).then(() => true),
    );
    const releasing = release('two', '--ramp', '5', '--wait', '15');
    await eventually(async () => (await deployment.routing())?.ramping?.percent === 5);
    await deployment.setCurrent('two', { identity: 'test', basedOn: null });
    const { status, stderr } = await releasing;
    expect([status, JSON.parse(stderr)]).toMatchObject([1, { code: 'INVALID_STATE' }]);
  });
});

describe('a workflow that cannot go on', () => {
  it.concurrent('a release goes back by itself when workflow tasks begin to fail', async ({
    onTestFinished,
  }) => {
    const { pacerId, post, isSent, deployment, send, release, startBuild, incompatibleBundle } =
      await startFleet(onTestFinished);
    await startBuild('one');
    await send();
    await startBuild('two', await incompatibleBundle());
    await eventually(async () => (await deployment.routing())?.builds.has('two'));
    // Refused at once until workers of the build poll all task queues.
    const refused = eventually(async () => {
      const { status, stderr } = await release('two', '--ramp', '0', '--wait', '120', '--no-replay');
      expect(status).toBe(1);
      const refusal = JSON.parse(stderr) as { code: string };
      return refusal.code === 'INCOMPATIBLE' && refusal;
    }, 200_000);
    await eventually(async () => (await deployment.routing())?.current === 'two');
    const to = await post();
    expect(await refused).toMatchObject({ details: [{ workflowId: pacerId }] });
    expect((await deployment.routing())?.current).toBe('one');
    await isSent(to);
  }, 240_000);

  it.concurrent('a new build that releases itself gets all tasks, or none if workflow tasks begin to fail', async ({
    onTestFinished,
  }) => {
    const { post, isSent, deployment, send, startBuild, buildsOfPacer, incompatibleBundle } =
      await startFleet(onTestFinished);
    await startBuild('one');
    await send();
    const bundle = { codePath: inject('workflowBundle') };
    const second = await startBuild('two', bundle, { watchSeconds: 1 });
    await eventually(async () => (await second.isCurrent()) === '1');
    await eventually(async () => {
      await send();
      return (await buildsOfPacer()).at(-1) === 'two';
    });

    await startBuild('three', await incompatibleBundle(), { watchSeconds: 120 });
    const routing = async () => (await deployment.routing())?.ramping?.build;
    await eventually(async () => (await routing()) === 'three');
    // A share of 5 % need not include the pacer, so somebody makes it all.
    await deployment.setRamping('three', 100, { identity: 'test', basedOn: null });
    const to = await post();
    await eventually(async () => (await routing()) === undefined);
    expect((await deployment.routing())?.current).toBe('two');
    await isSent(to);
  }, 240_000);

  it.concurrent('an operator starts workflows anew that cannot go on, or those of a query', async ({
    onTestFinished,
  }) => {
    const { app, pacerId, pacer, pacerRun, post, isSent, send, startBuild, stopBuild, incompatibleBundle } =
      await startFleet(onTestFinished);
    const good = await startBuild(null);
    await send();
    const before = await pacerRun();
    const bundle = await incompatibleBundle();
    // A round that the worker leaves behind is not overdue.
    await eventually(async () => {
      const { raw } = await pacer.describe();
      return !raw.pendingWorkflowTask && !raw.pendingActivities?.length;
    });
    await stopBuild(good);
    await startBuild(null, bundle);
    const to = await post();
    const restart = async (...options: string[]) => {
      const { status, stdout, stderr } = await ops(
        ['restart', '--by', 'Ada', '--reason', 'it cannot replay', ...options],
        environment(app.config),
      );
      expect([status, stderr]).toEqual([0, '']);
      return JSON.parse(stdout) as object;
    };
    const dryRun = await eventually(async () => {
      const found = (await restart()) as { toBeRestarted: number };
      return found.toBeRestarted > 0 && found;
    });
    expect(dryRun).toMatchObject({
      dryRun: true,
      toBeRestarted: 1,
      workflows: [{ workflowId: pacerId }],
    });
    expect(await pacerRun()).toBe(before);
    expect(await restart('--yes')).toEqual({ restarted: 1 });
    await isSent(to);
    const former = app.temporal.workflow.getHandle(pacerId, before);
    expect((await former.describe()).status.name).toBe('TERMINATED');
    const { events } = await former.fetchHistory();
    expect(events?.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason).toBe(
      'started anew by Ada (it cannot replay)',
    );
    expect(await restart()).toMatchObject({ toBeRestarted: 0 });

    const healthy = await pacerRun();
    const query = `WorkflowId = '${pacerId}'`;
    await eventually(async () => {
      const { restarted } = (await restart('--query', query, '--yes')) as { restarted: number };
      return restarted === 1;
    });
    expect(await pacerRun()).not.toBe(healthy);
    await send();
  }, 240_000);

  it.concurrent('the sweep starts a workflow anew that cannot go on', async ({ onTestFinished }) => {
    const {
      app,
      pacerId,
      pacerRun,
      post,
      isSent,
      send,
      startBuild,
      stopBuild,
      incompatibleBundle,
      attempts,
    } = await startFleet(onTestFinished);
    const good = await startBuild(null);
    await send();
    const before = await pacerRun();
    const bundle = await incompatibleBundle();
    await stopBuild(good);
    await startBuild(null, bundle);
    const to = await post();
    await eventually(async () => (await attempts()) >= 3);
    // As if it had been due a minute longer.
    await age(
      app.pools,
      'workflow_wakes',
      ['wake_at', 'sweep_at'],
      '2 minutes',
      `workflow_id = '${pacerId}'`,
    );
    expect(await ops(['sweep'], environment(app.config))).toMatchObject({ status: 0 });
    await isSent(to);
    expect(await pacerRun()).not.toBe(before);
    const former = app.temporal.workflow.getHandle(pacerId, before);
    expect((await former.describe()).status.name).toBe('TERMINATED');
  }, 240_000);
});
