import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished, test } from 'vitest';
import { startApi } from '#api/server.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import {
  type Announcements,
  createAnnouncer,
  listenToAnnouncements,
  type Subscription,
} from '#db/connection/announcements.ts';
import { NoRows } from '#db/connection/rows.ts';
import { savepoint, systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { EVENT_EXAMPLES } from '#domain/events/examples.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { openEventStream } from '#test/support/event-stream.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { startWorker } from '#workers/worker.ts';

/** Longer than an announcement takes. */
const LONG_MS = 60_000;

let app: OwnApp;
let workspace: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
  [workspace, other] = [await createWorkspace(app), await createWorkspace(app)];
});
afterAll(async () => app.stop());

const emit = (db: TenantDb): Promise<void> =>
  emitEvents(db, [{ ...EVENT_EXAMPLES['message.sent'], workspaceId: db.workspaceId }], new Date());
const emitIn = ({ id }: TestWorkspace): Promise<void> => withTenant(app.pools, id, emit);

describe('the events of a committed transaction', () => {
  let announcements: Announcements;
  let events: Subscription;
  beforeEach(async () => {
    announcements = listenToAnnouncements(app.config.database.listenUrl);
    events = announcements.subscribe(() => true);
    // Opening the connection counts as a lost announcement.
    await events.next(LONG_MS);
    return async () => {
      events[Symbol.dispose]();
      await announcements.close();
    };
  });

  it('are announced to all processes', async () => {
    await emitIn(workspace);
    expect(await events.next(LONG_MS)).toEqual(new Set([workspace.id]));
  });

  it('are announced if a savepoint had them, and not after a rollback', async () => {
    await expect(
      withTenant(app.pools, workspace.id, async (db) => {
        await emit(db);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await withTenant(app.pools, other.id, (db) => savepoint(db, emit));
    expect(await events.next(LONG_MS)).toEqual(new Set([other.id]));
  });

  it('are announced only to those whom they concern', async () => {
    using mine = announcements.subscribe((id) => id === workspace.id);
    await emitIn(other);
    expect(await events.next(LONG_MS)).toEqual(new Set([other.id]));
    await emitIn(workspace);
    expect(await mine.next(LONG_MS)).toEqual(new Set([workspace.id]));
  });

  it('are remembered while the subscriber is at work', async () => {
    using last = announcements.subscribe((id) => id === other.id);
    await emitIn(workspace);
    await emitIn(other);
    // All subscribers are told at once.
    await last.next(LONG_MS);
    expect(await events.next(0)).toEqual(new Set([workspace.id, other.id]));
  });

  it('are announced together, and without names if there are too many', async () => {
    const announcer = createAnnouncer(systemDb(app.pools));
    const ids = Array.from({ length: 500 }, (_, n) => `org_${n}`);
    for (const id of ids) announcer.announce(id);
    expect(await events.next(LONG_MS)).toEqual(new Set(['org_0']));
    expect(await events.next(LONG_MS)).toBeNull();
  });

  it('count as announced when the connection is lost', async () => {
    await systemDb(app.pools).query(sql.type(NoRows)`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'linepace listener: new_events'`);
    expect(await events.next(LONG_MS)).toBeNull();
  });

  it('end the wait no later than something else does', async () => {
    expect(await events.next(LONG_MS, pause(1))).toBeNull();
  });
});

test('streams and webhooks get events that are never announced', async () => {
  const { database, ...config } = app.config;
  const deaf = { ...config, port: 0, database: { ...database, listenUrl: 'postgres://127.0.0.1:1/nowhere' } };
  const api = await startApi(deaf);
  const worker = await startWorker(deaf, { codePath: inject('workflowBundle') });
  onTestFinished(async () => {
    await worker.stop();
    await api.stop();
  });
  const endpoint = await startTestEndpoint();
  await registerWebhook(apiClient(api.url, workspace.key), endpoint.url);
  const stream = await openEventStream(api.url, workspace.key);
  onTestFinished(() => stream.close());
  for (const count of [1, 2]) {
    await emitIn(workspace);
    await stream.received(count);
    await eventually(async () => endpoint.received.length === count);
  }
});
