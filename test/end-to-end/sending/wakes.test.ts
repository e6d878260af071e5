import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { decide, type Decision } from '#db/wakes/decisions.ts';
import { createPools, type Pools } from '#db/connection/pools.ts';
import { NoRows } from '#db/connection/rows.ts';
import {
  dryRun,
  savepoint,
  systemDb,
  type TenantDb,
  withSystem,
  withTenant,
} from '#db/connection/transactions.ts';
import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { NEVER } from '#db/connection/timestamp.ts';
import type { MessageHold } from '#db/wakes/transaction-wakes.ts';
import { claimOverdue, requestedSince, wake, wakeForMessage } from '#db/wakes/wakes.ts';
import { newId, newWorkspaceId } from '#domain/base/ids.ts';
import { age } from '#test/support/age.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';

let database: TestDatabase;
let pools: Pools;
let workspaceId: string;
const signals: string[] = [];
/** The workflow ids with the names of the signals. */
const namedSignals: string[] = [];
/** Called for every signal, after it is recorded. */
let onSignal = (_workflowId: string): void => {};

beforeAll(async () => {
  database = await createTestDatabase();
  pools = await createPools(database, {
    size: 8,
    waker: {
      wake(workflowId, _workspaceId, signal) {
        signals.push(workflowId);
        namedSignals.push(`${workflowId} ${signal}`);
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
  namedSignals.length = 0;
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
/** @returns the id of another workspace. */
async function createOther(): Promise<string> {
  const id = newWorkspaceId();
  await systemDb(pools).query(sql.type(NoRows)`
    insert into workspaces (id, name, timezone, country) values (${id}, 'Test', 'UTC', 'US')`);
  return id;
}
const stored = async (): Promise<string[]> => [
  ...(await systemDb(pools).anyFirst(sql.type(z.object({ workflowId: z.string() }))`
    select workflow_id from workflow_wakes order by workflow_id`)),
];
const inAnHour = (): Date => new Date(Date.now() + 3_600_000);

describe('a transaction', () => {
  it('signals each workflow it wakes once after the commit, unless that is due to look anyway', async () => {
    await request('busy:1');
    await rest('idle:1', inAnHour());
    signals.length = 0;
    await tenant(async (db) => {
      wake(db, 'idle:1', new Date(), 'messagesDue');
      wake(db, 'idle:1', new Date(), 'messagesDue');
      wake(db, 'busy:1', new Date(), 'messagesDue');
      wake(db, 'new:1', new Date(), 'messagesDue');
      expect(signals).toEqual([]);
    });
    expect(signals.toSorted()).toEqual(['idle:1', 'new:1']);
  });

  it('sends every fact, but due work only to workflows that would not look in time', async () => {
    await request('line-pacer:busy');
    await rest('line-pacer:idle', null);
    namedSignals.length = 0;
    await tenant(async (db) => {
      for (const id of ['line-pacer:busy', 'line-pacer:idle']) {
        wake(db, id, new Date(), 'messagesDue');
        wake(db, id, new Date(), 'messagesDue');
      }
    });
    expect(namedSignals).toEqual(['line-pacer:idle messagesDue']);
    namedSignals.length = 0;
    await tenant(async (db) => {
      wake(db, 'line-pacer:busy', new Date(), 'messagesDue');
      wake(db, 'line-pacer:busy', new Date(), 'lineChanged');
      wake(db, 'line-pacer:busy', new Date(), 'lineChanged');
      wake(db, 'line-pacer:busy', new Date(), 'connected');
    });
    expect(namedSignals).toEqual(['line-pacer:busy lineChanged', 'line-pacer:busy connected']);
  });

  it('wakes no workflow if it is rolled back', async () => {
    const failing = tenant(async (db) => {
      wake(db, 'rolled-back:1', new Date(), 'messagesDue');
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect([signals, await stored()]).toEqual([[], []]);
  });

  it('wakes only the workflows of the parts that are not rolled back', async () => {
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

  it('wakes only the workflows of its last run if it is retried', async () => {
    let runs = 0;
    await tenant(async (db) => {
      runs += 1;
      wake(db, `run:${runs}`, new Date(), 'messagesDue');
      if (runs < 3) throw Object.assign(new Error('could not serialize'), { code: '40001' });
    });
    expect(runs).toBe(3);
    expect([signals, await stored()]).toEqual([['run:3'], ['run:3']]);
  });

  it('across workspaces wakes the workflows of each', async () => {
    const other = await createOther();
    await withSystem(pools, async (db) => {
      wake(inWorkspace(db, { id: workspaceId }), 'notifier:1', new Date(), 'messagesDue');
      wake(inWorkspace(db, { id: other }), 'notifier:1', new Date(), 'messagesDue');
      wake(inWorkspace(db, { id: other }), 'line-pacer:1', new Date(), 'messagesDue');
    });
    expect(signals.toSorted()).toEqual(['line-pacer:1', 'notifier:1', 'notifier:1']);
    expect(await stored()).toEqual(['line-pacer:1', 'notifier:1', 'notifier:1']);
  });

  it('causes no deadlock with others that wake the same workflows in another order', async () => {
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
  it('lets the workflow look again only if a request came meanwhile', async () => {
    const look = (during: () => Promise<void>) =>
      decide(pools, workspaceId, 'drip-drainer:1', async () => {
        await during();
        return { nextAt: inAnHour() };
      });
    const undisturbed = await look(async () => {});
    expect(undisturbed.nextAt?.getTime()).toBeGreaterThan(Date.now());
    const disturbed = await look(() => request('drip-drainer:1'));
    expect(disturbed.nextAt?.getTime()).toBeLessThanOrEqual(Date.now());
    // A request for a time after the next look changes nothing.
    await look(async () => {});
    const early = await look(() => request('drip-drainer:1', new Date(Date.now() + 2 * 3_600_000)));
    expect(early.nextAt?.getTime()).toBeGreaterThan(Date.now());
  });

  it('does not end a workflow that was requested meanwhile, and deletes the row of one that ends', async () => {
    await request('ai-draft:1');
    const asked = await decide(pools, workspaceId, 'ai-draft:1', async () => {
      await request('ai-draft:1');
      return { nextAt: null, ended: true };
    });
    expect(asked.ended).toBe(false);
    expect(asked.nextAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await rest('ai-draft:1', null, true)).toMatchObject({ nextAt: null, ended: true });
    expect(await stored()).toEqual([]);
  });

  it('recognizes a row that was deleted and inserted again meanwhile', async () => {
    await request('ai-draft:2');
    const late = await decide(pools, workspaceId, 'ai-draft:2', async () => {
      await rest('ai-draft:2', null, true);
      await request('ai-draft:2');
      return { nextAt: null, ended: true };
    });
    expect(late.nextAt?.getTime()).toBeLessThanOrEqual(Date.now());
  });
});

describe('a workflow that is at work', () => {
  const id = 'line-pacer:1';
  const work = (nextAt: Date) => decide(pools, workspaceId, id, async () => ({ nextAt, isAtWork: true }));
  const inSeconds = (seconds: number): Date => new Date(Date.now() + seconds * 1000);
  const isRequested = async ({ requestedBy }: { requestedBy: string }) =>
    (await requestedSince(systemDb(pools), [{ workspaceId, workflowId: id, requestedBy }])).has(id);

  it('gets no signal for what falls due, and finds every request', async () => {
    await request(id);
    const nextAt = inSeconds(30);
    const look = await work(nextAt);
    expect(look.nextAt).toEqual(nextAt);
    expect(await isRequested(look)).toBe(false);
    signals.length = 0;
    await request(id);
    expect([signals, await isRequested(look)]).toEqual([[], true]);
    await request(id, new Date(), 'lineChanged');
    expect(namedSignals.at(-1)).toBe(`${id} lineChanged`);

    expect(await isRequested(await work(inSeconds(30)))).toBe(false);
    await rest(id, inAnHour());
    signals.length = 0;
    await request(id);
    expect(signals).toEqual([id]);
  });

  it('finds a request that came while it looked', async () => {
    await request(id);
    const look = await decide(pools, workspaceId, id, async () => {
      await request(id);
      return { nextAt: inSeconds(30), isAtWork: true };
    });
    expect(await isRequested(look)).toBe(true);
  });

  it('is left alone by the sweep until half a minute after its last look', async () => {
    await request(id);
    const pass29Seconds = () => age(pools, 'workflow_wakes', ['wake_at', 'sweep_at'], '29 seconds');
    const claimed = async () => (await claimOverdue(systemDb(pools), 10)).length;
    await pass29Seconds();
    await work(inSeconds(30));
    await pass29Seconds();
    expect(await claimed()).toBe(0);
    await pass29Seconds();
    expect(await claimed()).toBe(1);
  });
});

type Decide = (
  pools: Pools,
  workspaceId: string,
  workflowId: string,
  look: (db: TenantDb) => Promise<Decision>,
) => Promise<Decision>;

/** As a round that waits out a gap: it hears of requests for a while, and then rests. */
const decideAtWork: Decide = async (pools, workspaceId, workflowId, look) => {
  const decided = await decide(pools, workspaceId, workflowId, async (db) => ({
    ...(await look(db)),
    isAtWork: true,
  }));
  if (decided.nextAt !== null && decided.nextAt.getTime() <= Date.now()) return decided;
  const { requestedBy } = decided;
  for (let polls = 0; polls < 5; polls += 1) {
    const requested = await requestedSince(systemDb(pools), [{ workspaceId, workflowId, requestedBy }]);
    if (requested.size > 0) return { ...decided, nextAt: new Date() };
    await pause(2);
  }
  return decide(pools, workspaceId, workflowId, look);
};

test.each([
  ['every request is written', { wake, decide }],
  ['it stays at work for a while', { wake, decide: decideAtWork }],
])(
  'no work is lost that arrives while workflows decide, with at most one signal each (%s)',
  async (_, protocol: { wake: typeof wake; decide: Decide }) => {
    const id = (n: number): string => `drip-drainer:${n}`;
    const WORKFLOWS = 5;
    const running = new Map<string, Promise<void>>();
    const woken = new Set<string>();
    /** Acts as a workflow: runs rounds until it may rest, and once more if it was signaled meanwhile. */
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

describe('a message for a line', () => {
  const lineId = 'held';
  const pacer = `line-pacer:${lineId}`;
  const message = (scheduledAt = new Date(), isNew = false) =>
    tenant(async (db) => wakeForMessage(db, lineId, { scheduledAt, isNew }));
  const holding = (hold: MessageHold, nextAt: Date | null = null) =>
    decide(pools, workspaceId, pacer, async () => ({ nextAt, hold }));
  const inMinutes = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);
  const row = () =>
    systemDb(pools).one(sql.type(z.object({ wakeAt: z.date(), sweepAfter: z.int().nullable() }))`
      select wake_at, case when wake_at < 'infinity' then extract(epoch from sweep_at - wake_at)::int end sweep_after
      from workflow_wakes where workflow_id = ${pacer}`);

  it('wakes its pacer unless all messages are held', async () => {
    await holding({ all: NEVER });
    await message();
    expect(signals).toEqual([]);
    expect((await row()).wakeAt.getTime()).toBeGreaterThan(inMinutes(29 * 24 * 60).getTime());
    await holding({});
    await message();
    expect(signals).toEqual([pacer]);
  });

  it('brings the next look forward to the end of the hold, once', async () => {
    const end = inMinutes(10);
    await holding({ all: end });
    for (let n = 0; n < 3; n += 1) await message();
    expect(signals).toEqual([pacer]);
    expect(await row()).toEqual({ wakeAt: end, sweepAfter: 30 });
    // One that is scheduled for later waits for its time.
    await holding({ all: end });
    await message(inMinutes(20));
    expect((await row()).wakeAt.getTime()).toBeGreaterThan(inMinutes(19).getTime());
  });

  it('of a new contact waits for its own hold, of a known one does not', async () => {
    await holding({ newContacts: inMinutes(10) }, inMinutes(10));
    await message(new Date(), true);
    expect(signals).toEqual([]);
    await tenant(async (db) => {
      wakeForMessage(db, lineId, { scheduledAt: new Date(), isNew: true });
      wakeForMessage(db, lineId, { scheduledAt: inMinutes(20) });
    });
    expect(signals).toEqual([]);
    await message();
    expect(signals).toEqual([pacer]);
  });

  it('is not held once anything else has asked for a look, even if the pacer has not heard of it', async () => {
    await holding({ all: NEVER });
    await request(pacer, inMinutes(10), 'lineChanged');
    signals.length = 0;
    await message();
    expect(signals).toEqual([pacer]);
  });

  it('is not held by a decision that did not see all requests', async () => {
    await request(pacer);
    await decide(pools, workspaceId, pacer, async () => {
      await request(pacer, inMinutes(10), 'lineChanged');
      return { nextAt: null, hold: { all: NEVER } };
    });
    expect((await row()).wakeAt.getTime()).toBeLessThanOrEqual(Date.now());
    await systemDb(pools).query(sql.type(NoRows)`
      update workflow_wakes set wake_at = 'infinity' where workflow_id = ${pacer}`);
    signals.length = 0;
    await message();
    expect(signals).toEqual([pacer]);
  });

  it('is never lost, whatever happens to its line meanwhile, and causes no signal while it is held', async () => {
    const source = `open ${lineId}`;
    const isOpen = async (db: TenantDb): Promise<boolean> =>
      (
        await db.query(sql.type(NoRows)`
          select from opt_outs where workspace_id = ${workspaceId} and source = ${source}`)
      ).rowCount > 0;
    const look = async (db: TenantDb): Promise<Decision> => {
      const open = await isOpen(db);
      await pause(Math.random() * 4);
      // Messages to known contacts are sent while those to new ones are held.
      const { rowCount } = await db.query(sql.type(NoRows)`
        delete from opt_outs where workspace_id = ${workspaceId}
          and source = any(${sql.array(open ? ['new', 'known'] : ['known'], 'text')})`);
      if (rowCount > 0) return { nextAt: new Date() };
      return { nextAt: null, hold: open ? {} : { newContacts: NEVER } };
    };
    const running = new Set<Promise<void>>();
    let isWoken = false;
    async function work(): Promise<void> {
      while (isWoken) {
        isWoken = false;
        for (let due = true; due;) {
          const { nextAt } = await decide(pools, workspaceId, pacer, look);
          due = nextAt !== null && nextAt.getTime() <= Date.now();
        }
      }
      running.clear();
    }
    onSignal = () => {
      isWoken = true;
      if (running.size === 0) running.add(work());
    };
    const rests = async (): Promise<void> => {
      while (running.size > 0) await Promise.all(running);
    };
    const add = (address: string, source: string) => sql.type(NoRows)`
      insert into opt_outs (workspace_id, address, source) values (${workspaceId}, ${address}, ${source})`;
    const setOpen = (open: boolean): Promise<void> =>
      tenant(async (db) => {
        await db.query(sql.type(NoRows)`
          delete from opt_outs where workspace_id = ${workspaceId} and source = ${source}`);
        if (open) await db.query(add(newId(), source));
        wake(db, pacer, new Date(), 'lineChanged');
      });
    const accept = (isNew: boolean): Promise<void> =>
      tenant(async (db) => {
        await db.query(add(newId(), isNew ? 'new' : 'known'));
        await pause(Math.random() * 3);
        wakeForMessage(db, lineId, { scheduledAt: new Date(), isNew });
      });

    await Promise.all([
      (async () => {
        for (let n = 0; n < 60; n += 1) {
          await setOpen(n % 2 === 0);
          await pause(Math.random() * 20);
        }
      })(),
      ...Array.from({ length: 5 }, async (_, writer) => {
        for (let n = 0; n < 100; n += 1) {
          await pause(Math.random() * 4);
          await accept(writer > 0);
        }
      }),
    ]);
    await setOpen(true);
    await rests();
    const left = () =>
      systemDb(pools).anyFirst(sql.type(z.object({ source: z.string() }))`
        select source from opt_outs where source in ('new', 'known')`);
    expect(await left()).toEqual([]);

    await setOpen(false);
    await rests();
    signals.length = 0;
    for (let n = 0; n < 10; n += 1) await accept(true);
    expect(signals).toEqual([]);
    await systemDb(pools).query(sql.type(NoRows)`delete from opt_outs`);
  });
});

describe('the sweep', () => {
  it('deletes the wakes of a line that a workspace wrote after the line had left it', async () => {
    const other = await createOther();
    await systemDb(pools).query(sql.type(NoRows)`
      insert into lookups (kind, key, workspace_id) values ('line', 'left', ${other}), ('line', 'stays', ${workspaceId})`);
    const ids = [
      'line-pacer:left',
      'line-pacer:stays',
      'line-pacer:gone',
      `line-handover:left:${workspaceId}`,
    ];
    for (const id of ids) await overdue(id, '5 minutes');
    const kept = ids.slice(1).toSorted();
    expect(await claimed(10)).toEqual(kept);
    expect(await stored()).toEqual(kept);
  });

  const overdue = (workflowId: string, ago: string) =>
    systemDb(pools).query(sql.type(NoRows)`
      insert into workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by)
      values (${workspaceId}, ${workflowId}, now() - ${ago}::interval, now() - ${ago}::interval + interval '30 seconds', '0', '0')`);
  const claimed = async (limit: number): Promise<string[]> =>
    (await claimOverdue(systemDb(pools), limit)).map(({ workflowId }) => workflowId).toSorted();

  it('reaches every overdue workflow, even behind many that cannot be woken', async () => {
    for (let n = 0; n < 6; n += 1) await overdue(`stuck:${n}`, `${60 + n} minutes`);
    await overdue('fresh:1', '1 minute');
    const first = [...(await claimed(3)), ...(await claimed(3))];
    expect(first.toSorted()).toEqual(Array.from({ length: 6 }, (_, n) => `stuck:${n}`));
    expect(await claimed(3)).toEqual(['fresh:1']);
    expect(await claimed(3)).toEqual([]);
  });

  it('repeats the lost signal until the workflow has looked', async () => {
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

  it('skips workflows that are idle, not due or just woken', async () => {
    await rest('idle:1', null);
    await rest('later:1', inAnHour());
    await request('now:1');
    expect(await claimed(10)).toEqual([]);
  });

  it('shares the overdue workflows with a simultaneous sweep', async () => {
    for (let n = 0; n < 10; n += 1) await overdue(`stuck:${n}`, '5 minutes');
    const both = await Promise.all([claimed(10), claimed(10)]);
    expect(both.flat().toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `stuck:${n}`));
  });
});
