import { Counter, type Registry } from 'prom-client';

/** A counter with one label whose values are known. Each begins at 0: an increase is visible only if there was a value before. */
export function labeledCounter<Label extends string>(
  registers: Registry[],
  { name, help, label, values }: { name: string; help: string; label: Label; values: readonly string[] },
): Counter<Label> {
  const counter = new Counter<Label>({ name, help, labelNames: [label], registers });
  for (const value of values) counter.labels(value).inc(0);
  return counter;
}
