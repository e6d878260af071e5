import type { Logger } from 'pino';
import type { Pools } from '#db/connection/pools.ts';
import {
  claimRounds,
  findDueRounds,
  holdRounds,
  type PolledRound,
  recordPolling,
  releaseRound,
} from '#db/queries/operations/polled-rounds.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { inWorkspaceTime } from '#db/connection/workspace-clock.ts';
import { takeFairly } from '#domain/base/fair-batch.ts';
import type { WakeSignals } from '#db/wakes/transaction-wakes.ts';

/** Much less than a claim lasts (db/queries/operations/polled-rounds.ts). */
const HOLD_EVERY_MS = 5000;
/** Rounds end earlier. One that hangs is claimed by another process then. */
const MAX_HELD_MS = 5 * 60_000;

/** The rounds that this process has claimed. */
export interface RoundClaims {
  /**
   * Runs the round of a workflow, which takes it over from a process that polls. Meanwhile no process begins another.
   * @param options.isClaimed the claim is in the database already.
   * @param options.pauseMs how long after it no process begins another, by its result; null: after an error.
   */
  during<T>(
    round: PolledRound,
    work: () => Promise<T>,
    options?: { isClaimed?: boolean; pauseMs?: (result: T | null) => number },
  ): Promise<T>;
}

