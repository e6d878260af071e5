import { type DatabasePool, sql } from 'slonik';
import { z } from 'zod';

/**
 * Knows which nodes of a Citus cluster do not respond. Citus waits for such a node, and so would whoever needs the connection that
 * waits. On one server there is nothing to know.
 */
export interface NodeWatch {
  /** @throws NodeUnavailable if the node that has the workspace does not respond. */
  check(workspaceId: string): Promise<void>;
  /** Those of the workspaces whose nodes respond. */
  available(workspaceIds: readonly string[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Requests of its workspaces can be retried later. */
export class NodeUnavailable extends Error {
  override readonly name = 'NodeUnavailable';
}

const EVERY_MS = 2000;
/** How long a node may take to accept a connection. */
export const NODE_TIMEOUT_MS = 2000;
/** In sequence, as one may be late because it is busy. */
const FAILURES = 2;

const DistributedRow = z.object({ isDistributed: z.boolean() });
const NodeRow = z.object({ groupid: z.int(), nodename: z.string(), nodeport: z.int() });
const CheckRow = z.object({ responds: z.boolean() });
const HomeRow = z.object({ id: z.string(), node: z.int() });

/**
 * @param system for one query, which says whether the database is distributed.
 * @param open opens a pool for the rest, whose statements end after `NODE_TIMEOUT_MS`.
 */
export function watchNodes(
  system: Pick<DatabasePool, 'oneFirst'>,
  open: () => Promise<DatabasePool>,
): NodeWatch {
  const failures = new Map<number, number>();
  let unavailable: ReadonlySet<number> = new Set();
  /** The nodes of workspaces, since the last look. */
  const homes = new Map<string, number>();
  let pool: DatabasePool | undefined;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let running = run();

  async function run(): Promise<void> {
    try {
      if (!pool) {
        const isDistributed = await system.oneFirst(sql.type(DistributedRow)`
          select exists (select from pg_extension where extname = 'citus') "isDistributed"`);
        if (!isDistributed) return;
        pool = await open();
      }
      await look(pool);
    } catch {
      // No node is known to be unavailable if the database itself does not respond.
    }
    if (isClosed) return;
    timer = setTimeout(() => void (running = run()), EVERY_MS).unref();
  }

  async function look(nodes: DatabasePool): Promise<void> {
    const known = await nodes.any(sql.type(NodeRow)`
      select groupid, nodename, nodeport from pg_dist_node where isactive and shouldhaveshards`);
    await Promise.all(
      known.map(async ({ groupid, nodename, nodeport }) => {
        const responds = await nodes
          .oneFirst(
            sql.type(CheckRow)`select citus_check_connection_to_node(${nodename}, ${nodeport}) responds`,
          )
          .catch(() => false);
        failures.set(groupid, responds ? 0 : (failures.get(groupid) ?? 0) + 1);
      }),
    );
    unavailable = new Set(
      known.map(({ groupid }) => groupid).filter((node) => (failures.get(node) ?? 0) >= FAILURES),
    );
    homes.clear();
  }

  async function available(workspaceIds: readonly string[]): Promise<readonly string[]> {
    if (!pool || unavailable.size === 0) return workspaceIds;
    const unknown = workspaceIds.filter((id) => !homes.has(id));
    if (unknown.length > 0) {
      const found = await pool.any(sql.type(HomeRow)`
        select id, node_of(id) node from unnest(${sql.array(unknown, 'text')}) id`);
      for (const { id, node } of found) homes.set(id, node);
    }
    return workspaceIds.filter((id) => !unavailable.has(homes.get(id) ?? 0));
  }

  return {
    available,
    async check(workspaceId) {
      if ((await available([workspaceId])).length === 0)
        throw new NodeUnavailable(`The database node of workspace ${workspaceId} does not respond.`);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
      await pool?.end();
    },
  };
}
