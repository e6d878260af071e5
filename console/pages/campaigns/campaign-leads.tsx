import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useReadPages, useWrite } from '#console/api/queries.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { addressName, fullTimeOf } from '#console/lib/format.ts';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { statusName } from '#console/lib/status-names.ts';
import { placeOf, placeOfIndex } from '#console/lib/step-places.ts';
import { type Campaign, CAMPAIGNS } from './campaign.ts';
import {
  type CampaignLead,
  countName,
  type Counted,
  pauseReasonName,
  stopReasonName,
  untilText,
  waitText,
} from './lead-names.ts';
import { StopLead } from './stop-lead.tsx';

const REFRESH_MS = 15_000;
const STATES = ['running', 'finished', 'stopped'] as const;
const REFRESH = [...CAMPAIGNS, 'GET /api/campaigns/{id}/leads', 'GET /api/messages'] as const;

type Variant = NonNullable<NonNullable<RequestTo<'GET /api/campaigns/{id}/leads'>['query']>['variant']>;

/** The leads that have entered, all or those that a number of the funnel counts, and where each is. */
export function CampaignLeads({ campaign }: { campaign: Campaign }) {
  const { t } = useLingui();
  const [chosen] = useSearchParam('state');
  const [step] = useSearchParam('step');
  const [counted] = useSearchParam('counted');
  const [variant] = useSearchParam('variant');
  const change = useSearchChange();
  const state = STATES.find((known) => known === chosen);
  const leads = useReadPages(
    'GET /api/campaigns/{id}/leads',
    {
      params: { id: campaign._id },
      query: {
        ...(state && { state }),
        ...(step !== '' && {
          stepIndex: Number(step),
          ...(counted !== '' && { counted: counted as Counted }),
          ...(variant !== '' && { variant: variant as Variant }),
        }),
      },
    },
    { keep: true, refetchInterval: REFRESH_MS },
  );
  const rows = leads.data?.pages.flatMap((page) => page.leads);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <div role="group" aria-label={t`State`} className="flex gap-1 overflow-x-auto">
          {([undefined, ...STATES] as const).map((value) => (
            <button
              key={value ?? ''}
              type="button"
              aria-pressed={state === value}
              onClick={() => change({ state: value ?? '' })}
              className="rounded-lg px-2.5 py-1 font-medium whitespace-nowrap text-muted hover:bg-hover aria-pressed:bg-selected aria-pressed:text-ink"
            >
              {value === undefined ? t({ message: 'All', context: 'leads' }) : statusName(value)}
            </button>
          ))}
        </div>
        {step !== '' && (
          <Button
            small
            icon={<X className="size-3.5" aria-hidden="true" />}
            onClick={() => change({ step: '', counted: '', variant: '' })}
          >
            {filterText(placeOfIndex(campaign, Number(step)), counted, variant)}
          </Button>
        )}
      </div>
      {!rows ? (
        leads.error ? (
          <ErrorState error={leads.error} retry={() => void leads.refetch()} />
        ) : (
          <SkeletonRows rows={4} />
        )
      ) : rows.length === 0 ? (
        <EmptyState title={t`No leads found`} />
      ) : (
        <ul aria-label={t`Leads`} className="divide-y divide-line rounded-lg border border-line bg-surface">
          {rows.map((lead) => (
            <LeadRow key={lead.leadId} campaign={campaign} lead={lead} />
          ))}
        </ul>
      )}
      <ShowMore read={leads} />
    </div>
  );
}

/** @param number of the step; 0: it was removed */
function filterText(number: number, counted: string, variant: string): string {
  const what = countName(counted);
  const of =
    number === 0
      ? t`A removed step`
      : variant === ''
        ? t`Step ${number}`
        : t`Variant ${variant} of step ${number}`;
  return what === undefined ? of : `${of}: ${what}`;
}

function LeadRow({ campaign, lead }: { campaign: Campaign; lead: CampaignLead }) {
  const { t } = useLingui();
  const { leadId, firstName, lastName, phone, email, state, pausedAt } = lead;
  const resume = useWrite('PATCH /api/leads/{id}/campaigns/{campaignId}', { refresh: REFRESH });
  const address = addressName(phone ?? email ?? '');
  const name = [firstName, lastName].filter(Boolean).join(' ') || address || t`Lead`;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <div className="min-w-0 flex-1 basis-48">
        <Link
          to="/contacts"
          search={{ lead: leadId } as never}
          className="block truncate font-medium hover:underline"
        >
          {name}
        </Link>
        {address !== name && <p className="truncate text-xs text-muted">{address}</p>}
      </div>
      <Place campaign={campaign} lead={lead} />
      <Status status={pausedAt === null ? state : 'paused'} />
      {pausedAt !== null && (
        <Button
          small
          busy={resume.isPending}
          onClick={() =>
            resume.mutate(
              {
                params: { id: leadId, campaignId: campaign._id },
                body: { resumesAt: new Date().toISOString() },
              },
              { onSuccess: () => toast(t`Goes on for ${name}`), onError: toastError },
            )
          }
        >
          <Trans>Let it go on</Trans>
        </Button>
      )}
      {state === 'running' && campaign.status !== 'archived' && (
        <StopLead campaignId={campaign._id} leadId={leadId} name={name} />
      )}
    </li>
  );
}

/** Where it is: the step that comes next, until when it waits there or is paused, or why nothing comes. */
function Place({ campaign, lead }: { campaign: Campaign; lead: CampaignLead }) {
  const zone = useTimeZone();
  const { stepId, waitsUntil, waitingFor, stopReason, pausedAt, pauseReason, resumesAt } = lead;
  const text = [
    stopReason === null ? placeText(placeOf(campaign.steps, stepId ?? '')) : stopReasonName(stopReason),
    pausedAt !== null && pauseReasonName(pauseReason),
    pausedAt === null && waitingFor && waitText(waitingFor, zone),
    waitsUntil !== null && mostText(fullTimeOf(waitsUntil, zone)),
    resumesAt !== null && untilText(fullTimeOf(resumesAt, zone)),
  ]
    .filter(Boolean)
    .join(' · ');
  return text === '' ? null : <p className="text-muted">{text}</p>;
}

const mostText = (until: string): string => t`until ${until} at most`;

function placeText(number: number): string {
  return number === 0 ? '' : t`At step ${number}`;
}
