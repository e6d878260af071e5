import type { Prometheus } from './prometheus.ts';

const STEP_SECONDS = 5;

/** A fault, and when it happened. */
export interface Period {
  name: string;
  from: Date;
  to: Date;
}

export interface Alert {
  name: string;
  /** What happened when it began to fire. */
  during: string;
  at: Date;
  seconds: number;
}

/** The alerts that fired, from what Prometheus recorded while it evaluated the rules of `deploy/`. */
export async function firedAlerts(
  prometheus: Prometheus,
  periods: readonly Period[],
  from: Date,
): Promise<Alert[]> {
  const series = await prometheus.query('ALERTS{alertstate="firing"}', from, new Date(), STEP_SECONDS);
  return series.map(({ labels, values }) => {
    const at = new Date((values[0]?.[0] ?? 0) * 1000);
    const period = periods.findLast((one) => one.from <= at);
    const isOver = period !== undefined && period.to < at;
    return {
      name: labels['alertname'] ?? '',
      during: `${isOver ? 'after ' : ''}${period?.name ?? 'the start'}`,
      at,
      seconds: values.length * STEP_SECONDS,
    };
  });
}
