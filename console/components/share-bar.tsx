import type { ReactNode } from 'react';
import { numberOf, percentOf } from '#console/lib/format.ts';

/** A part of a whole, as a number, a share and a bar. @param of at least 1 */
export const ShareBar = ({
  label,
  count,
  of,
  colour,
  number = numberOf(count),
}: {
  label: string;
  count: number;
  of: number;
  colour: string;
  /** The count as it is shown. */
  number?: ReactNode;
}) => (
  <div>
    <div className="flex justify-between gap-2 text-xs">
      <span className="text-muted">{label}</span>
      <span className="shrink-0 tabular-nums">
        {number} <span className="text-muted">({percentOf(count / of)})</span>
      </span>
    </div>
    <div className="mt-1 h-1.5 overflow-hidden rounded-full bg-hover" aria-hidden="true">
      <div className={`h-full rounded-full ${colour}`} style={{ width: `${(count / of) * 100}%` }} />
    </div>
  </div>
);
