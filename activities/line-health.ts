import pLimit from 'p-limit';
import { notifyLineDown } from '#db/commands/lines/line-down.ts';
import { carriersToProbe, linesToProbe } from '#db/commands/lines/line-health.ts';
import { systemDb } from '#db/transactions.ts';
import { probeLine } from '#db/commands/lines/probe-line.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** How often a line is probed. A line whose probe failed is probed at every turn of the schedule. */
const PROBE_EVERY_SECONDS = 55;
const AT_ONCE = 20;
/** A limit per workspace, so that lines whose carrier hangs leave room for others. */
const AT_ONCE_PER_WORKSPACE = 5;
const ROUND_MS = 45_000;
const LINES_PER_TURN = 5000;

export function createLineHealthActivities(dependencies: Dependencies) {
  const { pools, secrets, logger } = dependencies;

  async function probe({ workspaceId, id }: { workspaceId: string; id: string }): Promise<void> {
    const probed = await probeLine(
      pools,
      { workspaceId, lineId: id },
      (line) => {
        const { carrier, config } = lineCarrier(dependencies, line);
        return carrier.probe(config, line.id);
      },
      async (db, line, { wentDown }, now) => {
        if (wentDown) await notifyLineDown(db, line, mailSeal(secrets, workspaceId), now);
      },
    );
    if (probed?.wentDown || probed?.recovered)
      logger.warn({ lineId: id, status: probed.status }, 'the health of a line changed');
  }

  return {
    /** The carriers that have lines to probe. */
    async carriersToProbe(): Promise<string[]> {
      return carriersToProbe(systemDb(pools), PROBE_EVERY_SECONDS);
    },

    /**
     * Probes active lines of a carrier, the longest unprobed first. The next round starts with those that are left.
     * @param input.carrier undefined: lines of all carriers.
     * @returns the number of probed lines.
     */
    async probeLines({ carrier }: { carrier?: string } = {}): Promise<number> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        const lines = await linesToProbe(systemDb(pools), {
          carrier,
          seconds: PROBE_EVERY_SECONDS,
          limit: LINES_PER_TURN,
        });
        let probed = 0;
        const atOnce = pLimit(AT_ONCE);
        const tryOne = async (line: { workspaceId: string; id: string }): Promise<void> => {
          if (canceled.aborted || Date.now() > end) return;
          await probe(line).catch((error: unknown) => logger.error({ error }, 'a probe failed unexpectedly'));
          probed += 1;
        };
        await Promise.all(
          [...Map.groupBy(lines, ({ workspaceId }) => workspaceId).values()].map((own) =>
            pLimit(AT_ONCE_PER_WORKSPACE).map(own, (line) => atOnce(tryOne, line)),
          ),
        );
        return probed;
      });
    },
  };
}
