import { useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { SelectField, TextField } from '#console/components/field.tsx';
import { lineName } from '#console/lib/line.ts';
import { type Search, useSearchChange } from '#console/lib/search.ts';
import { CUSTOM, DEFAULT_PERIOD, type Period, PERIODS } from './period.ts';

const MOST_CAMPAIGNS = 200;

interface Option {
  value: string;
  label: string;
}

/** What is counted: the period, and the line, campaign or person. All of it stays in the address. */
export function Filters({ search, period }: { search: Search; period: Period }) {
  const { t } = useLingui();
  const change = useSearchChange();
  const lines = useRead('GET /api/lines/by-user', {});
  const campaigns = useRead('GET /api/campaigns', { query: { limit: MOST_CAMPAIGNS } });
  const members = useRead('GET /api/team/members', {});
  const chosen = search['period'] ?? DEFAULT_PERIOD;

  const choices = [
    {
      name: 'line',
      label: t`Line`,
      all: t`All lines`,
      options: lines.data?.lines.map((line) => ({ value: line._id, label: lineName(line) })),
    },
    {
      name: 'campaign',
      label: t`Campaign`,
      all: t({ message: 'All messages', context: 'filter' }),
      options: campaigns.data?.campaigns.map(({ _id, name }) => ({ value: _id, label: name })),
    },
    {
      name: 'user',
      label: t`Created by`,
      all: t`Everyone`,
      options: members.data?.members.map(({ userId, name, email }) => ({
        value: userId,
        label: name || email,
      })),
    },
  ];

  return (
    <div role="group" aria-label={t`Filters`} className="grid grid-cols-2 gap-3 md:grid-cols-4">
      <SelectField
        label={t`Period`}
        value={chosen}
        options={PERIODS.map(({ value, label }) => ({ value, label: t(label) }))}
        onChange={({ target: { value } }) =>
          change(
            value === CUSTOM
              ? { period: CUSTOM, from: period.dateFrom, to: period.dateTo }
              : { period: value, from: '', to: '' },
          )
        }
      />
      {choices.map(({ name, label, all, options }) => (
        <SelectField
          key={name}
          label={label}
          value={search[name] ?? ''}
          options={withChosen([{ value: '', label: all }, ...(options ?? [])], search[name] ?? '')}
          onChange={(event) => change({ [name]: event.target.value })}
        />
      ))}
      {chosen === CUSTOM && (
        <>
          <TextField
            label={t({ message: 'From', context: 'date' })}
            type="date"
            value={period.dateFrom}
            max={period.dateTo}
            onChange={(event) => event.target.value !== '' && change({ from: event.target.value })}
          />
          <TextField
            label={t({ message: 'To', context: 'date' })}
            type="date"
            value={period.dateTo}
            min={period.dateFrom}
            onChange={(event) => event.target.value !== '' && change({ to: event.target.value })}
          />
        </>
      )}
    </div>
  );
}

/** The URL may name something that is not in the list, such as an old campaign or a former member. */
const withChosen = (options: readonly Option[], chosen: string): readonly Option[] =>
  options.some(({ value }) => value === chosen) ? options : [...options, { value: chosen, label: chosen }];
