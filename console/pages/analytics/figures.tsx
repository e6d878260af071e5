import { useLingui } from '@lingui/react/macro';
import { Skeleton } from '#console/components/states.tsx';
import { METRICS, type MetricName, type Metrics, shownValue } from './metrics.ts';

/** All metrics of the period. One of them is plotted. */
export function Figures({
  metrics,
  selected,
  onSelect,
}: {
  metrics: Metrics | undefined;
  selected: MetricName;
  onSelect: (name: MetricName) => void;
}) {
  const { t } = useLingui();
  return (
    <div role="group" aria-label={t`Metrics`} className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      {METRICS.map(({ name, label }) => (
        <button
          key={name}
          type="button"
          aria-pressed={selected === name}
          onClick={() => onSelect(name)}
          className="rounded-xl border border-line bg-surface px-4 py-3 text-left shadow-card hover:bg-hover aria-pressed:border-accent aria-pressed:bg-selected"
        >
          <span className="block text-muted">{t(label)}</span>
          {metrics ? (
            <span className="mt-0.5 block text-xl font-semibold tracking-tight tabular-nums">
              {shownValue(name, metrics[name])}
            </span>
          ) : (
            <Skeleton className="mt-1.5 h-6 w-16" />
          )}
        </button>
      ))}
    </div>
  );
}
