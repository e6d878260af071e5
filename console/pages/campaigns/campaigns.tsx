import { Megaphone, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Page } from '#console/components/page.tsx';
import { ReadTable } from '#console/components/read-table.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { EmptyState } from '#console/components/states.tsx';
import type { Column } from '#console/components/table.tsx';
import { numberOf, wordsOf } from '#console/lib/format.ts';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { type Campaign, STATUSES } from './campaign.ts';
import { CampaignDrawer } from './campaign-drawer.tsx';
import { CampaignForm } from './campaign-form.tsx';

const REFRESH_MS = 15_000;

const COLUMNS: readonly Column<Campaign>[] = [
  {
    header: 'Campaign',
    width: 'minmax(10rem, 2fr)',
    cell: ({ name, steps }) => (
      <>
        <p className="truncate font-medium">{name}</p>
        <p className="truncate text-xs text-muted">
          {steps.length === 1 ? '1 step' : `${steps.length} steps`}
        </p>
      </>
    ),
  },
  { header: 'Status', width: '8rem', cell: (campaign) => <Status status={campaign.status} /> },
  {
    header: 'Progress',
    width: 'minmax(9rem, 1fr)',
    wide: true,
    cell: (campaign) => <Done campaign={campaign} />,
  },
  {
    header: 'Started',
    width: '7rem',
    wide: true,
    cell: ({ startedAt }) => (startedAt === null ? '–' : <ShortTime at={startedAt} />),
  },
];

export default function Campaigns() {
  const [statusName, setStatus] = useSearchParam('status');
  const status = STATUSES.find((known) => known === statusName);
  const [selected] = useSearchParam('campaign');
  const change = useSearchChange();
  const [creating, setCreating] = useState(false);
  const create = (
    <Button
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => setCreating(true)}
    >
      New campaign
    </Button>
  );
  return (
    <Page title="Campaigns" description="Sequences of messages to the leads of a list" actions={create} fill>
      <NearLimit limit="campaigns" />
      <div role="group" aria-label="Status" className="flex shrink-0 gap-1 overflow-x-auto px-4 pb-2">
        {['', ...STATUSES].map((value) => (
          <button
            key={value}
            type="button"
            aria-pressed={(status ?? '') === value}
            onClick={() => setStatus(value)}
            className="rounded-lg px-2.5 py-1 font-medium whitespace-nowrap text-muted hover:bg-hover aria-pressed:bg-selected aria-pressed:text-ink"
          >
            {value === '' ? 'All' : wordsOf(value)}
          </button>
        ))}
      </div>
      <div className="min-h-0 flex-1 border-t border-line bg-surface">
        <CampaignTable
          status={status}
          selected={selected}
          onOpen={(campaign) => change({ campaign })}
          create={create}
        />
      </div>
      <CampaignDrawer campaignId={selected} close={() => change({ campaign: '', part: '', lead: '' })} />
      {creating && (
        <CampaignForm
          close={() => setCreating(false)}
          onSaved={(campaign) => change({ campaign, status: '' })}
        />
      )}
    </Page>
  );
}

function CampaignTable({
  status,
  selected,
  onOpen,
  create,
}: {
  status: (typeof STATUSES)[number] | undefined;
  selected: string;
  onOpen: (campaignId: string) => void;
  create: React.ReactNode;
}) {
  const campaigns = useReadPages(
    'GET /api/campaigns',
    { query: { ...(status && { status }) } },
    { keep: true, refetchInterval: REFRESH_MS },
  );
  const rows = useMemo(() => campaigns.data?.pages.flatMap((page) => page.campaigns), [campaigns.data]);
  const empty = status ? (
    <EmptyState title={`No ${status} campaigns`} />
  ) : (
    <EmptyState
      icon={<Megaphone className="size-5" aria-hidden="true" />}
      title="No campaigns yet"
      action={create}
    >
      A campaign sends its steps to each lead of a list, at the pace of your lines.
    </EmptyState>
  );
  return (
    <ReadTable
      label="Campaigns"
      columns={COLUMNS}
      read={campaigns}
      rows={rows}
      empty={empty}
      rowKey={({ _id }) => _id}
      selected={selected}
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
  return (
    <span className="tabular-nums">
      {numberOf(entered - running)} <span className="text-muted">of {numberOf(entered)} leads</span>
    </span>
  );
}
