import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, fullTimeOf, listOf } from '#console/lib/format.ts';
import { CHANNELS, type Line, lineName } from '#console/lib/line.ts';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { allSteps } from '#console/lib/step-places.ts';
import { type Campaign, isMessage, type Step as CampaignStep, textsOf } from './campaign.ts';
import { assumptionsOf, choicesOf, type Deed } from './preview-choices.ts';
import { endingSentence, restOf } from './preview-ending.ts';
import { Rest, WhatIf } from './preview-rest.tsx';
import { SendTest } from './send-test.tsx';

type Step = ResponseOf<'POST /api/campaigns/{id}/preview'>['steps'][number];
type Lead = ResponseOf<'GET /api/leads'>['leads'][number];

const nameOf = ({ firstName, lastName, phone, email }: Lead): string =>
  [firstName, lastName].filter(Boolean).join(' ') || addressName(phone ?? email ?? t`Lead`);

/** The messages of a lead that enters now. Nothing is sent. */
export function Preview({ campaign }: { campaign: Campaign }) {
  const [leadId, choose] = useSearchParam('lead');
  return leadId === '' ? (
    <ChooseLead campaign={campaign} onChoose={choose} />
  ) : (
    <Messages campaign={campaign} leadId={leadId} onBack={() => choose('')} />
  );
}

