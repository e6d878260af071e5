import type { ApiPools } from '#db/connection/pools.ts';
import { type CallbackLine, findCallbackLines } from '#db/queries/lines/callback-lines.ts';
import { lookUp } from '#db/queries/accounts/lookups.ts';
import { withAuth } from '#db/connection/transactions.ts';
import { createBatches } from '#domain/base/batches.ts';

const MIN_CONCURRENT_SIZE = 16;

/** Looks up the lines of simultaneous callbacks together, grouped by the client's address; what that saves is told at `Receipts`. */
export interface CallbackLines {
  /** @returns null if there is no such line. @throws Busy, NodeUnavailable */
  find(client: string, lineId: string): Promise<CallbackLine | null>;
}

interface Asked {
  lineId: string;
  found: CallbackLine | null;
}

export function createCallbackLines(pools: ApiPools): CallbackLines {
  const lookups = createBatches<Asked>(
    async (client, asked) => {
      const lineIds = asked.map(({ lineId }) => lineId);
      const found = await withAuth(pools, client, `callbacks ${lineIds.join()}`, (db) =>
        findCallbackLines(db, lineIds),
      );
      for (const one of asked) one.found = found.get(one.lineId) ?? null;
    },
    { minConcurrentSize: MIN_CONCURRENT_SIZE },
  );
  async function checkNode(client: string, lineId: string): Promise<void> {
    const workspaceId = await withAuth(pools, client, `workspace of line ${lineId}`, (db) =>
      lookUp(db, 'line', lineId),
    );
    if (workspaceId !== null) await pools.nodes.check(workspaceId);
  }
  return {
    async find(client, lineId) {
      // Lines of other nodes would wait for it in the same query.
      if (!pools.nodes.areAllAvailable) await checkNode(client, lineId);
      const asked: Asked = { lineId, found: null };
      await lookups.add(client, asked);
      return asked.found;
    },
  };
}
