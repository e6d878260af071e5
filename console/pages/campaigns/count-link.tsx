import { Link } from '@tanstack/react-router';
import { numberOf } from '#console/lib/format.ts';
import type { Search } from '#console/lib/search.ts';
import type { Counted } from './lead-names.ts';

/** Which leads of a campaign a number counts. */
export type WhichLeads =
  | { state: 'running' | 'finished' | 'stopped' }
  | { stepIndex: number; counted: Counted; variant?: string };

/** A number that opens the leads that it counts. */
export function CountLink({ count, of }: { count: number; of: WhichLeads }) {
  if (count === 0) return numberOf(count);
  const search: Search =
    'state' in of
      ? { part: 'leads', state: of.state }
      : { part: 'leads', step: String(of.stepIndex), counted: of.counted, variant: of.variant ?? '' };
  return (
    <Link
      to="."
      search={search as never}
      className="rounded underline decoration-dotted underline-offset-3 hover:decoration-solid"
    >
      {numberOf(count)}
    </Link>
  );
}
