import type { DueRound } from '#db/queries/operations/due-rounds.ts';
import { takeFairly } from '#domain/base/fair-batch.ts';

/** How many rounds of each kind this process runs, and for which workspaces. A workspace gets at most half of the slots of a kind. */
export interface RoundSlots {
  /** The kinds that have free slots, with their number. */
  free(): Map<string, number>;
  /** The shares that workspaces have used up: a kind, a space and a workspace. */
  full(): string[];
  /** The rounds that fit into free slots, the workspaces in turn. */
  fitting(due: readonly DueRound[], free: ReadonlyMap<string, number>): DueRound[];
  /** @returns gives the slot back. */
  take(round: DueRound): () => void;
  running(kind: string): number;
}

/** @param sizes by kind. */
export function createRoundSlots(sizes: ReadonlyMap<string, number>): RoundSlots {
  /** By kind and workspace. */
  const taken = new Map<string, Map<string, number>>([...sizes.keys()].map((kind) => [kind, new Map()]));
  const of = (kind: string, workspaceId: string): number => taken.get(kind)?.get(workspaceId) ?? 0;
  const running = (kind: string): number =>
    [...(taken.get(kind)?.values() ?? [])].reduce((total, count) => total + count, 0);
  const shareOf = (kind: string): number => Math.ceil((sizes.get(kind) ?? 0) / 2);

  return {
    running,
    free: () =>
      new Map(
        [...sizes].flatMap(([kind, size]) => {
          const busy = running(kind);
          return size > busy ? [[kind, size - busy]] : [];
        }),
      ),
    full: () =>
      [...taken].flatMap(([kind, counts]) =>
        [...counts].flatMap(([workspaceId, count]) =>
          count >= shareOf(kind) ? [`${kind} ${workspaceId}`] : [],
        ),
      ),
    fitting(due, free) {
      const ofKinds = Map.groupBy(due, ({ workflowId }) => kindOf(workflowId));
      return [...ofKinds].flatMap(([kind, ofKind]) => {
        const ofWorkspaces = Map.groupBy(ofKind, ({ workspaceId }) => workspaceId);
        const queues = [...ofWorkspaces].map(([workspaceId, queue]): [string, DueRound[]] => [
          workspaceId,
          queue.slice(0, Math.max(0, shareOf(kind) - of(kind, workspaceId))),
        ]);
        return takeFairly(new Map(queues), free.get(kind) ?? 0);
      });
    },
    take({ workflowId, workspaceId }) {
      const kind = kindOf(workflowId);
      const counts = taken.get(kind) ?? new Map<string, number>();
      counts.set(workspaceId, of(kind, workspaceId) + 1);
      return () => {
        const left = of(kind, workspaceId) - 1;
        if (left > 0) counts.set(workspaceId, left);
        else counts.delete(workspaceId);
      };
    },
  };
}

/** The first part of a workflow's id. */
export const kindOf = (workflowId: string): string => workflowId.slice(0, workflowId.indexOf(':'));
