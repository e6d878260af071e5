import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

const RunAge = z.object({ run: z.enum(['sweep', 'backup']), seconds: z.number() });
export type RecordedRun = z.infer<typeof RunAge>['run'];

/** Records that something was completed now. */
export async function recordRun(db: SystemDb, run: RecordedRun): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into recorded_runs (run, completed_at) values (${run}, now())
    on conflict (run) do update set completed_at = excluded.completed_at`);
}

/** How long ago each was completed; those that never were are absent. */
export async function recordedRuns(db: SystemDb): Promise<z.infer<typeof RunAge>[]> {
  const rows = await db.any(sql.type(RunAge)`
    select run, extract(epoch from now() - completed_at)::float8 seconds from recorded_runs`);
  return [...rows];
}
