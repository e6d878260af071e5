import { setTimeout as pause } from 'node:timers/promises';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '../../db/connection/transactions.ts';
import { linePacerId } from '../../workflows/protocol/workflow-ids.ts';
import { startProduct } from './support/product.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * How soon all lines send again after Temporal has lost all workflows: `npm run bench -- recovery [--lines 100000]`. On each line
 * waits a message to a contact of its own that is an hour late, and no workflow runs. Prints after how many seconds since the start
 * of the worker half, nine of ten, 99 of a hundred and all lines have sent. One API and one worker process.
 */
const { values } = parseArgs({ options: { lines: { type: 'string', default: '100000' } } });
const LINES = Number(values.lines);
const LINES_OF_WORKSPACE = 1000;
const LOOK_MS = 5000;

const product = await startProduct();
const db = systemDb(product.pools);
const run = (query: Parameters<typeof db.query>[0]) => db.query(query);
try {
  await product.killWorker();
  for (let made = 0; made < LINES; made += LINES_OF_WORKSPACE)
    await createBenchWorkspace(product.pools, Math.min(LINES_OF_WORKSPACE, LINES - made));
  // Some numbers that end otherwise are not taken by the simulated carrier.
  await run(sql.type(z.unknown())`
    insert into messages (workspace_id, id, line_id, address, recipient_phone, channel, status, body, scheduled_at, source)
    select workspace_id, substr(md5(id), 1, 24), id, contact, contact, 'imessage', 'pending', 'Bench', now() - interval '1 hour', 'api'
    from (select workspace_id, id, '+1212' || (20000 + row_number() over (partition by workspace_id)) || '00' contact from lines) l`);
  await run(sql.type(z.unknown())`
    insert into workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal)
    select workspace_id, ${linePacerId('')} || id, now() - interval '1 hour', now() - interval '59 minutes',
      pg_current_xact_id(), '0', 'messagesDue' from lines`);
  await run(sql.type(z.unknown())`analyze`);

  const began = performance.now();
  const seconds = (): string => ((performance.now() - began) / 1000).toFixed(0);
  await product.startWorker();
  console.log(`${LINES} lines, load average ${(loadavg()[1] ?? 0).toFixed(0)}`);
  let sent = 0;
  for (const share of [0.5, 0.9, 0.99, 1]) {
    while (sent < share * LINES) {
      await pause(LOOK_MS);
      sent = await db.oneFirst(sql.type(z.object({ count: z.int() }))`
        select count(*) "count" from messages where status in ('sent', 'delivered')`);
    }
    console.log(`${share * 100} % after ${seconds()} s`);
  }
} finally {
  await product.stop();
}
