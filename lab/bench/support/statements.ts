import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

/** Settings of a PostgreSQL whose statements are counted. */
export const COUNTED = { shared_preload_libraries: 'pg_stat_statements' };

/** Idle connections report their statistics after at most this long. */
const STATISTICS_MS = 11_000;

/** What a server has done so far. */
export interface Work {
  statements: number;
  commits: number;
  /** Bytes. */
  wal: number;
}

export interface StatementCounter {
  /** Waits until all connections have reported. */
  read(): Promise<Work>;
  reset(): Promise<void>;
  /** Prints the statements that took the most time since `reset`: calls, time and WAL per message. */
  list(most: number, messages: number): Promise<void>;
  close(): Promise<void>;
}

/** @param ownerUrl of a database of a server with `COUNTED`. */
export async function countStatements(ownerUrl: string): Promise<StatementCounter> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  await owner.query('create extension pg_stat_statements');
  const numberOf = async (text: string): Promise<number> => Number((await owner.query(text)).rows[0].n);
  return {
    async read() {
      await pause(STATISTICS_MS);
      return {
        statements: await numberOf(
          `select sum(calls) n from pg_stat_statements where query !~* '^(begin|commit|start)'`,
        ),
        commits: await numberOf(
          `select xact_commit n from pg_stat_database where datname = current_database()`,
        ),
        wal: await numberOf(`select wal_bytes n from pg_stat_wal`),
      };
    },
    async reset() {
      await owner.query('select pg_stat_statements_reset()');
    },
    async list(most, messages) {
      const { rows } = await owner.query(
        `select calls, total_exec_time ms, wal_bytes, regexp_replace(query, '\\s+', ' ', 'g') query
         from pg_stat_statements order by total_exec_time desc limit $1`,
        [most],
      );
      for (const { calls, ms, wal_bytes: wal, query } of rows)
        console.log(
          [
            (calls / messages).toFixed(2),
            `${((ms * 1000) / messages).toFixed(0)} µs`,
            `${(wal / messages).toFixed(0)} B`,
            (query as string).slice(0, 170),
          ].join('\t'),
        );
    },
    close: () => owner.end(),
  };
}
