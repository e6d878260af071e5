import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { decide, decideToRest } from '#db/decisions.ts';
import { createPools, type Pools } from '#db/pools.ts';
import { NoRows } from '#db/rows.ts';
import { dryRun, savepoint, systemDb, type TenantDb, withSystem, withTenant } from '#db/transactions.ts';
import { inWorkspace } from '#db/queries/agency.ts';
import { Wakes } from '#db/transaction-wakes.ts';
import { claimOverdue, wake, wakeUnlessDue } from '#db/wakes.ts';
import { newId, newWorkspaceId } from '#domain/ids.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import type { SignalName } from '#workflows/messages/signals.ts';

let database: TestDatabase;
let pools: Pools;
let workspaceId: string;
const signals: string[] = [];
/** With the names of the signals. */
const named: string[] = [];
/** What a signal does, beside being noted. */
let onSignal = (_workflowId: string): void => {};

beforeAll(async () => {
  database = await createTestDatabase();
  pools = await createPools(database, {
    size: 8,
    waker: {
      wake(workflowId, _workspaceId, signal) {
        signals.push(workflowId);
        named.push(`${workflowId} ${signal}`);
        onSignal(workflowId);
      },
    },
  });
  workspaceId = newWorkspaceId();
  await systemDb(pools).query(sql.type(NoRows)`
    insert into workspaces (id, name, timezone, country) values (${workspaceId}, 'Test', 'UTC', 'US')`);
});
afterEach(async () => {
  signals.length = 0;
  named.length = 0;
  onSignal = () => {};
  await systemDb(pools).query(sql.type(NoRows)`delete from workflow_wakes`);
});
afterAll(async () => {
  await pools.close();
  await database.drop();
});

const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => withTenant(pools, workspaceId, work);
const request = (workflowId: string, at = new Date(), signal: SignalName = 'messagesDue'): Promise<void> =>
  tenant(async (db) => wake(db, workflowId, at, signal));
const rest = (workflowId: string, nextAt: Date | null, ended = false) =>
  decide(pools, workspaceId, workflowId, async () => ({ nextAt, ended }));
const stored = async (): Promise<string[]> => [
  ...(await systemDb(pools).anyFirst(sql.type(z.object({ workflowId: z.string() }))`
    select workflow_id from workflow_wakes order by workflow_id`)),
];
const inAnHour = (): Date => new Date(Date.now() + 3_600_000);

