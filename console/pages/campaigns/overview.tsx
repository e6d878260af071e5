import { plural, t } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Section } from '#console/components/page.tsx';
import { ShareBar } from '#console/components/share-bar.tsx';
import { Skeleton } from '#console/components/states.tsx';
import { WorkflowLink } from '#console/components/workflow-link.tsx';
import { fullTimeOf, listOf, numberOf, percentOf } from '#console/lib/format.ts';
import { CountLink } from './count-link.tsx';
import { type Campaign, type Progress, windowText } from './campaign.ts';
import { conditionText } from './conditions.ts';
import { CampaignForecast } from './forecast.tsx';
import type { FunnelStep } from './funnel-sentence.ts';

/** The progress, results and sending rules of a campaign. */
export function Overview({
  campaign,
  progress,
  personalization,
}: {
  campaign: Campaign;
  progress: Progress;
  personalization: ResponseOf<'GET /api/campaigns/{id}'>['personalization'];
}) {
  const { t } = useLingui();
  return (
    <div className="flex flex-col gap-5">
      {campaign.status === 'active' && campaign.finishBy !== null && <CampaignForecast campaign={campaign} />}
      <Section title={t`Leads`}>
        <Funnel progress={progress} />
      </Section>
      {campaign.status !== 'draft' && (
        <Section title={t`Messages`}>
          <Results campaignId={campaign._id} />
        </Section>
      )}
      {personalization && (
        <Section title={t`Personalization`}>
          <p>
            <Written {...personalization} />
          </p>
          {personalization.lastError && <p className="mt-1 text-bad">{personalization.lastError}</p>}
        </Section>
      )}
      <Section title={t`Settings`}>
        <Settings campaign={campaign} />
      </Section>
      {campaign.status !== 'draft' && <WorkflowLink id={`campaign:${campaign._id}`} />}
    </div>
  );
}

function Written(counts: Record<'written' | 'waiting' | 'failed', number>) {
  const [written, waiting, failed] = [counts.written, counts.waiting, counts.failed].map(numberOf);
  return (
    <Trans>
      {written} written · {waiting} waiting · {failed} failed
    </Trans>
  );
}

function Funnel({ progress: { entered, running, finished, stopped, enteredAll } }: { progress: Progress }) {
  const { t } = useLingui();
  if (entered === 0)
    return (
      <p className="text-muted">
        <Trans>No lead has entered yet.</Trans>
      </p>
    );
  return (
    <>
      <div className="flex flex-col gap-3">
        <ShareBar
          label={t`Running`}
          count={running}
          of={entered}
          colour="bg-accent"
          number={<CountLink count={running} of={{ state: 'running' }} />}
        />
        <ShareBar
          label={t`Finished: all steps sent`}
          count={finished}
          of={entered}
          colour="bg-good"
          number={<CountLink count={finished} of={{ state: 'finished' }} />}
        />
        <ShareBar
          label={t`Stopped: replied, opted out, not reachable or removed`}
          count={stopped}
          of={entered}
          colour="bg-warn"
          number={<CountLink count={stopped} of={{ state: 'stopped' }} />}
        />
      </div>
      <p className="mt-3 text-muted">
        <Plural value={entered} one="# lead has entered." other="# leads have entered." />
        {!enteredAll && (
          <>
            {' '}
            <Trans>More leads of the list are entering.</Trans>
          </>
        )}
      </p>
    </>
  );
}

const REFRESH_MS = 15_000;

/** The sums of the funnel, so that a number is the same wherever it is shown. */
function Results({ campaignId }: { campaignId: string }) {
  const { t } = useLingui();
  const { data, error } = useRead(
    'GET /api/campaigns/{id}/funnel',
    { params: { id: campaignId } },
    { refetchInterval: REFRESH_MS },
  );
  if (error && !data) return <p className="text-muted">{error.message}</p>;
  if (!data) return <Skeleton className="h-12" />;
  const total = (count: (step: FunnelStep) => number): number =>
    data.steps.reduce((sum, step) => sum + count(step), 0);
  const sent = total((step) => step.sent);
  const ofSent = (count: number): string =>
    sent === 0 ? numberOf(count) : `${numberOf(count)} (${percentOf(count / sent)})`;
  const figures = [
    [t({ message: 'Sent', context: 'number of messages' }), numberOf(sent)],
    [t`Replies`, ofSent(total(({ replied }) => replied.leads))],
    [t`Opt-outs`, ofSent(total(({ optedOut }) => optedOut.leads))],
    [t({ message: 'Failed', context: 'number of messages' }), numberOf(total(({ failed }) => failed))],
  ] as const;
  return (
    <>
      <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        {figures.map(([label, value]) => (
          <div key={label} className="rounded-lg border border-line p-3">
            <dt className="text-xs text-muted">{label}</dt>
            <dd className="mt-0.5 text-base font-semibold tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-1.5 text-xs text-muted">
        <Trans>
          Shares of the messages sent. A reply or an opt-out counts to the last step sent before it.
        </Trans>
      </p>
    </>
  );
}

function Settings({ campaign }: { campaign: Campaign }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const lists = useRead('GET /api/lists', {});
  const list = lists.data?.lists.find(({ _id }) => _id === campaign.listId);
  const segments = useRead(
    'GET /api/segments/{id}',
    { params: { id: campaign.segmentId ?? '' } },
    { enabled: campaign.segmentId !== null },
  );
  const pools = useRead('GET /api/pools', { query: { limit: 200 } }, { enabled: campaign.poolId !== null });
  const pool = pools.data?.pools.find(({ _id }) => _id === campaign.poolId);
  const { eligibleLineIds, stickinessPolicy, stopWhen, finishBy, startedAt, completedAt } = campaign;
  const poolName = pool?.name ?? '…';
  const lineCount = eligibleLineIds?.length ?? 0;
  const facts: readonly (readonly [string, string])[] = [
    campaign.segmentId !== null
      ? [campaign.audience === 'live' ? t`Segment, live` : t`Segment`, segments.data?.segment.name ?? '–']
      : [t`List`, campaign.listId === null ? t`None: leads are added one by one` : (list?.name ?? '–')],
    [t`Sends`, `${windowText(campaign)} (${campaign.timezone ?? zone})`],
    [
      t`Lines`,
      campaign.poolId !== null
        ? t`The pool ${poolName}`
        : eligibleLineIds === null
          ? t`All lines of the channel`
          : plural(lineCount, { one: '# line', other: '# lines' }),
    ],
    [
      t`Line for a contact`,
      (pool ? pool.sticky : stickinessPolicy === 'sticky') ? t`The same for all messages` : t`In turn`,
    ],
    [t`On a reply`, onReplyOf(campaign.onReply)],
    ...(stopWhen.length === 0
      ? []
      : [[t`Stops when`, listOf(stopWhen.map(conditionText), 'disjunction')] as const]),
    ...(finishBy === null ? [] : [[t`To be finished by`, fullTimeOf(finishBy, zone)] as const]),
    [t`Started`, startedAt === null ? t`Not yet` : fullTimeOf(startedAt, zone)],
    ...(completedAt === null ? [] : [[t`Completed`, fullTimeOf(completedAt, zone)] as const]),
  ];
  return (
    <dl className="flex flex-col gap-2">
      {facts.map(([label, value]) => (
        <div key={label} className="grid grid-cols-[9rem_1fr] gap-3">
          <dt className="text-muted">{label}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function onReplyOf(onReply: Campaign['onReply']): string {
  if (onReply === 'pause') return t`Pauses for the lead`;
  return onReply === 'stop' ? t`Stops for the lead` : t`Goes on`;
}
