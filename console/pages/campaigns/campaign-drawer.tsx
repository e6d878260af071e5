import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { isNotFound } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { Tabs } from '#console/components/tabs.tsx';
import { percentOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { useSearchParam } from '#console/lib/search.ts';
import { type Campaign, type Step, allSteps, isMessage, kindText, textsOf, whenText } from './campaign.ts';
import { CampaignActions } from './campaign-actions.tsx';
import { CampaignForm } from './campaign-form.tsx';
import { StepFunnel } from './funnel.tsx';
import { Overview } from './overview.tsx';
import { Preview } from './preview.tsx';

const REFRESH_MS = 5000;

/** Everything about one campaign. */
export function CampaignDrawer({
  campaignId,
  open,
  close,
}: {
  campaignId: string;
  open: (campaignId: string) => void;
  close: () => void;
}) {
  const { t } = useLingui();
  const isOpen = campaignId !== '';
  const { data, error, refetch } = useRead(
    'GET /api/campaigns/{id}',
    { params: { id: campaignId } },
    { enabled: isOpen, refetchInterval: REFRESH_MS },
  );
  const [part, setPart] = useSearchParam('part');
  const [editing, setEditing] = useState(false);
  const campaign = isOpen ? data?.campaign : undefined;
  return (
    <Drawer
      open={isOpen}
      onClose={close}
      title={campaign?.name ?? t`Campaign`}
      description={campaign?.description}
    >
      {error && isOpen && (!campaign || isNotFound(error)) ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : campaign && data ? (
        <>
          <CampaignActions
            key={campaign._id}
            campaign={campaign}
            onEdit={() => setEditing(true)}
            onDeleted={close}
            onDuplicated={open}
          />
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
              { value: 'funnel', label: t`Funnel`, content: <StepFunnel campaign={campaign} /> },
              { value: 'steps', label: t`Steps`, content: <Steps campaign={campaign} /> },
              { value: 'preview', label: t`Preview`, content: <Preview campaign={campaign} /> },
            ]}
          />
          {editing && (
            <CampaignForm campaign={campaign} close={() => setEditing(false)} onSaved={() => undefined} />
          )}
        </>
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Drawer>
  );
}

const Steps = ({ campaign: { steps } }: { campaign: Campaign }) => (
  <ol className="flex flex-col gap-3">
    {allSteps(steps).map((step, index) => (
      <li key={index} className="rounded-lg border border-line p-3">
        {isMessage(step) ? <MessageStep step={step} index={index} /> : <Badge>{kindText(step)}</Badge>}
      </li>
    ))}
  </ol>
);

const MessageStep = ({ step, index }: { step: Step; index: number }) => (
  <>
    <div className="flex flex-wrap items-center gap-2">
      <Badge>{CHANNELS[step.messageType]}</Badge>
      <span className="text-muted">{whenText(step, index)}</span>
      {step.smsFallbackEnabled && (
        <Badge tone="info">
          <Trans>SMS fallback</Trans>
        </Badge>
      )}
    </div>
    {textsOf(step).map(({ name, subject, text, share }) => (
      <div key={name} className="mt-2">
        {share !== null && (
          <p className="text-xs font-medium text-muted">
            <VariantName name={name} share={share} />
          </p>
        )}
        {subject && <p className="font-medium">{subject}</p>}
        {text !== '' && <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}
      </div>
    ))}
    {step.attachmentUrls.map((url) => (
      <p key={url} className="mt-2 text-xs wrap-anywhere text-muted">
        {url}
      </p>
    ))}
  </>
);

function VariantName({ name, share }: { name: string; share: number }) {
  const percent = percentOf(share);
  return (
    <Trans>
      Variant {name} · {percent} of the leads
    </Trans>
  );
}