function ChooseLead({
  campaign: { listId },
  onChoose,
}: {
  campaign: Campaign;
  onChoose: (leadId: string) => void;
}) {
  const { t } = useLingui();
  const [search, setSearch] = useState('');
  const leads = useRead(
    'GET /api/leads',
    { query: { limit: 10, ...(listId !== null && { listId }), ...(search !== '' && { search }) } },
    { keep: true },
  );
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">
        <Trans>Choose a lead to see the messages it would get. Nothing is sent.</Trans>
      </p>
      <SearchBox label={t`Search leads`} value={search} onChange={setSearch} />
      {leads.error && !leads.data ? (
        <ErrorState error={leads.error} retry={() => void leads.refetch()} />
      ) : !leads.data ? (
        <SkeletonRows rows={3} />
      ) : leads.data.leads.length === 0 ? (
        <EmptyState title={search === '' ? t`The list has no leads yet` : t`No leads found`} />
      ) : (
        <ul className="flex flex-col">
          {leads.data.leads.map((lead) => (
            <li key={lead._id}>
              <button
                type="button"
                onClick={() => onChoose(lead._id)}
                className="flex w-full items-baseline gap-3 rounded-lg px-3 py-2 text-left hover:bg-hover"
              >
                <span className="min-w-0 flex-1 truncate font-medium">{nameOf(lead)}</span>
                <span className="truncate text-muted">{addressName(lead.phone ?? lead.email ?? '')}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Messages({ campaign, leadId, onBack }: { campaign: Campaign; leadId: string; onBack: () => void }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const lines = useRead('GET /api/lines/by-user', {});
  const lead = useRead('GET /api/leads/{id}', { params: { id: leadId } });
  const [reply] = useSearchParam('reply');
  const [does] = useSearchParam('does');
  const change = useSearchChange();
  const choices = choicesOf(campaign);
  const done: Deed[] = choices.deeds.filter((deed) => does.split(',').includes(deed));
  const assume = assumptionsOf(choices.replies === null ? '' : reply, done);
  const preview = useQuery({
    queryKey: ['preview', campaign._id, campaign.updatedAt, leadId, assume],
    queryFn: ({ signal }) =>
      request(
        'POST /api/campaigns/{id}/preview',
        { params: { id: campaign._id }, body: { leadId, assume } },
        { signal },
      ),
    placeholderData: keepPreviousData,
  });
  const name = lead.data && nameOf(lead.data.lead);
  const ending = preview.data ? endingSentence(campaign.steps, preview.data) : null;
  const rest = preview.data ? restOf(preview.data) : [];
  const shown = preview.data && stepsSent(preview.data);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center justify-between gap-3">
        <h3 className="min-w-0 truncate font-medium">
          {name === undefined ? t`Preview` : t`Messages for ${name}`}
        </h3>
        <Button small onClick={onBack}>
          <Trans>Another lead</Trans>
        </Button>
      </div>
      {preview.error && !preview.data ? (
        <ErrorState error={preview.error} retry={() => void preview.refetch()} />
      ) : !shown ? (
        <SkeletonRows rows={2} />
      ) : shown.length === 0 ? (
        ending === null && (
          <EmptyState title={t`No messages`}>
            <Trans>The lead has no contact details for any step.</Trans>
          </EmptyState>
        )
      ) : (
        <ol className="flex flex-col gap-3">
          {shown.map((step) => (
            <li key={step.stepIndex} className="rounded-lg border border-line p-3">
              <div className="flex flex-wrap items-center gap-2">
                <Badge>{CHANNELS[step.messageType]}</Badge>
                <time dateTime={step.scheduledDate} className="text-muted">
                  {fullTimeOf(step.scheduledDate, zone)}
                </time>
              </div>
              <Rules step={step} />
              {lead.data && <EmptyFields step={stepOf(campaign, step.stepId)} lead={lead.data.lead} />}
              {step.variants.length === 0 ? (
                <Text subject={step.subject} message={step.message} />
              ) : (
                step.variants.map(({ name: variant, ...text }) => (
                  <div key={variant} className="mt-2 border-l-2 border-line pl-3">
                    <div className="flex items-center gap-2 text-xs font-medium text-muted">
                      <Trans>Variant {variant}</Trans>
                      {variant === step.variant && (
                        <Badge tone="accent">
                          <Trans>This lead gets it</Trans>
                        </Badge>
                      )}
                    </div>
                    <Text {...text} />
                  </div>
                ))
              )}
              {step.attachmentUrls.map((url) => (
                <p key={url} className="mt-2 text-xs wrap-anywhere text-muted">
                  {url}
                </p>
              ))}
              <SendTest step={step} />
              <p className="mt-2 text-xs text-muted">
                <Way
                  address={step.address}
                  line={lines.data?.lines.find(({ _id }) => _id === step.fromLineId)}
                />
              </p>
            </li>
          ))}
        </ol>
      )}
      {ending !== null && <p className="text-muted">{ending}</p>}
      {(preview.data?.walk.length ?? 0) > 1 && preview.data?.walk.some(({ kind }) => kind === 'message') && (
        <>
          <WhatIf
            choices={choices}
            reply={reply}
            done={done}
            onReply={(next) => change({ reply: next })}
            onDone={(next) => change({ does: next.join(',') })}
          />
          {rest.length > 0 && <Rest campaign={campaign} events={rest} />}
        </>
      )}
    </div>
  );
}

/** The messages up to the first decision, or until a reply ends them. */
function stepsSent({ steps, walk }: ResponseOf<'POST /api/campaigns/{id}/preview'>): Step[] {
  if (!walk.some(({ kind }) => kind === 'reply')) return steps;
  const sent = new Set(walk.flatMap(({ kind, stepId }) => (kind === 'message' ? [stepId] : [])));
  return steps.filter(({ stepId }) => sent.has(stepId));
}

function stepOf({ steps }: Campaign, stepId: string): CampaignStep | undefined {
  const step = allSteps(steps).find(({ id }) => id === stepId);
  return step && isMessage(step) ? step : undefined;
}

/** Fields without a default that the step reads and the lead does not have. */
function EmptyFields({ step, lead }: { step: CampaignStep | undefined; lead: Lead }) {
  const read = (step ? textsOf(step) : []).flatMap(({ subject, text }) =>
    fieldsIn(`${subject ?? ''} ${text}`),
  );
  const values: Record<string, unknown> = lead;
  const isEmpty = (field: string): boolean => {
    const [name = '', own = ''] = field.split('.');
    const value = name === 'customFields' ? lead.customFields[own] : values[name];
    return value === null || value === undefined || value === '';
  };
  const empty = [...new Set(read)].filter(isEmpty);
  if (empty.length === 0) return null;
  const names = listOf(empty);
  return (
    <p className="mt-2 text-warn">
      <Trans>Empty for this lead: {names}</Trans>
    </p>
  );
}

/** The fields that a template shows as they are, without a filter that could give a default. */
const fieldsIn = (template: string): string[] =>
  [...template.matchAll(/\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}/g)].map(([, name = '']) => name);

/** From which line to whom. */
function Way({ address, line }: { address: string; line: Line | undefined }) {
  const to = addressName(address);
  const from = line && lineName(line);
  return from === undefined ? (
    <Trans>To {to}</Trans>
  ) : (
    <Trans>
      To {to} from {from}
    </Trans>
  );
}

const Text = ({ subject, message }: Pick<Step, 'subject' | 'message'>) => (
  <>
    {subject && <p className="mt-2 font-medium">{subject}</p>}
    <p className="mt-2 wrap-anywhere whitespace-pre-wrap">{message}</p>
  </>
);

const SKIPPED: Record<NonNullable<Step['skipReason']>, MessageDescriptor> = {
  recipient_opted_out: msg`Not sent: the lead has opted out.`,
  recipient_suppressed: msg`Not sent: the agency suppresses the address.`,
  no_consent: msg`Not sent: the campaign requires consent, and the lead has not given it.`,
};

/** What quiet hours and consent do to a step. */
function Rules({ step: { wakingHours, holdReason, skipReason, hasConsent } }: { step: Step }) {
  const { t } = useLingui();
  return (
    <>
      {skipReason ? (
        <p className="mt-2 text-warn">{t(SKIPPED[skipReason])}</p>
      ) : (
        !hasConsent && (
          <p className="mt-2 text-warn">
            <Trans>The lead has not consented to this channel.</Trans>
          </p>
        )
      )}
      {wakingHours && (
        <p className="mt-2 text-xs text-muted">{hoursSentence(wakingHours, holdReason !== null)}</p>
      )}
    </>
  );
}

function hoursSentence(
  { start, end, zones, law }: NonNullable<Step['wakingHours']>,
  isMoved: boolean,
): string {
  const places = listOf(zones.map((zone) => zone.replaceAll('_', ' ')));
  if (isMoved)
    return law
      ? t`Moved by quiet hours: ${start} to ${end} in ${places}, and the law of ${law}.`
      : t`Moved by quiet hours: ${start} to ${end} in ${places}.`;
  return law
    ? t`Within quiet hours’ limits: ${start} to ${end} in ${places}, and the law of ${law}.`
    : t`Within quiet hours’ limits: ${start} to ${end} in ${places}.`;
}