export function createRoundClaims(pools: Pools, logger: Pick<Logger, 'warn'>): RoundClaims {
  const db = systemDb(pools);
  const held = new Map<PolledRound, number>();
  let timer: NodeJS.Timeout | undefined;

  function hold(): void {
    const since = performance.now() - MAX_HELD_MS;
    const rounds = [...held].flatMap(([round, at]) => (at > since ? [round] : []));
    if (rounds.length === 0) return;
    holdRounds(db, rounds).catch((error: unknown) =>
      logger.warn({ error, rounds: rounds.length }, 'the claims of rounds cannot be extended'),
    );
  }

  return {
    async during(round, work, { isClaimed = false, pauseMs = () => 0 } = {}) {
      if (!isClaimed) await holdRounds(db, [round]);
      held.set(round, performance.now());
      timer ??= setInterval(hold, HOLD_EVERY_MS).unref();
      let result = null;
      try {
        result = await work();
        return result;
      } finally {
        held.delete(round);
        if (held.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
        await releaseRound(db, round, pauseMs(result)).catch((error: unknown) =>
          logger.warn({ error, ...round }, 'the claim of a round cannot be ended; it expires'),
        );
      }
    },
  };
}

/** How a round ended. `hand over`: its workflow is to go on, which shows operators what is the matter. */
export type RoundEnd = 'done' | 'hand over';

/** A kind of rounds that this process takes. */
export interface Rounds {
  /** The maximum at once. A workspace gets at most half of them. */
  slots: number;
  run(round: { workspaceId: string; subjectId: string }, canceled: AbortSignal): Promise<RoundEnd>;
}

export interface Polling {
  /** Ends the rounds that are under way, and waits for that. */
  stop(): Promise<void>;
}

/** How often to look for due rounds: one query for all kinds. */
const POLL_MS = 100;
const RECORD_EVERY_MS = 10_000;
/** Time for the workflow to take over. */
const HANDOVER_MS = 15_000;
/** What was found wrong with a round is left to its workflow for this time, whose activity is retried. */
const FAILED_MS = 60_000;

/**
 * Runs due rounds of the kinds in `WORKFLOWS` that are polled. A process that crashes loses its claims after 15 seconds, and others
 * go on. Rounds that nobody takes are found by the sweep, which signals their workflows.
 * @param rounds by kind, as in the ids of workflows.
 * @param options.carriers whose lines this process serves.
 * @param options.isServing whether this process may work: Temporal sends tasks to its build.
 */
export function startPolling(
  { pools, waker, logger, claims }: { pools: Pools; waker: WakeSignals; logger: Logger; claims: RoundClaims },
  rounds: Readonly<Record<string, Rounds>>,
  { carriers, isServing }: { carriers: readonly string[]; isServing: () => boolean },
): Polling {
  const db = systemDb(pools);
  const stopping = new AbortController();
  /** By kind and workspace. */
  const running = new Map<string, Map<string, number>>(Object.keys(rounds).map((kind) => [kind, new Map()]));
  const runs = new Set<Promise<void>>();
  let recordedAt = -Infinity;
  let isFailing = false;

  const shareOf = (kind: string): number => Math.ceil((rounds[kind]?.slots ?? 0) / 2);

  function freeSlots(): Map<string, number> {
    return new Map(
      Object.entries(rounds).flatMap(([kind, { slots }]) => {
        const busy = [...(running.get(kind)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
        return slots > busy ? [[kind, slots - busy]] : [];
      }),
    );
  }

  /** What fits: the workspaces in turns, none with more than half of the slots of a kind. */
  function fitting(due: readonly PolledRound[], free: ReadonlyMap<string, number>): PolledRound[] {
    const ofKinds = Map.groupBy(due, ({ workflowId }) => kindOf(workflowId));
    return [...ofKinds].flatMap(([kind, ofKind]) => {
      const left = (workspaceId: string): number =>
        shareOf(kind) - (running.get(kind)?.get(workspaceId) ?? 0);
      const queues = [...Map.groupBy(ofKind, ({ workspaceId }) => workspaceId)].map(
        ([workspaceId, queue]): [string, PolledRound[]] => [
          workspaceId,
          queue.slice(0, Math.max(0, left(workspaceId))),
        ],
      );
      return takeFairly(new Map(queues), free.get(kind) ?? 0);
    });
  }

  async function poll(): Promise<void> {
    if (performance.now() - recordedAt > RECORD_EVERY_MS) {
      await recordPolling(db, Object.keys(rounds));
      recordedAt = performance.now();
    }
    const free = freeSlots();
    if (free.size === 0) return;
    const limit = 2 * Math.max(...free.values());
    const full = [...running].flatMap(([kind, counts]) =>
      [...counts].flatMap(([workspaceId, count]) =>
        count >= shareOf(kind) ? [`${kind} ${workspaceId}`] : [],
      ),
    );
    const due = fitting(await findDueRounds(db, { kinds: [...free.keys()], carriers, full, limit }), free);
    if (due.length === 0 || stopping.signal.aborted) return;
    for (const round of await claimRounds(db, due)) {
      const run = take(round).finally(() => runs.delete(run));
      runs.add(run);
    }
  }

  async function take(round: PolledRound): Promise<void> {
    const { workspaceId, workflowId } = round;
    const kind = kindOf(workflowId);
    const counts = running.get(kind) ?? new Map<string, number>();
    counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + 1);
    const work = (): Promise<RoundEnd | undefined> =>
      inWorkspaceTime(workspaceId, async () =>
        rounds[kind]?.run({ workspaceId, subjectId: workflowId.slice(kind.length + 1) }, stopping.signal),
      );
    const pauseMs = (end: RoundEnd | undefined | null): number =>
      end === 'done' ? 0 : end === 'hand over' ? HANDOVER_MS : FAILED_MS;
    try {
      const end = await claims.during(round, work, { isClaimed: true, pauseMs });
      if (end === 'hand over') waker.wake(workflowId, workspaceId, 'overdue');
    } catch (error) {
      logger.warn({ error, workspaceId, workflowId }, 'a round failed; its workflow tries again');
      waker.wake(workflowId, workspaceId, 'overdue');
    } finally {
      const left = (counts.get(workspaceId) ?? 1) - 1;
      if (left > 0) counts.set(workspaceId, left);
      else counts.delete(workspaceId);
    }
  }

  async function turn(): Promise<void> {
    try {
      if (isServing()) await poll();
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error }, 'due rounds cannot be looked for; trying again');
      isFailing = true;
    }
  }

  const polling = (async () => {
    while (!stopping.signal.aborted) {
      await turn();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  })();

  return {
    async stop() {
      stopping.abort();
      await polling;
      await Promise.all(runs);
    },
  };
}

const kindOf = (workflowId: string): string => workflowId.slice(0, workflowId.indexOf(':'));
