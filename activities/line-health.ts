import { notifyLineDown } from '#db/commands/lines/line-down.ts';
import { linesToProbe } from '#db/commands/lines/line-health.ts';
import { systemDb } from '#db/pool.ts';
import { probeLine } from '#db/commands/lines/probe-line.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { mailSenderId } from '#workflows/messages/wake.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** A line is probed this often; one that failed, at every turn of the schedule. */
const PROBE_EVERY_SECONDS = 55;
const AT_ONCE = 20;
const LINES_PER_TURN = 5000;

export function createLineHealthActivities(dependencies: Dependencies) {
  const { pools, secrets, waker, logger } = dependencies;

  async function probe({ workspaceId, id }: { workspaceId: string; id: string }): Promise<void> {
    let mail = false;
    const probed = await probeLine(
      pools,
      { workspaceId, lineId: id },
      (line) => {
        const { carrier, config } = lineCarrier(dependencies, line);
        return carrier.probe(config, line.id);
      },
      async (db, line, { wentDown }, now) => {
        if (wentDown) mail = (await notifyLineDown(db, line, mailSeal(secrets, workspaceId), now)).wake;
      },
    );
    if (mail) waker.wake(mailSenderId(workspaceId), workspaceId);
    for (const pacer of probed?.wakes ?? []) waker.wake(pacer, workspaceId);
    if (probed?.wentDown || probed?.recovered)
      logger.warn({ lineId: id, status: probed.status }, 'a line changed its health');
  }

  return {
    /** Probes active lines, those first whose last probe is the longest ago. @returns how many. */
    async probeLines(): Promise<number> {
      return withHeartbeat(async (canceled) => {
        const queue = await linesToProbe(systemDb(pools), {
          seconds: PROBE_EVERY_SECONDS,
          limit: LINES_PER_TURN,
        });
        const total = queue.length;
        await Promise.all(
          Array.from({ length: AT_ONCE }, async () => {
            for (let line = queue.shift(); line && !canceled.aborted; line = queue.shift()) {
              await probe(line).catch((error: unknown) =>
                logger.error({ error }, 'a probe could not be made'),
              );
            }
          }),
        );
        return total - queue.length;
      });
    },
  };
}
