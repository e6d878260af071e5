import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';

const TEMPORAL_TIMEOUT_MS = 2000;

/** A readiness check: throws if what it checks does not work. */
type Check = () => Promise<unknown>;

export interface Readiness {
  ready: boolean;
  /** The body of the response to `/readyz`. */
  body: {
    status: 'ready' | 'not ready';
    checks: Record<string, 'ok' | 'failed'>;
    /** Nobody owns a workspace yet. */
    setup?: 'needed';
  };
}

/** Runs all checks concurrently and logs the failed ones. */
export async function checkReadiness(checks: Record<string, Check>, logger: Logger): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await check();
        return [name, 'ok'] as const;
      } catch (error) {
        logger.warn({ check: name, error }, 'not ready');
        return [name, 'failed'] as const;
      }
    }),
  );
  const ready = results.every(([, result]) => result === 'ok');
  return { ready, body: { status: ready ? 'ready' : 'not ready', checks: Object.fromEntries(results) } };
}

/** @throws if Temporal does not respond in time. */
export const checkTemporal = (temporal: Client['connection']): Promise<unknown> =>
  temporal.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, () => temporal.workflowService.getSystemInfo({}));
