import type { Logger } from 'pino';
import type { Announcements } from '#db/connection/announcements.ts';
import type { Pools } from '#db/connection/pools.ts';
import {
  claimRounds,
  findDueRounds,
  type DueRound,
  recordPolled,
} from '#db/queries/operations/due-rounds.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { inWorkspaceTime } from '#db/connection/workspace-clock.ts';
import type { WakeSignals } from '#db/wakes/transaction-wakes.ts';
import { inLogContext } from '#providers/log-context.ts';
import { inTaskSpan } from '#providers/task-span.ts';
import { withHeartbeat } from './heartbeat.ts';
import type { RoundClaims } from './round-claims.ts';
import { createRoundSlots, kindOf } from './round-slots.ts';

/** How a round ended. `hand over`: its workflow is to go on, which shows operators what is the matter. */
export type RoundEnd = 'done' | 'hand over';

/** A kind of rounds that this process takes. */
export interface Rounds {
  /** The maximum at once. A workspace gets at most half of them. */
  slots: number;
  run(round: { workspaceId: string; subjectId: string }, canceled: AbortSignal): Promise<RoundEnd>;
}

/** What a process has done with the rounds of a kind since its start, and does now. */
interface RoundCounts {
  running: number;
  done: number;
  /** To their workflows: there was more to do. */
  handedOver: number;
  failed: number;
}

/** Takes the rounds that are due, of workflows which leave them to processes. */
export interface RoundPoller {
  readonly kinds: string[];
  /** Whether it looks for due rounds. */
  readonly isActive: boolean;
  /** Looks for due rounds and runs them, until it is stopped or canceled, or a day is over. */
  run(canceled: AbortSignal): Promise<PollingEnd>;
  counts(): Record<string, RoundCounts>;
  /** Ends the rounds that are under way, and waits for that. */
  stop(): Promise<void>;
}

interface PollingEnd {
  reason: string;
  /** It is to be called again. */
  goesOn: boolean;
}

/** How often to look for due rounds that no event announces: one query for all kinds. */
const POLL_MS = 100;
const RECORD_EVERY_MS = 10_000;
/** Time for the workflow to take over. */
const HANDOVER_MS = 15_000;
/** What was found wrong with a round is left to its workflow for this time, whose activity is retried. */
const FAILED_MS = 60_000;
/** An activity that ends is seen to work, and its workflow needs no code that is older. */
const DAY_MS = 24 * 3_600_000;

/**
 * Runs due rounds of the kinds in `WORKFLOWS` that are polled. A process that crashes loses its claims after 15 seconds, and others
 * go on. Rounds that no process takes are found by the sweep, which signals their workflows.
 * @param rounds by kind, as in the ids of workflows.
 * @param options.carriers whose lines this process serves.
 * @param options.isServing whether this process may work: Temporal sends tasks to its build.
 * @param options.background what the process does meanwhile, so that Temporal shows it; ends when it is canceled.
 */