describe('a transaction', () => {
  it('signals after its commit whom it woke, once each, and only who would not look in time by himself', async () => {
    await request('busy:1');
    await rest('idle:1', inAnHour());
    signals.length = 0;
    await tenant(async (db) => {
      wake(db, 'idle:1', new Date(), 'messagesDue');
      wake(db, 'idle:1', new Date(), 'messagesDue');
      wake(db, 'busy:1', new Date(), 'messagesDue');
      wake(db, 'new:1', new Date(), 'messagesDue');
      await pause(20);
      expect(signals).toEqual([]);
    });
    expect(signals.toSorted()).toEqual(['idle:1', 'new:1']);
  });

  it('tells every fact, and of work that is due only whoever would not look in time', async () => {
    await request('line-pacer:busy');
    await rest('line-pacer:idle', null);
    named.length = 0;
    await tenant(async (db) => {
      for (const id of ['line-pacer:busy', 'line-pacer:idle']) {
        wake(db, id, new Date(), 'messagesDue');
        wake(db, id, new Date(), 'messagesDue');
      }
    });
    expect(named).toEqual(['line-pacer:idle messagesDue']);
    named.length = 0;
    await tenant(async (db) => {
      wake(db, 'line-pacer:busy', new Date(), 'messagesDue');
      wake(db, 'line-pacer:busy', new Date(), 'lineChanged');
      wake(db, 'line-pacer:busy', new Date(), 'lineChanged');
      wake(db, 'line-pacer:busy', new Date(), 'connected');
    });
    expect(named).toEqual(['line-pacer:busy lineChanged', 'line-pacer:busy connected']);
  });

  it('wakes nobody when it is rolled back', async () => {
    const failing = tenant(async (db) => {
      wake(db, 'rolled-back:1', new Date(), 'messagesDue');
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect([signals, await stored()]).toEqual([[], []]);
  });

  it('wakes nobody of a part that is rolled back, and whom the rest of it wakes', async () => {
    await tenant(async (db) => {
      await savepoint(db, async (inner) => {
        wake(inner, 'undone:1', new Date(), 'messagesDue');
        throw new Error('on purpose');
      }).catch(() => {});
      await dryRun(db, async (inner) => wake(inner, 'tried:1', new Date(), 'messagesDue'));
      await savepoint(db, async (inner) => wake(inner, 'kept:1', new Date(), 'messagesDue'));
      wake(db, 'outer:1', new Date(), 'messagesDue');
    });
    expect(signals.toSorted()).toEqual(['kept:1', 'outer:1']);
  });

  it('wakes, when it is repeated, whom its last run wakes', async () => {
    let runs = 0;
    await tenant(async (db) => {
      runs += 1;
      wake(db, `run:${runs}`, new Date(), 'messagesDue');
      if (runs < 3) throw Object.assign(new Error('could not serialize'), { code: '40001' });
    });
    expect(runs).toBe(3);
    expect([signals, await stored()]).toEqual([['run:3'], ['run:3']]);
  });

  it('across workspaces wakes the workflows of each, and takes along the row of a line that moves', async () => {
    const other = newWorkspaceId();
    await systemDb(pools).query(sql.type(NoRows)`
      insert into workspaces (id, name, timezone, country) values (${other}, 'Test', 'UTC', 'US')`);
    await rest('line-pacer:1', inAnHour());
    await withSystem(pools, async (db) => {
      wake(inWorkspace(db, { id: workspaceId }), 'notifier:1', new Date(), 'messagesDue');
      wake(inWorkspace(db, { id: other }), 'line-pacer:1', new Date(), 'messagesDue');
    });
    expect(signals.toSorted()).toEqual(['line-pacer:1', 'notifier:1']);
    await expect(request('line-pacer:1')).rejects.toThrow('moved to another workspace');
    await withTenant(pools, other, async (db) => wake(db, 'line-pacer:1', new Date(), 'messagesDue'));
  });

  it('never waits for another one that wakes the same workflows in another order', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `line-pacer:${index}`);
    const before = await deadlocks();
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        tenant(async (db) => {
          const order = index % 2 === 0 ? ids : ids.toReversed();
          for (const id of order) wake(db, id, new Date(), 'messagesDue');
        }),
      ),
    );
    expect(await deadlocks()).toBe(before);
  });
});

const deadlocks = (): Promise<number> =>
  systemDb(pools).oneFirst(sql.type(z.object({ deadlocks: z.int() }))`
    select deadlocks from pg_stat_database where datname = current_database()`);

describe('a decision', () => {
  it('says to look again when somebody asked while it was made, and not when nobody did', async () => {
    const look = (during: () => Promise<void>) =>
      decide(pools, workspaceId, 'drip-drainer:1', async () => {
        await during();
        return { nextAt: inAnHour() };
      });
    const undisturbed = await look(async () => {});
    expect(undisturbed.nextAt?.getTime()).toBeGreaterThan(Date.now());
    const disturbed = await look(() => request('drip-drainer:1'));
    expect(disturbed.nextAt?.getTime()).toBeLessThanOrEqual(Date.now());
    // A request for later than the look that is decided on changes nothing.
    await look(async () => {});
    const early = await look(() => request('drip-drainer:1', new Date(Date.now() + 2 * 3_600_000)));
    expect(early.nextAt?.getTime()).toBeGreaterThan(Date.now());
  });

  it('ends nothing that somebody asked for meanwhile, and leaves no row of what has ended', async () => {
    await request('ai-draft:1');
    const asked = await decide(pools, workspaceId, 'ai-draft:1', async () => {
      await request('ai-draft:1');
      return { nextAt: null, ended: true };
    });
    expect(asked.ended).toBe(false);
    expect(asked.nextAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await rest('ai-draft:1', null, true)).toEqual({ nextAt: null, ended: true });
    expect(await stored()).toEqual([]);
  });

  it('is not confused by a row that was deleted and made anew while it was made', async () => {
    await request('ai-draft:2');
    const late = await decide(pools, workspaceId, 'ai-draft:2', async () => {
      await rest('ai-draft:2', null, true);
      await request('ai-draft:2');
      return { nextAt: null, ended: true };
    });
    expect(late.nextAt?.getTime()).toBeLessThanOrEqual(Date.now());
  });
});

