import {
  type PhonePlace,
  type QuietPolicy,
  type WakingHours,
  wakingHours,
} from '#domain/sending/quiet-hours.ts';
import type { SendWindow } from '#domain/sending/send-window.ts';
import type { LeadPlace } from './plan.ts';
import { sendTimes } from './send-times.ts';

/** With more places, leads in the rarer ones are counted in the others. */
export const MAX_PLACES = 8;

/**
 * Groups the leads of a campaign by the hours in which they may be sent messages.
 * @param of.places how many leads are in which place; none: all are in the workspace's zone.
 */
export function leadPlacesOf(
  of: {
    quiet: QuietPolicy;
    campaignId: string | null;
    window: SendWindow | undefined;
    places: readonly (PhonePlace & { count: number })[];
  },
  timezone: string,
): LeadPlace[] {
  const { quiet: policy, campaignId, window, places } = of;
  const groups = new Map<string, { share: number; quiet: WakingHours | undefined }>();
  for (const { count, ...place } of places.length > 0 ? places : [{ zones: null, region: null, count: 1 }]) {
    const quiet = wakingHours(policy, { kind: 'campaign', campaignId, ...place }, timezone);
    const key = JSON.stringify(quiet ?? null);
    const known = groups.get(key);
    groups.set(key, { share: (known?.share ?? 0) + count, quiet });
  }
  return [...groups.values()]
    .toSorted((a, b) => b.share - a.share)
    .slice(0, MAX_PLACES)
    .map(({ share, quiet }) => ({ share, times: sendTimes({ window, quiet }, timezone) }));
}