export function createRoundPoller(
  {
    pools,
    waker,
    logger,
    roundClaims,
    announcements,
  }: {
    pools: Pools;
    waker: WakeSignals;
    logger: Logger;
    roundClaims: RoundClaims;
    announcements: Announcements;
  },
  rounds: Readonly<Record<string, Rounds>>,
  {
    carriers,
    isServing,
    background,
  }: {
    carriers: readonly string[];
    isServing: () => boolean;
    background: (canceled: AbortSignal) => Promise<void>;
  },
): RoundPoller {
  const db = systemDb(pools);
  const stopping = new AbortController();
  const slots = createRoundSlots(new Map(Object.entries(rounds).map(([kind, { slots }]) => [kind, slots])));
  const runs = new Set<Promise<void>>();
  const ended = new Map<string, Omit<RoundCounts, 'running'>>(
    Object.keys(rounds).map((kind) => [kind, { done: 0, handedOver: 0, failed: 0 }]),
  );
  let recordedAt = -Infinity;
  let isFailing = false;
  let active: Promise<unknown> | null = null;

  async function poll(canceled: AbortSignal): Promise<void> {
    if (performance.now() - recordedAt > RECORD_EVERY_MS) {
      await recordPolled(db, Object.keys(rounds));
      recordedAt = performance.now();
    }
    const free = slots.free();
    if (free.size === 0) return;
    const limit = 2 * Math.max(...free.values());
    const looked = { kinds: [...free.keys()], carriers, full: slots.full(), limit };
    const due = slots.fitting(await findDueRounds(db, looked), free);
    if (due.length === 0 || canceled.aborted) return;
    for (const round of await claimRounds(db, due)) {
      const run = runRound(round, canceled).finally(() => runs.delete(run));
      runs.add(run);
    }
  }

  async function runRound(round: DueRound, canceled: AbortSignal): Promise<void> {
    const { workspaceId, workflowId } = round;
    const kind = kindOf(workflowId);
    const count = (name: keyof Omit<RoundCounts, 'running'>): void => {
      const of = ended.get(kind);
      if (of) of[name] += 1;
    };
    const release = slots.take(round);
    const work = (): Promise<RoundEnd | undefined> =>
      inWorkspaceTime(workspaceId, async () =>
        rounds[kind]?.run({ workspaceId, subjectId: workflowId.slice(kind.length + 1) }, canceled),
      );
    const pauseMs = (end: RoundEnd | undefined | null): number =>
      end === 'done' ? 0 : end === 'hand over' ? HANDOVER_MS : FAILED_MS;
    try {
      const end = await inTaskSpan(`round ${kind}`, { temporalWorkflowID: workflowId }, () =>
        inLogContext({ workflowId, activityType: 'takeRounds', attempt: 1, workspaceId }, () =>
          roundClaims.during(round, work, { isClaimed: true, pauseMs }),
        ),
      );
      count(end === 'hand over' ? 'handedOver' : 'done');
      if (end === 'hand over') waker.wake(workflowId, workspaceId, 'overdue');
    } catch (error) {
      count('failed');
      logger.warn({ error, workspaceId, workflowId }, 'a round failed; its workflow tries again');
      waker.wake(workflowId, workspaceId, 'overdue');
    } finally {
      release();
    }
  }

  async function turn(canceled: AbortSignal): Promise<void> {
    try {
      await poll(canceled);
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error }, 'due rounds cannot be looked for; trying again');
      isFailing = true;
    }
  }

  async function pollUntilOver(canceled: AbortSignal): Promise<PollingEnd> {
    const end = performance.now() + DAY_MS;
    using events = announcements.subscribe(() => true);
    while (!canceled.aborted && isServing() && performance.now() < end) {
      await turn(canceled);
      await events.next(POLL_MS);
    }
    // Rounds that are under way after a day go on in the next activity, which shows them.
    if (!canceled.aborted && isServing()) return { reason: 'a day is over', goesOn: true };
    await Promise.all(runs);
    const reason = canceled.aborted
      ? 'its process stops'
      : 'Temporal sends no tasks to the build of its process';
    return { reason, goesOn: false };
  }

  return {
    kinds: Object.keys(rounds),
    get isActive() {
      return active !== null;
    },
    async run(canceled) {
      const over = new AbortController();
      const inBackground = background(AbortSignal.any([canceled, stopping.signal, over.signal]));
      const polling = pollUntilOver(AbortSignal.any([canceled, stopping.signal])).finally(async () => {
        over.abort();
        await inBackground;
      });
      active = polling;
      try {
        return await polling;
      } finally {
        active = null;
      }
    },
    counts: () =>
      Object.fromEntries(
        [...ended].map(([kind, counts]) => [kind, { running: slots.running(kind), ...counts }]),
      ),
    async stop() {
      stopping.abort();
      await active;
      await Promise.all(runs);
    },
  };
}

/** @param roundPoller of the process whose task queue the activity is on. */
export function createRoundPollerActivities({ roundPoller }: { roundPoller: RoundPoller }) {
  return {
    /** Takes the rounds that are due until the process stops, or a day is over. Its heartbeats show how many. */
    takeRounds: (): Promise<PollingEnd> =>
      withHeartbeat(
        (canceled) => roundPoller.run(canceled),
        () => roundPoller.counts(),
      ),
  };
}
