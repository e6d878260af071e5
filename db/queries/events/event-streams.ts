import { sql } from 'slonik';
import { z } from 'zod';
import { STREAM_ALIVE } from '../accounts/limits.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, SystemTransaction } from '#db/connection/transactions.ts';

const CountRow = z.object({ holders: z.int(), workspaces: z.int() });

/** An open stream of any process: its workspace, and the key or user whose streams are counted. */
export interface OpenStream {
  id: string;
  holder: string;
  workspaceId: string;
}

/**
 * Records that a stream is open.
 * @param limits the limits of the holder and the workspace.
 * @returns whose limit is reached; nothing is recorded then.
 */
export async function openStream(
  db: SystemTransaction,
  { id, holder, workspaceId }: OpenStream,
  limits: { ofHolder: number; ofWorkspace: number },
): Promise<'opened' | 'too many of the holder' | 'too many of the workspace'> {
  await db.query(
    sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${`stream ${workspaceId}`}, 0))`,
  );
  const { holders, workspaces } = await db.one(sql.type(CountRow)`
    select count(*) filter (where holder = ${holder}) holders,
      count(*) filter (where workspace_id = ${workspaceId}) workspaces
    from event_streams
    where (holder = ${holder} or workspace_id = ${workspaceId}) and seen_at > now() - ${STREAM_ALIVE}`);
  if (holders >= limits.ofHolder) return 'too many of the holder';
  if (workspaces >= limits.ofWorkspace) return 'too many of the workspace';
  await db.query(sql.type(NoRows)`
    insert into event_streams (id, holder, workspace_id) values (${id}, ${holder}, ${workspaceId})`);
  return 'opened';
}

/** Records that streams are alive, and deletes those that crashed processes left. */
export async function keepStreams(db: SystemDb, streams: readonly OpenStream[]): Promise<void> {
  const rows = streams.map(({ id, holder, workspaceId }) => [id, holder, workspaceId]);
  await db.query(sql.type(NoRows)`
    with over as (delete from event_streams where seen_at < now() - interval '10 minutes')
    insert into event_streams (id, holder, workspace_id)
    select id, holder, workspace_id from ${sql.unnest(rows, ['text', 'text', 'text'])} as s (id, holder, workspace_id)
    on conflict (id) do update set seen_at = excluded.seen_at`);
}

export async function closeStreams(db: SystemDb, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`delete from event_streams where id = any(${sql.array([...ids], 'text')})`);
}
