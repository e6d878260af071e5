import { Counter, type Registry } from 'prom-client';

/** Counts what the file store has failed to do, in API and worker processes. */
export function storageFailures(registers: Registry[]): Counter<'operation'> {
  const counter = new Counter({
    name: 'linepace_storage_failures_total',
    help: 'Operations that the file store refused or did not complete in time',
    labelNames: ['operation'] as const,
    registers,
  });
  // An increase is visible only if there was a value before.
  for (const operation of ['put', 'open', 'delete']) counter.inc({ operation }, 0);
  return counter;
}
