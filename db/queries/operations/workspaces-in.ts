import { sql } from 'slonik';
import { z } from 'zod';
import { parseOwnJson } from '#domain/base/own-json.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

const ResultRow = z.object({ result: z.string() });

/**
 * Runs a command on a table. `on_each_shard` executes it; where the schema is distributed, its definition differs.
 * @param command calls the table `%1$s`, and returns a row of one text.
 */
export const onEachShard = (db: SystemDb, table: string, command: string): Promise<readonly string[]> =>
  db.anyFirst(sql.type(ResultRow)`select result from on_each_shard(${table}, ${command}) result`);

/**
 * The workspaces that have rows of a table. Reads one index entry for each, if an index begins with the workspace.
 * @param beforeId only workspaces with a row whose id is lower. Requires an index that begins with the workspace and the id.
 */
export async function workspacesIn(db: SystemDb, table: string, beforeId?: string): Promise<string[]> {
  const columns = beforeId === undefined ? 'workspace_id' : 'workspace_id, id';
  const first = (condition: string): string =>
    `(select ${columns} from %1$s ${condition} order by ${columns} limit 1)`;
  const results = await onEachShard(
    db,
    table,
    `with recursive found as (
       ${first('')}
       union all
       select next.* from found f cross join lateral ${first('where workspace_id > f.workspace_id')} next
     ) select coalesce(json_agg(workspace_id), '[]')::text from found ${beforeId === undefined ? '' : `where id < '${beforeId}'`}`,
  );
  return results.flatMap((ids) => z.array(z.string()).parse(parseOwnJson(ids)));
}
