import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { dateOf, numberOf, percentOf } from '#console/lib/format.ts';

type Counts = ResponseOf<'GET /api/compliance'>['campaigns'];
type OfCampaign = ResponseOf<'GET /api/compliance/campaign-consents'>['campaigns'][number];

const MOST_SHOWN = 50;

/** Which running campaigns require consent, and how many recipients of the last month had given it. */
export function Consent({ counts: { running, requireConsent } }: { counts: Counts }) {
  const { t } = useLingui();
  const campaigns = useRead('GET /api/campaigns', { query: { status: 'active', limit: MOST_SHOWN } });
  const consents = useRead('GET /api/compliance/campaign-consents', {});
  const error = campaigns.error ?? consents.error;
  const lastMonth = new Map(consents.data?.campaigns.map((campaign) => [campaign.campaignId, campaign]));
  return (
    <Card
      title={t`Consent`}
      actions={
        running > 0 && (
          <Badge tone={requireConsent === running ? 'good' : 'warn'}>
            <Trans>
              Required by {requireConsent} of {running} campaigns
            </Trans>
          </Badge>
        )
      }
    >
      {error && (!campaigns.data || !consents.data) ? (
        <ErrorState error={error} retry={() => void Promise.all([campaigns.refetch(), consents.refetch()])} />
      ) : !campaigns.data || !consents.data ? (
        <SkeletonRows rows={3} />
      ) : (
        <>
          <p className="px-4 py-3">
            <LastMonth {...consents.data} />
          </p>
          {campaigns.data.campaigns.length > 0 && (
            <ul aria-label={t`Active campaigns`} className="divide-y divide-line border-t border-line">
              {campaigns.data.campaigns.map(({ _id, name, requireConsent: isRequired }) => (
                <li key={_id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
                  <Link
                    to="/campaigns/$campaignId"
                    params={{ campaignId: _id }}
                    className="min-w-0 flex-1 basis-40 truncate font-medium hover:underline"
                  >
                    {name}
                  </Link>
                  <span className="text-muted tabular-nums">{coverageOf(lastMonth.get(_id))}</span>
                  <Badge tone={isRequired ? 'good' : 'warn'}>
                    {isRequired ? t`Requires consent` : t`Sends without consent`}
                  </Badge>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Card>
  );
}

function LastMonth({
  recipients,
  withoutConsent,
  complete,
  from,
}: Pick<
  ResponseOf<'GET /api/compliance/campaign-consents'>,
  'recipients' | 'withoutConsent' | 'complete' | 'from'
>) {
  const zone = useTimeZone();
  if (recipients === 0) return <Trans>No campaign has sent anything in the last 30 days.</Trans>;
  const without = numberOf(withoutConsent);
  const all = numberOf(recipients);
  const share = percentOf(withoutConsent / recipients);
  const since = dateOf(from, zone);
  return (
    <>
      <Trans>
        <strong className="font-semibold">
          {without} of {all}
        </strong>{' '}
        recipients of campaigns in the last 30 days ({share}) had not consented. A campaign that requires
        consent would have skipped them.
      </Trans>
      {!complete && (
        <>
          {' '}
          <Trans>Only the newest messages are counted, since {since}.</Trans>
        </>
      )}
    </>
  );
}

function coverageOf(campaign: OfCampaign | undefined): string {
  if (!campaign) return t`Nothing sent in 30 days`;
  const { granted, revoked, unknown } = campaign;
  const consented = numberOf(granted);
  const all = numberOf(granted + revoked + unknown);
  return t`${consented} of ${all} had consented`;
}
