import type { Logger } from 'pino';
import type { CarrierRegistry } from '#providers/carriers/registry.ts';

const EVERY_MS = 60_000;

/**
 * Probes the operator's accounts in which numbers are bought, also before a line uses them: at the start and each minute. Logs each
 * change; the metrics of calls to carriers count the probes.
 */
export function watchAccounts(carriers: CarrierRegistry, logger: Logger): { stop(): void } {
  const failures = new Map<string, string | null>();
  async function check(name: string): Promise<void> {
    const carrier = carriers.get(name);
    const failure = await carrier.probe(carrier.config.parse({}), '').then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (failure === (failures.get(name) ?? null)) return;
    failures.set(name, failure);
    if (failure === null) logger.info({ carrier: name }, 'the account for new lines works again');
    else logger.error({ carrier: name, failure }, 'the account for new lines does not work');
  }
  const names = carriers.names.filter((name) => carriers.get(name).provisioning?.release);
  const checkAll = (): void => void Promise.all(names.map(check));
  checkAll();
  const timer = setInterval(checkAll, EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}
