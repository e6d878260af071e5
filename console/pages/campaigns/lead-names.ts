import { t } from '@lingui/core/macro';
import { dateOf, timeOf } from '#console/lib/format.ts';
import { reasonName } from '#console/lib/wait-names.ts';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';

export type CampaignLead = ResponseOf<'GET /api/campaigns/{id}/leads'>['leads'][number];

/** A number of the funnel, of the leads that it counts. */
export type Counted = NonNullable<
  NonNullable<RequestTo<'GET /api/campaigns/{id}/leads'>['query']>['counted']
>;

/** What a number of the funnel counts; undefined: it is no such number. */
export const countName = (counted: string): string | undefined =>
  (
    {
      reached: t`Leads that reached it`,
      sent: t({ message: 'Sent', context: 'number of messages' }),
      delivered: t({ message: 'Delivered', context: 'number of messages' }),
      read: t({ message: 'Read', context: 'number of messages' }),
      failed: t({ message: 'Failed', context: 'number of messages' }),
      waiting: t`Waiting`,
      upcoming: t`At an earlier step`,
      skipped: t`Not sent`,
      replied: t`Replies`,
      optedOut: t`Opt-outs`,
    } satisfies Record<Counted, string> as Record<string, string>
  )[counted];

/** Why a lead was stopped. */
export const stopReasonName = (reason: string): string =>
  ({
    reply: t`Replied`,
    opt_out: t`Opted out`,
    suppressed: t`Suppressed by the agency`,
    failed: t`Could not be reached`,
    no_address: t`Has no address for any step`,
    no_consent: t`Has not consented`,
    removed: t`Removed`,
    stop_condition: t`A condition to stop holds`,
  })[reason] ?? reason;

/** Why the next message of a lead is not sent yet, and until when. */
export function waitText({ reason, until }: NonNullable<CampaignLead['waitingFor']>, zone: string): string {
  const name = reasonName(reason);
  return until === null ? name : `${name} ${untilText(`${dateOf(until, zone)}, ${timeOf(until, zone)}`)}`;
}

export const untilText = (until: string): string => t`until ${until}`;

/** Why a lead is paused. */
export function pauseReasonName(reason: CampaignLead['pauseReason']): string {
  if (reason === 'reply') return t`Paused: it replied`;
  return reason === 'out_of_office' ? t`Paused: away` : t`Paused`;
}
