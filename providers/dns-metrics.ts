import type { Counter, Registry } from 'prom-client';
import { labeledCounter } from './labeled-counter.ts';

/** Counts lookups of the names of tenants' servers, in API and worker processes. */
export const dnsLookups = (registers: Registry[]): Counter<'result'> =>
  labeledCounter(registers, {
    name: 'linepace_dns_lookups_total',
    help: 'Lookups of the names of servers of customers: answered, also that there is no such name, or failed',
    label: 'result',
    values: ['answered', 'failed'],
  });
