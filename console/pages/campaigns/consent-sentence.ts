import { plural, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { numberOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';

export type Coverage = ResponseOf<'GET /api/lists/{id}/consent'>;

const LOW_SHARE = 0.8;

const askedOf = ({ granted, revoked, unknown }: Coverage): number => granted + revoked + unknown;

/** Whether so few leads have consented that one should think about it before sending to the others. */
export const isLow = (coverage: Coverage): boolean => coverage.granted < LOW_SHARE * askedOf(coverage);

/** What the leads of a list have consented to, and what that means for the campaign. */
export function sentenceOf(coverage: Coverage, requireConsent: boolean): string {
  const { channel, granted } = coverage;
  const asked = askedOf(coverage);
  const without = asked - granted;
  const known = numberOf(granted);
  const all = numberOf(asked);
  const channelName = CHANNELS[channel];
  if (without === 0) return t`${known} of ${all} leads have consented to ${channelName}.`;
  return requireConsent
    ? t`${known} of ${all} leads have consented to ${channelName}; ${plural(without, {
        one: 'the other one will be skipped.',
        other: 'the other # will be skipped.',
      })}`
    : t`${known} of ${all} leads have consented to ${channelName}; ${plural(without, {
        one: 'the other one gets messages, too, unless you require consent.',
        other: 'the other # get messages, too, unless you require consent.',
      })}`;
}
