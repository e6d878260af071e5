import { useTimeZone } from '#console/api/workspace.ts';
import { fullTimeOf, shortTimeOf } from '#console/lib/format.ts';

/** A short time for lists, with the full time as its tooltip. */
export function ShortTime({ at }: { at: string }) {
  const zone = useTimeZone();
  return (
    <time dateTime={at} title={fullTimeOf(at, zone)} className="text-muted">
      {shortTimeOf(at, zone)}
    </time>
  );
}
