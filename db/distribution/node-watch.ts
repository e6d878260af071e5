import { type DatabasePool, sql } from 'slonik';
import { z } from 'zod';

/**
 * Knows which nodes of a Citus cluster do not respond. Citus waits for such a node, and so would whoever needs the connection that
 * waits. On one server there is nothing to know.
 */
export interface NodeWatch {
  readonly areAllAvailable: boolean;
  /** Those of the items whose workspaces are on nodes that respond, as far as is known. It never throws. */
  available<Item>(items: readonly Item[], workspaceOf: (item: Item) => string): Promise<readonly Item[]>;
  /** @throws NodeUnavailable if the node that has the workspace does not respond. */
  check(workspaceId: string): Promise<void>;
  close(): Promise<void>;
}

/** Requests of its workspaces can be retried later. */
export class NodeUnavailable extends Error {
  override readonly name = 'NodeUnavailable';

  constructor(workspaceId: string) {
    super(`The database node of workspace ${workspaceId} does not respond.`);
  }
}

const EVERY_MS = 2000;
/** How long a node may take to respond. */
export const NODE_TIMEOUT_MS = 2000;
/** In sequence, as one may be late because it is busy. */
const FAILURES = 2;
/** For queries that only the coordinator answers. */
const OWN_CONNECTIONS = 2;

const DistributedRow = z.object({ isDistributed: z.boolean() });
const NodeRow = z.object({ groupid: z.int(), nodename: z.string(), nodeport: z.int() });
type Node = z.infer<typeof NodeRow>;
const CheckRow = z.object({ responds: z.boolean() });
const WorkspaceNodeRow = z.object({ id: z.string(), node: z.int() });

/**
 * @param system for the first queries, which say whether the database is distributed, and over which nodes.
 * @param open opens a pool of that many connections for the rest. Its statements end after `NODE_TIMEOUT_MS`.
 */
export function watchNodes(
  system: Pick<DatabasePool, 'any' | 'oneFirst'>,
  open: (size: number) => Promise<DatabasePool>,
): NodeWatch {
  /** Checks that have not ended. PostgreSQL may take longer than it should to give up. */
  const checking = new Set<number>();
  const failures = new Map<number, number>();
  let unavailable: ReadonlySet<number> = new Set();
  /** By workspace, since the last look. */
  const nodeOfWorkspace = new Map<string, number>();
  let pool: DatabasePool | undefined;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  void run();

  async function run(): Promise<void> {
    try {
      if (!pool) {
        const isDistributed = await system.oneFirst(sql.type(DistributedRow)`
          select exists (select from pg_extension where extname = 'citus') "isDistributed"`);
        if (!isDistributed || isClosed) return;
        pool = await open((await nodesOf(system)).length + OWN_CONNECTIONS);
      }
      if (isClosed) {
        await pool.end();
        return;
      }
      await look(pool);
    } catch {
      // The coordinator does not respond either, so what is known stays.
    }
    if (!isClosed) timer = setTimeout(() => void run(), EVERY_MS).unref();
  }

  async function look(nodes: DatabasePool): Promise<void> {
    const known = await nodesOf(nodes);
    await Promise.all(
      known.map(async (node) => {
        const responds = await isResponding(nodes, node);
        failures.set(node.groupid, responds ? 0 : (failures.get(node.groupid) ?? 0) + 1);
      }),
    );
    unavailable = new Set(
      known.map(({ groupid }) => groupid).filter((node) => (failures.get(node) ?? 0) >= FAILURES),
    );
    nodeOfWorkspace.clear();
  }

  async function isResponding(nodes: DatabasePool, { groupid, nodename, nodeport }: Node): Promise<boolean> {
    if (checking.has(groupid)) return false;
    checking.add(groupid);
    const answer = nodes
      .oneFirst(sql.type(CheckRow)`select citus_check_connection_to_node(${nodename}, ${nodeport}) responds`)
      .catch(() => false)
      .finally(() => checking.delete(groupid));
    const late = Promise.withResolvers<boolean>();
    const giveUp = setTimeout(() => late.resolve(false), NODE_TIMEOUT_MS).unref();
    return Promise.race([answer, late.promise]).finally(() => clearTimeout(giveUp));
  }

  async function available<Item>(
    items: readonly Item[],
    workspaceOf: (item: Item) => string,
  ): Promise<readonly Item[]> {
    if (!pool || unavailable.size === 0) return items;
    const unknown = [...new Set(items.map(workspaceOf))].filter((id) => !nodeOfWorkspace.has(id));
    if (unknown.length > 0) {
      const found = await pool
        .any(sql.type(WorkspaceNodeRow)`
          select id, node_of(id) node from unnest(${sql.array(unknown, 'text')}) id`)
        .catch(() => []);
      for (const { id, node } of found) nodeOfWorkspace.set(id, node);
    }
    return items.filter((item) => !unavailable.has(nodeOfWorkspace.get(workspaceOf(item)) ?? 0));
  }

  return {
    get areAllAvailable() {
      return unavailable.size === 0;
    },
    available,
    async check(workspaceId) {
      if ((await available([workspaceId], String)).length === 0) throw new NodeUnavailable(workspaceId);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await pool?.end();
    },
  };
}

const nodesOf = (db: Pick<DatabasePool, 'any'>): Promise<readonly Node[]> =>
  db.any(sql.type(NodeRow)`
    select groupid, nodename, nodeport from pg_dist_node where isactive and shouldhaveshards`);