describe('a request to a workflow that is at work', () => {
  const id = 'webhook-dispatcher:1';
  /** A transaction that adds work and has written its wakes, and is committed when the test says so. */
  async function addingWork() {
    const written = Promise.withResolvers<void>();
    const { promise: committing, resolve: commit } = Promise.withResolvers<void>();
    const done = tenant(async (db) => {
      await db.query(sql.type(NoRows)`
        insert into opt_outs (workspace_id, address, source) values (${workspaceId}, ${newId()}, ${id})`);
      const wakes = new Wakes();
      wakes.requestUnlessDue(workspaceId, id, new Date(), 'deliveriesDue');
      await wakes.write(db);
      written.resolve();
      await committing;
    });
    await Promise.race([written.promise, done]);
    return {
      async commit() {
        commit();
        await done;
      },
    };
  }
  const takeWork = async (db: TenantDb) => {
    const { rowCount } = await db.query(sql.type(NoRows)`
      delete from opt_outs where workspace_id = ${workspaceId} and source = ${id}`);
    return { nextAt: rowCount > 0 ? new Date() : null };
  };

  it('waits for no other, and signals it once', async () => {
    await request(id);
    const others = [await addingWork(), await addingWork()];
    await tenant(async (db) => wakeUnlessDue(db, id, new Date(), 'deliveriesDue'));
    for (const { commit } of others) await commit();
    expect(signals).toEqual([id]);
    expect(await tenant(takeWork)).toMatchObject({ nextAt: expect.any(Date) });
  });

  it('is found though it is committed after the look that the workflow would rest by', async () => {
    await request(id);
    const adding = await addingWork();
    let looks = 0;
    const { nextAt } = await decideToRest(pools, workspaceId, id, async (db) => {
      const look = await takeWork(db);
      if (++looks === 1) void adding.commit();
      return look;
    });
    expect([looks, nextAt?.getTime()]).toEqual([2, expect.any(Number)]);
    // The workflow is at work again, and nobody has to wake it.
    await tenant(async (db) => wakeUnlessDue(db, id, new Date(), 'deliveriesDue'));
    expect(signals).toEqual([id]);
  });

  it('is found by the sweep when the workflow dies before that second look', async () => {
    const claimed = async () => {
      await systemDb(pools).query(sql.type(NoRows)`
        update workflow_wakes set sweep_at = sweep_at - interval '1 minute' where sweep_at < 'infinity'`);
      return (await claimOverdue(systemDb(pools), 10)).map(({ workflowId }) => workflowId);
    };
    await request(id);
    await decide(pools, workspaceId, id, async () => ({ nextAt: null }), { unconfirmed: true });
    expect(await claimed()).toEqual([id]);
    await decideToRest(pools, workspaceId, id, async () => ({ nextAt: null }));
    expect(await claimed()).toEqual([]);
  });
});

