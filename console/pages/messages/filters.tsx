import { Trans, useLingui } from '@lingui/react/macro';
import { X } from 'lucide-react';
import type { ComponentProps } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useRead } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { statusName } from '#console/lib/status-names.ts';
import { type Line, lineName } from '#console/lib/line.ts';
import { type Search, useSearchParam } from '#console/lib/search.ts';
import { ContactFilter } from './contact-filter.tsx';
import { STATUSES } from './message.ts';

const WAITS = 'waiting';
const ALL = 'all';
/** Those that a line has sent. */
const SENT = ['', 'sent', 'delivered', 'fallback'];

/** The filters of the page, kept in its address. */
export function useFilters() {
  const [status, setStatus] = useSearchParam('status');
  const [line, setLine] = useSearchParam('line');
  const [campaign, setCampaign] = useSearchParam('campaign');
  const [lead, setLead] = useSearchParam('lead');
  const [correlation, setCorrelation] = useSearchParam('correlation');
  const navigate = useNavigate();
  return {
    values: { status, line, campaign, lead, correlation },
    setStatus,
    setLine,
    setCampaign,
    setLead,
    setCorrelation,
    isSet: [status, line, campaign, lead, correlation].some((value) => value !== ''),
    clear: () => {
      const search = ({ message }: Search): Search => (message === undefined ? {} : { message });
      void navigate({ to: '.', search: search as never, replace: true });
    },
    query: {
      status: STATUSES.find((known) => known === status),
      ...(status === WAITS && { waiting: 'true' as const }),
      ...(SENT.includes(status) && { order: 'sent' as const }),
      lineId: line || undefined,
      campaignId: campaign || undefined,
      leadId: lead || undefined,
      correlationId: correlation || undefined,
    },
  };
}

/** Above the list: by contact, status, line, campaign and correlation ID. */
export function Filters({
  filters,
  lines,
}: {
  filters: ReturnType<typeof useFilters>;
  lines: readonly Line[];
}) {
  const { t } = useLingui();
  const { values } = filters;
  const campaigns = useRead('GET /api/campaigns', { query: { limit: 200 } }).data?.campaigns ?? [];
  return (
    <div
      role="search"
      aria-label={t`Messages`}
      className="grid shrink-0 grid-cols-2 gap-2 px-4 pb-4 md:flex md:flex-wrap md:items-center"
    >
      <ContactFilter lead={values.lead} onChange={filters.setLead} />
      <Choice
        aria-label={t`Status`}
        value={values.status}
        onChoose={filters.setStatus}
        any={t`Latest sent`}
        options={[
          { value: WAITS, label: t`Waits to be sent` },
          { value: ALL, label: t`All, the newest first` },
          ...STATUSES.map((value) => ({ value, label: statusName(value) })),
        ]}
      />
      <Choice
        aria-label={t`Line`}
        value={values.line}
        onChoose={filters.setLine}
        any={t`Any line`}
        options={lines.map((line) => ({ value: line._id, label: lineName(line) }))}
      />
      <Choice
        aria-label={t`Campaign`}
        value={values.campaign}
        onChoose={filters.setCampaign}
        any={t`Any campaign`}
        options={campaigns.map(({ _id, name }) => ({ value: _id, label: name }))}
      />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget).get('correlation');
          filters.setCorrelation(typeof given === 'string' ? given.trim() : '');
        }}
      >
        <input
          key={values.correlation}
          name="correlation"
          type="search"
          aria-label={t`Correlation ID`}
          placeholder={t`Correlation ID`}
          maxLength={200}
          defaultValue={values.correlation}
          className="input-box md:w-40"
        />
      </form>
      {filters.isSet && (
        <Button kind="ghost" icon={<X className="size-4" aria-hidden="true" />} onClick={filters.clear}>
          <Trans>Clear</Trans>
        </Button>
      )}
    </div>
  );
}

function Choice({
  any,
  options,
  onChoose,
  value,
  ...rest
}: Omit<ComponentProps<'select'>, 'onChange' | 'value'> & {
  value: string;
  /** The option that filters nothing. */
  any: string;
  options: readonly { value: string; label: string }[];
  onChoose: (value: string) => void;
}) {
  // What the address names may be none of them: a deleted campaign.
  const isKnown = value === '' || options.some((option) => option.value === value);
  return (
    <select
      {...rest}
      value={value}
      onChange={(event) => onChoose(event.target.value)}
      className="input-box md:w-36"
    >
      <option value="">{any}</option>
      {!isKnown && <option value={value}>{value}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
