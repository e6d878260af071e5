import { neededLines, type WorkspaceLineRef } from '#db/queries/messages/intake.ts';
import type { ApiPools } from '#db/connection/pools.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';

type Lines = readonly WorkspaceLineRef[];

/**
 * One selectable line of each channel, by caller. Cached as long as the caller (`CallerCache`): for a second, unless
 * a change of a line drops the caller earlier (`notify_credentials`). Whether a line is still usable is checked again when it is
 * chosen.
 */
export interface CallerLines {
  /** @returns the lines by workspace. */
  find(callers: ReadonlySet<WorkspaceCaller>): Promise<ReadonlyMap<string, Lines>>;
}

export function createCallerLines({ intake }: Pick<ApiPools, 'intake'>): CallerLines {
  const known = new WeakMap<WorkspaceCaller, Lines>();

  return {
    async find(callers) {
      const unknown = [...callers].filter((caller) => !known.has(caller));
      if (unknown.length > 0) {
        const workspaceIds = [...new Set(unknown.map(({ workspace }) => workspace.id))];
        const lines = await neededLines(intake, workspaceIds, []);
        for (const caller of unknown) known.set(caller, lines.get(caller.workspace.id) ?? []);
      }
      return new Map([...callers].map((caller) => [caller.workspace.id, known.get(caller) ?? []]));
    },
  };
}
