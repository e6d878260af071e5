import { Plural, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { CHANNELS } from '#console/lib/line.ts';
import type { CampaignDraft } from './campaign-draft.ts';
import type { Campaign } from './campaign.ts';
import { flatSteps } from './step-tree.ts';
import { type Coverage, isLow, sentenceOf } from './consent-sentence.ts';

/** What quiet hours and consent will do to the campaign that is being written. */
export function DraftConsent({
  draft: { listId, steps, requireConsent },
  ownHours,
}: {
  draft: CampaignDraft;
  /** The quiet hours of the campaign, instead of the workspace's. */
  ownHours: Campaign['quietHours'];
}) {
  const { t } = useLingui();
  const channels = [
    ...new Set(flatSteps(steps).flatMap((step) => (step.kind === 'message' ? [step.messageType] : []))),
  ];
  const workspace = useRead('GET /api/workspace/quiet-hours', {}).data?.quietHours;
  const hours = ownHours ?? workspace;
  const { start, end } = hours ?? {};
  const isOn = hours?.enabled && (ownHours !== null || workspace?.appliesTo.includes('campaign'));
  return (
    <>
      {listId !== '' &&
        channels.map((channel) => (
          <ChannelConsent key={channel} listId={listId} channel={channel} requireConsent={requireConsent} />
        ))}
      {hours && (
        <p className="text-muted">
          {isOn
            ? t`Quiet hours: messages leave from ${start} to ${end} by the clocks of the leads.`
            : t`Quiet hours are off for campaigns: messages leave at any time of the leads’ day.`}
        </p>
      )}
    </>
  );
}

function ChannelConsent({
  listId,
  channel,
  requireConsent,
}: {
  listId: string;
  channel: Coverage['channel'];
  requireConsent: boolean;
}) {
  const { t } = useLingui();
  const { data } = useRead('GET /api/lists/{id}/consent', { params: { id: listId }, query: { channel } });
  if (!data || data.total === 0) return null;
  const channelName = CHANNELS[channel];
  const without = data.optedOut + data.suppressed;
  const warns = isLow(data) && !requireConsent;
  return (
    <p
      role="status"
      aria-label={t`Consent to ${channelName}`}
      className={`rounded-lg px-3 py-2 ${warns ? 'bg-warn-soft text-warn' : 'bg-accent-soft text-accent-ink'}`}
    >
      {sentenceOf(data, requireConsent)}
      {without > 0 && (
        <>
          {' '}
          <Plural
            value={without}
            one="# gets nothing: it opted out or is suppressed."
            other="# get nothing: they opted out or are suppressed."
          />
        </>
      )}
    </p>
  );
}
