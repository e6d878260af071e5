import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Section } from '#console/components/page.tsx';
import { ShareBar } from '#console/components/share-bar.tsx';
import { Skeleton } from '#console/components/states.tsx';
import { fullTimeOf, numberOf, percentOf } from '#console/lib/format.ts';
import { type Campaign, type Progress, windowText } from './campaign.ts';

/** The progress, results and sending rules of a campaign. */
export const Overview = ({
  campaign,
  progress,
  personalization,
}: {
  campaign: Campaign;
  progress: Progress;
  personalization: ResponseOf<'GET /api/campaigns/{id}'>['personalization'];
}) => (
  <div className="flex flex-col gap-5">
    <Section title="Leads">
      <Funnel progress={progress} />
    </Section>
    {campaign.status !== 'draft' && (
      <Section title="Messages">
        <Results campaignId={campaign._id} />
      </Section>
    )}
    {personalization && (
      <Section title="Personalization">
        <p>
          {numberOf(personalization.written)} written · {numberOf(personalization.waiting)} waiting ·{' '}
          {numberOf(personalization.failed)} failed
        </p>
        {personalization.lastError && <p className="mt-1 text-bad">{personalization.lastError}</p>}
      </Section>
    )}
    <Section title="Settings">
      <Settings campaign={campaign} />
    </Section>
  </div>
);

function Funnel({ progress: { entered, running, finished, stopped, enteredAll } }: { progress: Progress }) {
  if (entered === 0) return <p className="text-muted">No lead has entered yet.</p>;
  return (
    <>
      <div className="flex flex-col gap-3">
        <ShareBar label="Running" count={running} of={entered} colour="bg-accent" />
        <ShareBar label="Finished: all steps sent" count={finished} of={entered} colour="bg-good" />
        <ShareBar
          label="Stopped: replied, opted out, not reachable or removed"
          count={stopped}
          of={entered}
          colour="bg-warn"
        />
      </div>
      <p className="mt-3 text-muted">
        {entered === 1 ? '1 lead has entered.' : `${numberOf(entered)} leads have entered.`}
        {!enteredAll && ' More leads of the list are entering.'}
      </p>
    </>
  );
}

function Results({ campaignId }: { campaignId: string }) {
  const { data, error } = useRead('GET /api/analytics', { query: { campaignId } });
  if (error) return <p className="text-muted">{error.message}</p>;
  if (!data) return <Skeleton className="h-12" />;
  const { sent, reached, failed, uniqueReplied, repliedPct } = data.metrics;
  const figures = [
    ['Sent', numberOf(sent)],
    ['Contacts reached', numberOf(reached)],
    ['Contacts replied', `${numberOf(uniqueReplied)} (${percentOf(repliedPct)})`],
    ['Failed', numberOf(failed)],
  ] as const;
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      {figures.map(([label, value]) => (
        <div key={label} className="rounded-lg border border-line p-3">
          <dt className="text-xs text-muted">{label}</dt>
          <dd className="mt-0.5 text-base font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Settings({ campaign }: { campaign: Campaign }) {
  const zone = useTimeZone();
  const lists = useRead('GET /api/lists', {});
  const list = lists.data?.lists.find(({ _id }) => _id === campaign.listId);
  const pools = useRead('GET /api/pools', { query: { limit: 200 } }, { enabled: campaign.poolId !== null });
  const pool = pools.data?.pools.find(({ _id }) => _id === campaign.poolId);
  const { eligibleLineIds, stickinessPolicy, startedAt, completedAt } = campaign;
  const facts: readonly (readonly [string, string])[] = [
    ['List', campaign.listId === null ? 'None: leads are added one by one' : (list?.name ?? '–')],
    ['Sends', `${windowText(campaign)} (${campaign.timezone ?? zone})`],
    [
      'Lines',
      campaign.poolId !== null
        ? `The pool ${pool?.name ?? '…'}`
        : eligibleLineIds === null
          ? 'All lines of the channel'
          : eligibleLineIds.length === 1
            ? '1 line'
            : `${eligibleLineIds.length} lines`,
    ],
    [
      'Line for a contact',
      (pool ? pool.sticky : stickinessPolicy === 'sticky') ? 'The same for all messages' : 'In turn',
    ],
    ['On a reply', campaign.stopOnReply ? 'Stops for the lead' : 'Goes on'],
    ['Started', startedAt === null ? 'Not yet' : fullTimeOf(startedAt, zone)],
    ...(completedAt === null ? [] : [['Completed', fullTimeOf(completedAt, zone)] as const]),
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
