import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { classes } from '#console/components/class-names.ts';
import { useState } from 'react';
import { SelectField, TextField } from '#console/components/field.tsx';
import { SearchBox } from '#console/components/search-box.tsx';
import { searchForm } from '#console/lib/search-form.ts';
import { CHANNELS, lineAddress, lineName } from '#console/lib/line.ts';
import { TIME_ZONES } from '#console/lib/time-zones.ts';
import type { CampaignDraft } from './campaign-draft.ts';
import { dayName } from './campaign.ts';

const stickiness = () => [
  { value: 'sticky', label: t`The same line for all messages to a contact` },
  { value: 'round_robin', label: t`The lines in turn` },
];
/** The order of weekdays in calendars. */
const MONDAY_FIRST = [1, 2, 3, 4, 5, 6, 0];

const toggled = <T,>(all: readonly T[], one: T): readonly T[] =>
  all.includes(one) ? all.filter((other) => other !== one) : [...all, one];

/** The lines, days and hours of a campaign. */
export function SendingFields({
  draft,
  onChange,
  errorOf,
}: {
  draft: CampaignDraft;
  onChange: (change: Partial<CampaignDraft>) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { lineIds, poolId, days } = draft;
  const pools = useRead('GET /api/pools', { query: { limit: 200 } }).data?.pools ?? [];
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-2 font-medium">
        <Trans context="noun">Sending</Trans>
      </legend>
      {pools.length > 0 && (
        <SelectField
          label={t`Pool`}
          value={poolId}
          options={[
            { value: '', label: t`None: choose lines` },
            ...pools.map((pool) => ({ value: pool._id, label: pool.name })),
          ]}
          onChange={(event) => onChange({ poolId: event.target.value })}
          error={errorOf('poolId')}
        />
      )}
      {poolId === '' && (
        <Lines lineIds={lineIds} onToggle={(id) => onChange({ lineIds: toggled(lineIds, id) })} />
      )}
      {errorOf('eligibleLineIds') && <p className="text-bad">{errorOf('eligibleLineIds')}</p>}
      {poolId === '' && lineIds.length !== 1 && (
        <SelectField
          label={t`Line for a contact`}
          value={draft.stickinessPolicy}
          options={stickiness()}
          onChange={(event) =>
            onChange({ stickinessPolicy: event.target.value as CampaignDraft['stickinessPolicy'] })
          }
          error={errorOf('stickinessPolicy')}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t`Send from (optional)`}
          type="time"
          value={draft.start}
          onChange={(event) => onChange({ start: event.target.value })}
          error={errorOf('sendWindowStart')}
        />
        <TextField
          label={t`Send until (optional)`}
          type="time"
          value={draft.end}
          onChange={(event) => onChange({ end: event.target.value })}
          error={errorOf('sendWindowEnd')}
        />
      </div>
      <div role="group" aria-label={t`Days`} className="flex flex-wrap gap-1.5">
        {MONDAY_FIRST.map((day) => (
          <button
            key={day}
            type="button"
            aria-pressed={days.includes(day)}
            onClick={() => onChange({ days: toggled(days, day) })}
            className={classes(
              'h-8 min-w-11 rounded-lg border px-2 font-medium',
              days.includes(day)
                ? 'border-accent bg-accent-soft text-accent-ink'
                : 'border-line text-muted hover:bg-hover',
            )}
          >
            {dayName(day)}
          </button>
        ))}
        <p className="w-full text-[0.8125rem] text-muted">
          {days.length === 0
            ? t`No day chosen: messages leave on every day.`
            : t`Messages leave on these days.`}
        </p>
      </div>
      <SelectField
        label={t`Time zone`}
        value={draft.timezone}
        options={[{ value: '', label: t`The workspace’s: ${zone}` }, ...TIME_ZONES]}
        onChange={(event) => onChange({ timezone: event.target.value })}
        error={errorOf('timezone')}
      />
    </fieldset>
  );
}

/** Fewer lines are seen at a glance. */
const FEW = 8;

function Lines({ lineIds, onToggle }: { lineIds: readonly string[]; onToggle: (id: string) => void }) {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines ?? [];
  const [search, setSearch] = useState('');
  if (lines.length === 0) return null;
  const searched = searchForm(search);
  const shown = lines.filter((line) =>
    searchForm(`${lineName(line)} ${line.phone ?? ''} ${lineAddress(line) ?? ''}`).includes(searched),
  );
  return (
    <div role="group" aria-label={t`Lines`} className="divide-y divide-line rounded-lg border border-line">
      {lines.length > FEW && (
        <div className="p-2">
          <SearchBox label={t`Search lines`} value={search} onChange={setSearch} />
        </div>
      )}
      <div className="max-h-72 divide-y divide-line scroll-y" tabIndex={lines.length > FEW ? 0 : undefined}>
        {shown.map((line) => (
          <label key={line._id} className="flex cursor-pointer items-center gap-2.5 px-3 py-2">
            <input
              type="checkbox"
              className="size-4 shrink-0 accent-accent"
              checked={lineIds.includes(line._id)}
              onChange={() => onToggle(line._id)}
            />
            <span className="min-w-0 flex-1 truncate">
              {lineName(line)} <span className="text-muted">{lineAddress(line)}</span>
            </span>
            <span className="text-xs text-muted">{CHANNELS[line.requestedChannelType]}</span>
          </label>
        ))}
      </div>
      <p className="px-3 py-2 text-[0.8125rem] text-muted">
        {lineIds.length === 0 ? t`None chosen: all lines of the channel send.` : t`Only these lines send.`}
      </p>
    </div>
  );
}
