import type { MessageDescriptor } from '@lingui/core';
import { msg, plural, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { Megaphone, Plus } from 'lucide-react';
import { useMemo } from 'react';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { Status } from '#console/components/badge.tsx';
import { buttonClasses } from '#console/components/button.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Page } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { numberOf } from '#console/lib/format.ts';
import { statusName } from '#console/lib/status-names.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { allSteps } from '#console/lib/step-places.ts';
import { type Campaign, STATUSES } from './campaign.ts';

const REFRESH_MS = 15_000;

const columns = (): readonly Column<Campaign>[] => [
  {
    header: t`Campaign`,
    width: 'minmax(10rem, 2fr)',
    cell: ({ name, steps }) => {
      const { length: stepCount } = allSteps(steps);
      return (
        <>
          <p className="truncate font-medium">{name}</p>
          <p className="truncate text-xs text-muted">
            {plural(stepCount, { one: '# step', other: '# steps' })}
          </p>
        </>
      );
    },
  },
  {
    header: t`Status`,
    width: '8rem',
    cell: ({ status, isLate }) => (
      <>
        <Status status={status} />
        {isLate && (status === 'active' || status === 'paused') && (
          <p className="mt-0.5 text-xs text-warn">
            <Trans>Will be late</Trans>
          </p>
        )}
      </>
    ),
  },
  {
    header: t`Progress`,
    width: 'minmax(9rem, 1fr)',
    wide: true,
    cell: (campaign) => <Done campaign={campaign} />,
  },
  {
    header: t`Started`,
    width: '7rem',
    wide: true,
    cell: ({ startedAt }) => (startedAt === null ? '–' : <ShortTime at={startedAt} />),
  },
];

export default function Campaigns() {
  const { t } = useLingui();
  const [chosen, setStatus] = useSearchParam('status');
  const status = STATUSES.find((known) => known === chosen);
  const navigate = useNavigate();
  const [campaignId] = useSearchParam('campaign');
  const [part] = useSearchParam('part');
  // Where a campaign was before it had a page.
  if (campaignId !== '')
    return (
      <Navigate to="/campaigns/$campaignId" params={{ campaignId }} search={{ part } as never} replace />
    );
  const create = (
    <Link to="/campaigns/$campaignId" params={{ campaignId: 'new' }} className={buttonClasses('primary')}>
      <Plus className="size-4" aria-hidden="true" />
      <Trans>New campaign</Trans>
    </Link>
  );
  return (
    <Page
      title={t`Campaigns`}
      description={t`Sequences of messages to the leads of a list`}
      actions={create}
      fill
    >
      <NearLimit limit="campaigns" />
      <div role="group" aria-label={t`Status`} className="flex shrink-0 gap-1 overflow-x-auto px-4 pb-2">
        {['', ...STATUSES].map((value) => (
          <button
            key={value}
            type="button"
            aria-pressed={(status ?? '') === value}
            onClick={() => setStatus(value)}
            className="rounded-lg px-2.5 py-1 font-medium whitespace-nowrap text-muted hover:bg-hover aria-pressed:bg-selected aria-pressed:text-ink"
          >
            {value === '' ? t({ message: 'All', context: 'campaigns' }) : statusName(value)}
          </button>
        ))}
      </div>
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        <CampaignTable
          status={status}
          onOpen={(id) => void navigate({ to: '/campaigns/$campaignId', params: { campaignId: id } })}
          create={create}
        />
      </div>
    </Page>
  );
}

const NONE_WITH_STATUS: Record<(typeof STATUSES)[number], MessageDescriptor> = {
  draft: msg`No draft campaigns`,
  active: msg`No active campaigns`,
  paused: msg`No paused campaigns`,
  completed: msg`No completed campaigns`,
  archived: msg`No archived campaigns`,
};

function CampaignTable({
  status,
  onOpen,
  create,
}: {
  status: (typeof STATUSES)[number] | undefined;
  onOpen: (campaignId: string) => void;
  create: React.ReactNode;
}) {
  const { t } = useLingui();
  const campaigns = useReadPages(
    'GET /api/campaigns',
    { query: { ...(status && { status }) } },
    { keep: true, refetchInterval: REFRESH_MS },
  );
  const rows = useMemo(() => campaigns.data?.pages.flatMap((page) => page.campaigns), [campaigns.data]);
  const empty = status ? (
    <EmptyState title={t(NONE_WITH_STATUS[status])} />
  ) : (
    <EmptyState
      icon={<Megaphone className="size-5" aria-hidden="true" />}
      title={t`No campaigns yet`}
      action={create}
    >
      <Trans>A campaign sends its steps to each lead of a list, at the pace of your lines.</Trans>
    </EmptyState>
  );
  return (
    <ReadTable
      label={t`Campaigns`}
      columns={columns()}
      read={campaigns}
      rows={rows}
      empty={empty}
      rowKey={({ _id }) => _id}
      onOpen={({ _id }) => onOpen(_id)}
    />
  );
}

/** The number of leads that have finished. Only visible rows are rendered, so only their progress is read. */
function Done({ campaign: { _id, status } }: { campaign: Campaign }) {
  const hasProgress = status !== 'draft' && status !== 'archived';
  const { data } = useRead('GET /api/campaigns/{id}', { params: { id: _id } }, { enabled: hasProgress });
  if (!hasProgress || !data) return <span className="text-muted">–</span>;
  const { entered, running } = data.progress;
  const done = numberOf(entered - running);
  const all = numberOf(entered);
  return (
    <span className="tabular-nums">
      <Trans>
        {done} <span className="text-muted">of {all} leads</span>
      </Trans>
    </span>
  );
}
