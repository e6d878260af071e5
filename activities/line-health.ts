import pLimit from 'p-limit';
import { notifyLineDown } from '#db/commands/lines/line-emails.ts';
import { carriersToProbe, linesToProbe, recordHealthy } from '#db/commands/lines/line-health.ts';
import { failureOf, type OnProbed, recordProbed } from '#db/commands/lines/probe-line.ts';
import { findLines, type LineRow } from '#db/queries/lines.ts';
import { systemDb, withTenant } from '#db/transactions.ts';
import { currentTime } from '#domain/clock.ts';
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
/** Lines that are read by one statement, and recorded by one if they are healthy. */
const LINES_PER_STATEMENT = 100;

export function createLineHealthActivities(dependencies: Dependencies) {
  const { pools, secrets, logger } = dependencies;

  const notifyIfDown: OnProbed = async (db, line, { wentDown }, now) => {
    if (wentDown) await notifyLineDown(db, line, mailSeal(secrets, line.workspaceId), now);
  };

  /** @returns whether the line is healthy and was not down, which the caller records together with others. */
  async function isHealthy(line: LineRow): Promise<boolean> {
    const failure = await failureOf(() => {
      const { carrier, config } = lineCarrier(dependencies, line);
      return carrier.probe(config, line.id);
    });
    if (failure === null && line.healthStatus !== 'down') return true;
    const probed = await recordProbed(pools, line, failure, notifyIfDown);
    if (probed?.wentDown || probed?.recovered)
      logger.warn({ lineId: line.id, status: probed.status }, 'the health of a line changed');
    return false;
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
        const isOver = (): boolean => canceled.aborted || Date.now() > end;
        const found = await linesToProbe(systemDb(pools), {
          carrier,
          seconds: PROBE_EVERY_SECONDS,
          limit: LINES_PER_TURN,
        });
        let probed = 0;
        const atOnce = pLimit(AT_ONCE);

        async function probeOf(workspaceId: string, lineIds: readonly string[]): Promise<void> {
          const lines = await withTenant(pools, workspaceId, (db) => findLines(db, lineIds));
          const healthy: string[] = [];
          const probe = async (line: LineRow): Promise<void> => {
            if (isOver()) return;
            if (await isHealthy(line)) healthy.push(line.id);
            probed += 1;
          };
          await pLimit(AT_ONCE_PER_WORKSPACE).map(lines, (line) =>
            atOnce(probe, line).catch((error: unknown) =>
              logger.error({ error }, 'a probe failed unexpectedly'),
            ),
          );
          if (healthy.length > 0)
            await withTenant(pools, workspaceId, (db) => recordHealthy(db, healthy, currentTime()));
        }

        await Promise.all(
          [...Map.groupBy(found, ({ workspaceId }) => workspaceId)].map(async ([workspaceId, lines]) => {
            const ids = lines.map(({ id }) => id);
            for (let from = 0; from < ids.length && !isOver(); from += LINES_PER_STATEMENT)
              await probeOf(workspaceId, ids.slice(from, from + LINES_PER_STATEMENT)).catch(
                (error: unknown) => logger.error({ workspaceId, error }, 'lines cannot be probed'),
              );
          }),
        );
        return probed;
      });
    },
  };
}
