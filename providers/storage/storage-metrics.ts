import type { Counter, Registry } from 'prom-client';
import { labeledCounter } from '../labeled-counter.ts';

/** Counts what the file store has failed to do, in API and worker processes. */
export const storageFailures = (registers: Registry[]): Counter<'operation'> =>
  labeledCounter(registers, {
    name: 'linepace_storage_failures_total',
    help: 'Operations that the file store refused or did not complete in time',
    label: 'operation',
    values: ['put', 'open', 'delete'],
  });