test.each([
  ['every request is written', { wake, decide }],
  ['requests are written while it rests', { wake: wakeUnlessDue, decide: decideToRest }],
])(
  'loses no work that comes while workflows decide, and signals at most once for each (%s)',
  async (_, protocol: { wake: typeof wake; decide: typeof decideToRest }) => {
    const id = (n: number): string => `drip-drainer:${n}`;
    const WORKFLOWS = 5;
    const running = new Map<string, Promise<void>>();
    const woken = new Set<string>();
    /** As a workflow: rounds until one rests, and another if it was signalled meanwhile. */
    async function work(workflowId: string): Promise<void> {
      for (woken.add(workflowId); woken.has(workflowId);) {
        woken.delete(workflowId);
        for (let due = true; due;) {
          const { nextAt } = await protocol.decide(pools, workspaceId, workflowId, async (db) => {
            const { rowCount } = await db.query(sql.type(NoRows)`
            delete from opt_outs where workspace_id = ${workspaceId} and source = ${workflowId}`);
            await pause(Math.random() * 4);
            return { nextAt: rowCount > 0 ? new Date() : inAnHour() };
          });
          due = nextAt !== null && nextAt.getTime() <= Date.now();
        }
      }
      running.delete(workflowId);
    }
    onSignal = (workflowId) => {
      woken.add(workflowId);
      if (!running.has(workflowId)) running.set(workflowId, work(workflowId));
    };

    let requests = 0;
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let n = 0; n < 150; n += 1) {
          await pause(Math.random() * 3);
          const workflowId = id(Math.floor(Math.random() * WORKFLOWS));
          await tenant(async (db) => {
            protocol.wake(db, workflowId, new Date(), 'messagesDue');
            await db.query(sql.type(NoRows)`
            insert into opt_outs (workspace_id, address, source) values (${workspaceId}, ${newId()}, ${workflowId})`);
            if (Math.random() < 0.2) throw new Error('on purpose');
            requests += 1;
          }).catch(() => {});
        }
      }),
    );
    while (running.size > 0) await Promise.all(running.values());
    expect(
      await systemDb(pools).anyFirst(
        sql.type(z.object({ address: z.string() }))`select address from opt_outs`,
      ),
    ).toEqual([]);
    expect(signals.length).toBeLessThanOrEqual(requests);
  },
);

describe('the sweep', () => {
  const overdue = (workflowId: string, ago: string) =>
    systemDb(pools).query(sql.type(NoRows)`
      insert into workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by)
      values (${workspaceId}, ${workflowId}, now() - ${ago}::interval, now() - ${ago}::interval + interval '30 seconds', '0', '0')`);
  const claimed = async (limit: number): Promise<string[]> =>
    (await claimOverdue(systemDb(pools), limit)).map(({ workflowId }) => workflowId).toSorted();

  it('comes to every workflow, however many that cannot be woken are overdue for longer', async () => {
    for (let n = 0; n < 6; n += 1) await overdue(`stuck:${n}`, `${60 + n} minutes`);
    await overdue('fresh:1', '1 minute');
    const first = [...(await claimed(3)), ...(await claimed(3))];
    expect(first.toSorted()).toEqual(Array.from({ length: 6 }, (_, n) => `stuck:${n}`));
    expect(await claimed(3)).toEqual(['fresh:1']);
    expect(await claimed(3)).toEqual([]);
  });

  it('knows which signal was lost, until the workflow has looked', async () => {
    const lost = async () => {
      await systemDb(pools).query(sql.type(NoRows)`
        update workflow_wakes set wake_at = now() - interval '1 minute', sweep_at = now() - interval '1 minute'`);
      return (await claimOverdue(systemDb(pools), 10)).map(({ signal }) => signal);
    };
    await request('line-request:1', new Date(), 'paymentSettled');
    expect(await lost()).toEqual(['paymentSettled']);
    await rest('line-request:1', inAnHour());
    expect(await lost()).toEqual([null]);
  });

  it('leaves alone what is idle, what is not due, and what has just been woken', async () => {
    await rest('idle:1', null);
    await rest('later:1', inAnHour());
    await request('now:1');
    expect(await claimed(10)).toEqual([]);
  });

  it('shares what is overdue with another sweep at the same moment', async () => {
    for (let n = 0; n < 10; n += 1) await overdue(`stuck:${n}`, '5 minutes');
    const both = await Promise.all([claimed(10), claimed(10)]);
    expect(both.flat().toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `stuck:${n}`));
  });
});
