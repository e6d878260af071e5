const at = (share: number): string => `${share * 100}%`;

/**
 * Where a share is, and where it may be, on a scale from 0 to `most`. Only for the eye: write the numbers beside it.
 * @param most above 0.
 */
export const Range = ({
  share,
  low,
  high,
  most,
}: {
  share: number;
  low: number;
  high: number;
  most: number;
}) => (
  <div aria-hidden="true" className="relative h-3 rounded-full bg-hover">
    <div
      className="absolute inset-y-0.5 rounded-full bg-accent opacity-45"
      style={{ left: at(low / most), width: at((high - low) / most) }}
    />
    <div
      className="absolute inset-y-0 w-1 -translate-x-1/2 rounded-full bg-accent-ink"
      style={{ left: at(share / most) }}
    />
  </div>
);
