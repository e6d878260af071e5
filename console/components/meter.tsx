import { Trans } from '@lingui/react/macro';
import { numberOf } from '#console/lib/format.ts';
import { classes } from './class-names.ts';

/** The used part of a limit, as a number and a bar. */
export function Meter({ label, used, limit }: { label: string; used: number; limit: number }) {
  const [usedText, limitText] = [numberOf(used), numberOf(limit)];
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  return (
    <div className="min-w-0">
      <div className="flex flex-wrap justify-between gap-x-2 text-xs">
        <span className="text-muted">{label}</span>
        <span className="whitespace-nowrap tabular-nums">
          <Trans>
            {usedText} <span className="text-muted">of {limitText}</span>
          </Trans>
        </span>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuenow={used}
        aria-valuemin={0}
        aria-valuemax={Math.max(used, limit)}
        className="mt-1 h-1.5 overflow-hidden rounded-full bg-hover"
      >
        <div
          className={classes('h-full rounded-full', share >= 1 ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${share * 100}%` }}
        />
      </div>
    </div>
  );
}
