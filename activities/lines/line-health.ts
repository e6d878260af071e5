import pLimit from 'p-limit';
import { recordReporting } from '#db/commands/lines/inbox-health.ts';
import { notifyLineDown } from '#db/commands/lines/line-emails.ts';
import { failureOf, type OnProbed, recordProbed } from '#db/commands/lines/probe-line.ts';
import {
  findProbedLines,
  type HealthyLine,
  linesToProbe,
  probedCarriers,
  type ProbedLine,
  recordHealthy,
} from '#db/queries/lines/line-probes.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { takeFairly } from '#domain/base/fair-batch.ts';
import { createFairQueue } from '#domain/base/fair-queue.ts';
import { areProbesDue, isReportingDue, probePeriods } from '#domain/lines/line-health.ts';
import { reportingCheck } from '#providers/carriers/connection-checks.ts';
import { callbackAddress, lineCarrier } from '#providers/carriers/line-carrier.ts';
import { SecretBoxError } from '#providers/secret-box.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';

/** Enough for 100,000 lines within five minutes: 20,000 per round, at half a second each. */
const AT_ONCE = 256;
/** Results that say more than that a line is healthy are committed one by one. */
const RECORDED_AT_ONCE = 10;
const ROUND_MS = 45_000;
/** More than can be probed in a round. The next round starts with the rest. */
const LINES_PER_ROUND = 40_000;
/** Lines that are read by one statement, or recorded as healthy. */
const LINES_PER_STATEMENT = 500;

export function createLineHealthActivities(dependencies: Dependencies) {
  const { pools, secrets, logger, publicUrl } = dependencies;

  const notifyIfDown: OnProbed = async (db, line, { wentDown, wasBlocked, failure }, now) => {
    if (wentDown && !wasBlocked)
      await notifyLineDown(db, line, failure, mailSeal(secrets, line.workspaceId), now);
  };

  /** Settings that cannot be decrypted say something about the keys of this process, not about the line. */
  function canProbe(line: ProbedLine): boolean {
    try {
      lineCarrier(dependencies, line);
      return true;
    } catch (error) {
      if (!(error instanceof SecretBoxError)) return true;
      logger.error({ lineId: line.id, error }, 'the settings of a line cannot be decrypted');
      return false;
    }
  }

  /** Asks each account once that several lines share. */
  function prober(): (line: ProbedLine) => Promise<string | null> {
    const accounts = new Map<string, Promise<string | null>>();
    return (line) =>
      failureOf(async () => {
        const { carrier, config } = lineCarrier(dependencies, line);
        const address = line.phone ?? line.email;
        const account = carrier.account?.(config, address);
        if (account === undefined) return carrier.probe(config, line.id, address);
        const key = JSON.stringify([carrier.name, account]);
        const asked = accounts.get(key) ?? failureOf(() => carrier.probe(config, line.id, address));
        accounts.set(key, asked);
        const failure = await asked;
        if (failure !== null) throw new Error(failure);
      });
  }

  /** Asks the carrier whether it still reports replies to the line. */
  async function checkReporting({ id, workspaceId, ...line }: ProbedLine): Promise<void> {
    try {
      const { carrier, config } = lineCarrier(dependencies, { ...line, id, workspaceId });
      const callbackUrl = callbackAddress(publicUrl, carrier, id);
      const subject = { lineId: id, address: line.phone ?? line.email, callbackUrl };
      const check = await reportingCheck(carrier, config, subject);
      if (check === null) return;
      const failure = check.result === 'fail' ? check.text : null;
      const how = { seal: mailSeal(secrets, workspaceId), now: currentTime() };
      const hasChanged = await withTenant(pools, workspaceId, (db) =>
        recordReporting(db, { ...line, id }, failure, how),
      );
      if (hasChanged) logger.warn({ lineId: id, result: check.result }, 'the reporting of replies changed');
    } catch (error) {
      logger.error({ lineId: id, error }, 'the reporting of replies could not be checked');
    }
  }

  async function recordOne({ id, workspaceId }: ProbedLine, failure: string | null): Promise<void> {
    try {
      const line = await withTenant(pools, workspaceId, (db) => findLine(db, id));
      const probed = line && (await recordProbed(pools, line, failure, notifyIfDown));
      if (probed?.wentDown || probed?.recovered)
        logger.warn({ lineId: id, status: probed.status, reason: failure }, 'the health of a line changed');
    } catch (error) {
      logger.error({ lineId: id, error }, 'a probe could not be recorded');
    }
  }

  return {
    /** The carriers whose lines are due for a probe. */
    async carriersToProbe(): Promise<string[]> {
      const carriers = await probedCarriers(systemDb(pools));
      return carriers.filter(areProbesDue).map(({ carrier }) => carrier);
    },

    /**
     * Probes active lines of a carrier, those probed longest ago first, taking the workspaces in turn. The next round
     * starts with the remaining lines.
     * @returns the number of lines that were probed, or need no probe because the carrier has just accepted a message.
     */
    async probeLines({ carrier }: { carrier: string }): Promise<number> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        const isOver = (): boolean => canceled.aborted || Date.now() > end;
        const db = systemDb(pools);
        const counts = await probedCarriers(db);
        const count = counts.reduce((sum, of) => sum + (of.carrier === carrier ? of.lines : 0), 0);
        const lines = takeFairly(await linesToProbe(db, carrier, probePeriods(count)), LINES_PER_ROUND);

        let probed = 0;
        let healthy: (HealthyLine & ProbedLine)[] = [];
        const failureOfProbe = prober();
        const turns = createFairQueue({ size: AT_ONCE, share: AT_ONCE / 2, maxWaiting: Infinity });
        const oneByOne = pLimit(RECORDED_AT_ONCE);
        const probes: Promise<void>[] = [];
        const batches: Promise<void>[] = [];
        const results: Promise<void>[] = [];

        function note(line: ProbedLine, at: Date): void {
          probed += 1;
          healthy.push({ ...line, at });
          if (healthy.length >= LINES_PER_STATEMENT) batches.push(recordTogether());
        }
        async function recordTogether(): Promise<void> {
          const batch = healthy;
          healthy = [];
          try {
            const recorded = await recordHealthy(db, batch);
            for (const line of batch)
              if (!recorded.has(line.id)) results.push(oneByOne(recordOne, line, null));
          } catch (error) {
            logger.error({ lines: batch.length, error }, 'probes could not be recorded');
          }
        }
        async function probe(line: ProbedLine): Promise<void> {
          if (isOver()) return;
          if (!canProbe(line)) return;
          const failure = line.acceptedAt ? null : await failureOfProbe(line);
          if (failure === null && isReportingDue(line, currentTime())) await checkReporting(line);
          if (failure === null && line.healthStatus !== 'down')
            return note(line, line.acceptedAt ?? currentTime());
          probed += 1;
          results.push(oneByOne(recordOne, line, failure));
        }

        for (let from = 0; from < lines.length && !isOver(); from += LINES_PER_STATEMENT) {
          for (const line of await findProbedLines(db, lines.slice(from, from + LINES_PER_STATEMENT))) {
            if (line.acceptedAt && !isReportingDue(line, currentTime())) note(line, line.acceptedAt);
            else probes.push(turns.run(line.workspaceId, () => probe(line)));
          }
        }
        await Promise.all(probes);
        if (healthy.length > 0) batches.push(recordTogether());
        await Promise.all(batches);
        await Promise.all(results);
        return probed;
      });
    },
  };
}
