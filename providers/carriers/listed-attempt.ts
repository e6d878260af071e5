import { mapInTurns } from '#domain/base/turns.ts';
import { searchListing } from '#domain/sending/carrier-listing.ts';
import type { AttemptReference, CarrierEvent, ReconcileOutcome } from './carrier.ts';

/** For clock differences. */
export const CLOCK_SKEW_MS = 10 * 60_000;
/** How long after its start a request without a response may still reach the provider or appear in its list. */
const SETTLE_MS = 180_000;

/** A message of a provider's list. */
interface Listed {
  id: string;
  text: string;
  /** What has become of it. */
  reports: readonly CarrierEvent[];
}

/** Finds an attempt in a provider's list, which shows no reference of ours, by its text. */
export async function findListedAttempt<T>(
  { messages, isComplete }: { messages: readonly T[]; isComplete: boolean },
  listedOf: (message: T) => Listed,
  attempt: AttemptReference,
  now: Date,
): Promise<ReconcileOutcome> {
  const result = await searchListing(
    { messages: await mapInTurns(messages, listedOf), isComplete },
    {
      text: attempt.text,
      takenIds: attempt.takenIds,
      isRecordLost: attempt.startedBy > attempt.startedAt,
      isSettled: now.getTime() - attempt.startedBy.getTime() >= SETTLE_MS,
    },
  );
  if (result.kind !== 'found') return result;
  const { id: carrierMessageId, reports } = result.message;
  return { kind: 'accepted', carrierMessageId, ...(reports.length > 0 && { reports }) };
}
