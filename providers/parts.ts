import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { cachedCheck, type Check } from './readiness.ts';

const EVERY_MS = 60_000;

/** An outside part without which a process still does most of its work. */
export interface Part {
  /** Begins a log entry: `the file store`. */
  title: string;
  /** @throws if it does not work */
  check: Check;
}

export interface WatchedParts {
  /** For `/readyz`: their last results count for a while. */
  checks: Readonly<Record<string, Check>>;
  stop(): void;
}

/**
 * Checks the parts at the start and each minute, logs each change, and sets `linepace_part_up`. The process starts without those that
 * do not work.
 * @param parts by name; null: it is not configured.
 */
export function watchParts(
  parts: Readonly<Record<string, Part | null>>,
  { registry, logger }: { registry: Registry; logger: Logger },
): WatchedParts {
  const isUp = new Gauge({
    name: 'linepace_part_up',
    help: 'Whether an outside part that is configured works: 1 or 0',
    labelNames: ['part'] as const,
    registers: [registry],
  });
  const configured = Object.entries(parts).flatMap(([name, part]) => (part ? [{ name, ...part }] : []));
  const checks = Object.fromEntries(
    configured.map(({ name, title, check }) => {
      const cached = cachedCheck(check);
      let last = '';
      const record = (error: unknown): void => {
        isUp.set({ part: name }, error === null ? 1 : 0);
        const failure = error === null ? '' : error instanceof Error ? error.message : 'unknown';
        if (failure === last) return;
        last = failure;
        if (error === null) logger.info({ part: name }, `${title} works again`);
        else logger.error({ part: name, error }, `${title} does not work`);
      };
      const observed = async (): Promise<void> => {
        try {
          await cached();
          record(null);
        } catch (error) {
          record(error);
          throw error;
        }
      };
      return [name, observed];
    }),
  );
  const checkAll = (): void => {
    // Recorded, and nothing else depends on it.
    for (const check of Object.values(checks)) check().catch(() => {});
  };
  checkAll();
  const timer = setInterval(checkAll, EVERY_MS).unref();
  return { checks, stop: () => clearInterval(timer) };
}
