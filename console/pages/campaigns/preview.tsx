import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, fullTimeOf } from '#console/lib/format.ts';
import { CHANNELS, lineName } from '#console/lib/line.ts';
import { useSearchParam } from '#console/lib/search.ts';
import type { Campaign } from './campaign.ts';

type Step = ResponseOf<'POST /api/campaigns/{id}/preview'>['steps'][number];
type Lead = ResponseOf<'GET /api/leads'>['leads'][number];

const nameOf = ({ firstName, lastName, phone, email }: Lead): string =>
  [firstName, lastName].filter(Boolean).join(' ') || addressName(phone ?? email ?? 'Lead');

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
  const [search, setSearch] = useState('');
  const leads = useRead(
    'GET /api/leads',
    { query: { limit: 10, ...(listId !== null && { listId }), ...(search !== '' && { search }) } },
    { keep: true },
  );
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">Choose a lead to see the messages it would get. Nothing is sent.</p>
      <SearchBox label="Search leads" value={search} onChange={setSearch} />
      {leads.error ? (
        <ErrorState error={leads.error} retry={() => void leads.refetch()} />
      ) : !leads.data ? (
        <SkeletonRows rows={3} />
      ) : leads.data.leads.length === 0 ? (
        <EmptyState title={search === '' ? 'The list has no leads yet' : 'No leads found'} />
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
  const zone = useTimeZone();
  const lines = useRead('GET /api/lines/by-user', {});
  const lead = useRead('GET /api/leads/{id}', { params: { id: leadId } });
  const preview = useQuery({
    queryKey: ['preview', campaign._id, campaign.updatedAt, leadId],
    queryFn: ({ signal }) =>
      request(
        'POST /api/campaigns/{id}/preview',
        { params: { id: campaign._id }, body: { leadId } },
        { signal },
      ),
  });
  const lineOf = (lineId: string | null): string => {
    const line = lines.data?.lines.find(({ _id }) => _id === lineId);
    return line ? ` from ${lineName(line)}` : '';
  };
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center justify-between gap-3">
        <h3 className="min-w-0 truncate font-medium">
          {lead.data ? `Messages for ${nameOf(lead.data.lead)}` : 'Preview'}
        </h3>
        <Button small onClick={onBack}>
          Another lead
        </Button>
      </div>
      {preview.error ? (
        <ErrorState error={preview.error} retry={() => void preview.refetch()} />
      ) : !preview.data ? (
        <SkeletonRows rows={2} />
      ) : preview.data.steps.length === 0 ? (
        <EmptyState title="No messages">The lead has no contact details for any step.</EmptyState>
      ) : (
        <ol className="flex flex-col gap-3">
          {preview.data.steps.map((step) => (
            <li key={step.stepIndex} className="rounded-lg border border-line p-3">
              <div className="flex flex-wrap items-center gap-2">
                <Badge>{CHANNELS[step.messageType]}</Badge>
                <time dateTime={step.scheduledDate} className="text-muted">
                  {fullTimeOf(step.scheduledDate, zone)}
                </time>
              </div>
              <Rules step={step} />
              {step.variants.length === 0 ? (
                <Text subject={step.subject} message={step.message} />
              ) : (
                step.variants.map(({ name, ...text }) => (
                  <div key={name} className="mt-2 border-l-2 border-line pl-3">
                    <div className="flex items-center gap-2 text-xs font-medium text-muted">
                      Variant {name}
                      {name === step.variant && <Badge tone="accent">This lead gets it</Badge>}
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
              <p className="mt-2 text-xs text-muted">
                To {addressName(step.address)}
                {lineOf(step.fromLineId)}
              </p>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

const Text = ({ subject, message }: Pick<Step, 'subject' | 'message'>) => (
  <>
    {subject && <p className="mt-2 font-medium">{subject}</p>}
    <p className="mt-2 wrap-anywhere whitespace-pre-wrap">{message}</p>
  </>
);

const SKIPPED: Record<NonNullable<Step['skipReason']>, string> = {
  recipient_opted_out: 'Not sent: the lead has opted out.',
  recipient_suppressed: 'Not sent: the agency suppresses the address.',
  no_consent: 'Not sent: the campaign requires consent, and the lead has not given it.',
};

/** What quiet hours and consent do to a step. */
function Rules({ step: { wakingHours, holdReason, skipReason, hasConsent } }: { step: Step }) {
  const law = wakingHours?.law ? `, and the law of ${wakingHours.law}` : '';
  return (
    <>
      {skipReason ? (
        <p className="mt-2 text-warn">{SKIPPED[skipReason]}</p>
      ) : (
        !hasConsent && <p className="mt-2 text-warn">The lead has not consented to this channel.</p>
      )}
      {wakingHours && (
        <p className="mt-2 text-xs text-muted">
          {holdReason === null ? 'Within quiet hours’ limits' : 'Moved by quiet hours'}: {wakingHours.start}{' '}
          to {wakingHours.end} in {wakingHours.zones.join(' and ').replaceAll('_', ' ')}
          {law}.
        </p>
      )}
    </>
  );
}
