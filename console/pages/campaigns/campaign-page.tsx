import { Trans, useLingui } from '@lingui/react/macro';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { lazy } from 'react';
import { isNotFound } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import { Page } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { useSearchChange, useSearchParam, useTabParam } from '#console/lib/search.ts';
import { CampaignActions } from './campaign-actions.tsx';
import { CampaignLeads } from './campaign-leads.tsx';
import { Steps } from './campaign-steps.tsx';
import { Corrections } from './corrections.tsx';
import { StepFunnel } from './funnel.tsx';
import { Overview } from './overview.tsx';
import { Preview } from './preview.tsx';

const CampaignForm = lazy(() => import('./campaign-form.tsx'));

const REFRESH_MS = 5000;
/** In place of an id: the campaign is being written. */
const NEW = 'new';

/** Everything about one campaign. */
export default function CampaignPage() {
  const { campaignId = NEW } = useParams({ strict: false });
  const open = useOpen();
  return campaignId === NEW ? (
    <CampaignForm close={() => open('')} onSaved={open} />
  ) : (
    <Known key={campaignId} campaignId={campaignId} />
  );
}

/** Opens a campaign; without an id, all of them. */
function useOpen(): (campaignId: string) => void {
  const navigate = useNavigate();
  return (campaignId) =>
    void (campaignId === ''
      ? navigate({ to: '/campaigns' })
      : // The way back leads to all of them, not to a form that is empty.
        navigate({ to: '/campaigns/$campaignId', params: { campaignId }, replace: true }));
}

function Known({ campaignId }: { campaignId: string }) {
  const { t } = useLingui();
  const { data, error, refetch } = useRead(
    'GET /api/campaigns/{id}',
    { params: { id: campaignId } },
    { refetchInterval: REFRESH_MS },
  );
  const [part, setPart] = useTabParam('part');
  const [edits] = useSearchParam('edit');
  const change = useSearchChange();
  const open = useOpen();
  const campaign = data?.campaign;
  // Also when it completes meanwhile: what is written is not taken away.
  if (edits !== '' && campaign)
    return <CampaignForm campaign={campaign} close={() => change({ edit: '' })} onSaved={() => undefined} />;
  return (
    <Page
      title={campaign?.name ?? t`Campaign`}
      description={campaign?.description}
      above={
        <Link to="/campaigns" className="flex w-fit items-center gap-1 text-muted hover:text-ink">
          <ChevronLeft className="size-4" aria-hidden="true" />
          <Trans>All campaigns</Trans>
        </Link>
      }
    >
      {error && (!campaign || isNotFound(error)) ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : campaign && data ? (
        <>
          <CampaignActions
            campaign={campaign}
            onEdit={() => change({ edit: 'yes' })}
            onDeleted={() => open('')}
            onDuplicated={open}
          />
          <Corrections campaign={campaign} />
          <h2 className="sr-only">
            <Trans>About this campaign</Trans>
          </h2>
          <Tabs
            label={t`About this campaign`}
            value={part || 'overview'}
            onChange={(next) => setPart(next === 'overview' ? '' : next)}
            tabs={[
              {
                value: 'overview',
                label: t`Overview`,
                content: (
                  <Overview
                    campaign={campaign}
                    progress={data.progress}
                    personalization={data.personalization}
                  />
                ),
              },
              { value: 'leads', label: t`Leads`, content: <CampaignLeads campaign={campaign} /> },
              { value: 'funnel', label: t`Funnel`, content: <StepFunnel campaign={campaign} /> },
              { value: 'steps', label: t`Steps`, content: <Steps campaign={campaign} /> },
              { value: 'preview', label: t`Preview`, content: <Preview campaign={campaign} /> },
            ]}
          />
        </>
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Page>
  );
}
