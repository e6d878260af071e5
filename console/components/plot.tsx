import 'uplot/dist/uPlot.min.css';
import { t } from '@lingui/core/macro';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { useTimeZone } from '#console/api/workspace.ts';
import { numberOf } from '#console/lib/format.ts';
import { DATE_NAMES, dateTemplate } from '#console/lib/plot-dates.ts';
import { timeRange } from '#console/lib/plot-range.ts';
import { useIsDark } from '#console/lib/theme.ts';

export interface Series {
  label: string;
  values: readonly (number | null)[];
  /** The name of a color: `accent`, `good`, `warn`, `bad`, `info`, `muted`. */
  colour: string;
}

const HEIGHT = 220;
const FONT = "12px 'Inter Variable', system-ui, sans-serif";

interface Props {
  times: readonly string[];
  series: readonly Series[];
  summary: string;
  bars?: boolean;
}

/**
 * Values over time.
 * @param times ISO 8601, one per value.
 * @param summary describes the plot in a sentence, for screen readers.
 */
export default function Plot(props: Props) {
  // Drawn again in the other colors, which a canvas does not do by itself.
  return <Canvas key={String(useIsDark())} {...props} />;
}

function Canvas({ times, series, summary, bars = false }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const zone = useTimeZone();
  useEffect(() => {
    const container = element.current;
    if (!container) return;
    const colour = (name: string): string => resolved(container, name);
    const axis = {
      font: FONT,
      stroke: colour('muted'),
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
    };
    const seconds = times.map((time) => Date.parse(time) / 1000);
    const options: UPlot.Options = {
      width: container.clientWidth,
      height: HEIGHT,
      cursor: { y: false, points: { size: 6 } },
      legend: { live: true },
      fmtDate: (template) => UPlot.fmtDate(dateTemplate(template), DATE_NAMES),
      tzDate: (second) => UPlot.tzDate(new Date(second * 1000), zone),
      axes: [axis, { ...axis, size: 48, values: (_, values) => values.map((value) => numberOf(value)) }],
      scales: {
        x: { range: () => timeRange(seconds, bars) },
        y: { range: (_, __, highest) => [0, Math.max(1, highest * 1.05)] },
      },
      series: [
        { label: t`Time` },
        ...series.map(({ label, colour: name }) => ({
          label,
          stroke: colour(name),
          width: 2,
          value: (_: unknown, value: number | null, __: number, index: number | null) =>
            index === null ? '--' : value === null ? '' : numberOf(value),
          // A single value makes no line.
          points: { show: !bars && times.length === 1, size: 7 },
          ...(bars
            ? { fill: colour(name), paths: UPlot.paths.bars?.({ size: [0.6, 32], radius: 0.15 }) as never }
            : {}),
        })),
      ],
    };
    const data = [seconds, ...series.map(({ values }) => [...values])];
    const plot = new UPlot(options, data as UPlot.AlignedData, container);
    const observer = new ResizeObserver(() => plot.setSize({ width: container.clientWidth, height: HEIGHT }));
    observer.observe(container);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [times, series, bars, zone]);
  return (
    <figure>
      <div ref={element} className="plot" aria-hidden="true" />
      <figcaption className="sr-only">{summary}</figcaption>
    </figure>
  );
}

/** Resolves a color of the theme, because a canvas does not support CSS variables. */
function resolved(container: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--color-${name})`;
  container.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
