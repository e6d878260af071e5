import { t } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { fullTimeOf } from '#console/lib/format.ts';
import { allSteps, placeOf } from '#console/lib/step-places.ts';
import { type Campaign, isMessage } from '../campaigns/campaign.ts';
import { type CampaignLead, pauseReasonName, waitText } from '../campaigns/lead-names.ts';
import { stepTexts } from '../campaigns/step-text.ts';
import { StopLead } from '../campaigns/stop-lead.tsx';
import { type Lead, leadName } from './lead.ts';

/** The campaigns in which a lead is under way, and what comes next in each. */
export default function LeadCampaigns({ lead, campaignIds }: { lead: Lead; campaignIds: readonly string[] }) {
  const { t } = useLingui();
  return (
    <ul aria-label={t`Campaigns under way`} className="flex flex-col gap-2">
      {campaignIds.map((campaignId) => (
        <Place key={campaignId} lead={lead} campaignId={campaignId} />
      ))}
    </ul>
  );
}

function Place({ lead, campaignId }: { lead: Lead; campaignId: string }) {
  const zone = useTimeZone();
  const options = { refetchInterval: useLiveInterval() };
  const params = { id: lead._id, campaignId };
  const place = useRead('GET /api/leads/{id}/campaigns/{campaignId}', { params }, options).data?.place;
  const campaign = useRead('GET /api/campaigns/{id}', { params: { id: campaignId } }).data?.campaign;
  if (!place || !campaign || place.state !== 'running') return null;
  return (
    <li className="rounded-lg border border-line bg-surface px-3 py-2">
      <p className="flex flex-wrap items-center gap-2">
        <Link
          to="/campaigns/$campaignId"
          params={{ campaignId }}
          className="min-w-0 flex-1 truncate font-medium hover:underline"
        >
          {campaign.name}
        </Link>
        <Status status={place.pausedAt !== null || campaign.status === 'paused' ? 'paused' : 'running'} />
      </p>
      {placeTexts(campaign, place, zone).map((text) => (
        <p key={text} className="text-muted">
          {text}
        </p>
      ))}
      {campaign.status !== 'archived' && (
        <div className="mt-2">
          <StopLead campaignId={campaignId} leadId={lead._id} name={leadName(lead)} />
        </div>
      )}
    </li>
  );
}

/** What comes next, and until when nothing does. */
function placeTexts(campaign: Campaign, place: CampaignLead, zone: string): string[] {
  const { stepId, waitsUntil, waitingFor, pausedAt, pauseReason, resumesAt } = place;
  const number = placeOf(campaign.steps, stepId ?? '');
  const step = allSteps(campaign.steps)[number - 1];
  const until = waitsUntil && fullTimeOf(waitsUntil, zone);
  const resumes = resumesAt && fullTimeOf(resumesAt, zone);
  return [
    step &&
      (isMessage(step)
        ? t`Step ${number} is next: a message.`
        : `${t`At step ${number}`}: ${stepTexts(step).join(' ')}`),
    pausedAt === null && waitingFor && `${waitText(waitingFor, zone)}.`,
    until !== null && t`It goes on by ${until}.`,
    pausedAt !== null && `${pauseReasonName(pauseReason)}.`,
    resumes !== null && t`It goes on at ${resumes}.`,
  ].filter((text) => typeof text === 'string');
}
