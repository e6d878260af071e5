import { useLingui } from '@lingui/react/macro';
import { Plus, Trash2 } from 'lucide-react';
import { useId } from 'react';
import { Button, IconButton } from '#console/components/button.tsx';
import { CHANNELS } from '#console/lib/line.ts';
import type { ConditionOp } from '#domain/shared/condition-fields.ts';
import {
  type Condition,
  CUSTOM,
  customField,
  customName,
  fieldOptions,
  isSpan,
  kindOf,
  linesOf,
  opOf,
  opOptions,
  optionOf,
  valueOfLines,
  withField,
  withOp,
} from './conditions.ts';

/** Conditions that somebody writes. */
export function ConditionFields({
  conditions,
  joined,
  fewest = 1,
  add,
  onChange,
  noteOf,
  errorOf,
}: {
  conditions: readonly Condition[];
  /** Whether all have to hold, or one. */
  joined: 'all' | 'any';
  /** How many there have to be. */
  fewest?: number;
  /** The label of the button that adds one. */
  add?: string;
  onChange: (conditions: readonly Condition[]) => void;
  /** What else a condition brings about. */
  noteOf?: ((condition: Condition) => string | undefined) | undefined;
  /** The error of a field of a condition: `0.value`. */
  errorOf: (path: string) => string | undefined;
}) {
  const { t } = useLingui();
  return (
    <div className="flex flex-col gap-2">
      <ol className="flex flex-col gap-2">
        {conditions.map((condition, index) => (
          // They have no ids, and none keeps a state of its own.
          <li key={index}>
            {index > 0 && (
              <p className="mb-2 text-xs font-medium text-muted">{joined === 'all' ? t`and` : t`or`}</p>
            )}
            <ConditionField
              condition={condition}
              number={index + 1}
              onChange={(next) => onChange(conditions.with(index, next))}
              onRemove={
                conditions.length > fewest ? () => onChange(conditions.toSpliced(index, 1)) : undefined
              }
              note={noteOf?.(condition)}
              error={['field', 'op', 'value', 'campaign']
                .map((field) => errorOf(`${index}.${field}`))
                .find((text) => text !== undefined)}
            />
          </li>
        ))}
      </ol>
      <div>
        <Button
          small
          kind="ghost"
          icon={<Plus className="size-4" aria-hidden="true" />}
          onClick={() => onChange([...conditions, withField('replied')])}
        >
          {add ?? t`Add a condition`}
        </Button>
      </div>
    </div>
  );
}

function ConditionField({
  condition,
  number,
  onChange,
  onRemove,
  note,
  error,
}: {
  condition: Condition;
  number: number;
  onChange: (condition: Condition) => void;
  onRemove: (() => void) | undefined;
  note: string | undefined;
  error: string | undefined;
}) {
  const { t } = useLingui();
  const id = useId();
  const option = optionOf(condition);
  const ops = opOptions(condition);
  const invalid = error === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': id };
  return (
    <div role="group" aria-label={t`Condition ${number}`} className="flex flex-wrap items-start gap-2">
      <Select
        label={t`What is asked`}
        value={option}
        options={fieldOptions()}
        onChange={(field) => onChange(withField(field === CUSTOM ? customField('') : field))}
      />
      {option === CUSTOM && (
        <input
          aria-label={t`Name of the field`}
          placeholder={t`Name of the field`}
          className="input-box w-40"
          value={customName(condition.field)}
          onChange={(event) => onChange({ ...condition, field: customField(event.target.value) })}
        />
      )}
      {ops.length > 1 && (
        <Select
          label={t`How it is compared`}
          value={opOf(condition)}
          options={ops}
          onChange={(op) => onChange(withOp(condition, op as ConditionOp))}
        />
      )}
      <ValueField condition={condition} onChange={onChange} invalid={invalid} />
      {onRemove && (
        <IconButton label={t`Remove condition ${number}`} onClick={onRemove}>
          <Trash2 className="size-4" aria-hidden="true" />
        </IconButton>
      )}
      {note !== undefined && <p className="w-full text-[0.8125rem] text-muted">{note}</p>}
      {error !== undefined && (
        <p id={id} className="w-full text-[0.8125rem] text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

const Select = ({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}) => (
  <select
    aria-label={label}
    className="input-box w-auto max-w-full"
    value={value}
    onChange={(event) => onChange(event.target.value)}
  >
    {options.map((option) => (
      <option key={option.value} value={option.value}>
        {option.label}
      </option>
    ))}
  </select>
);

/** A value that is one text, number or answer. */
const textOf = (value: Condition['value'], otherwise: string): string =>
  value === undefined || typeof value === 'object' ? otherwise : String(value);

/** With which value it is compared. */
function ValueField({
  condition,
  onChange,
  invalid,
}: {
  condition: Condition;
  onChange: (condition: Condition) => void;
  invalid: object;
}) {
  const { t } = useLingui();
  const { value } = condition;
  const set = (next: Condition['value']): void => onChange({ ...condition, value: next });
  const yes = [
    { value: 'true', label: t`yes` },
    { value: 'false', label: t`no` },
  ];
  const channels = Object.entries(CHANNELS).map(([channel, label]) => ({ value: channel, label }));
  switch (kindOf(condition)) {
    case 'none':
      return null;
    case 'words':
      return (
        <textarea
          {...invalid}
          aria-label={t`Value, one a line`}
          className="input-box min-h-9 w-56 max-w-full"
          rows={linesOf(value).split('\n').length}
          value={linesOf(value)}
          onChange={(event) => set(valueOfLines(event.target.value))}
        />
      );
    case 'yes':
      return (
        <Select
          label={t`Value`}
          value={textOf(value, 'true')}
          options={yes}
          onChange={(next) => set(next === 'true')}
        />
      );
    case 'channel':
      return <Select label={t`Value`} value={textOf(value, 'imessage')} options={channels} onChange={set} />;
    case 'consent':
      return (
        <Select
          label={t`Value`}
          value={textOf(value, 'true')}
          options={[...yes, ...channels]}
          onChange={(next) => set(next === 'true' ? true : next === 'false' ? false : next)}
        />
      );
    case 'number':
      return <NumberInput label={t`Value`} value={value} onChange={set} invalid={invalid} />;
    case 'days':
      return (
        <>
          <NumberInput label={t`Days`} value={value} onChange={set} invalid={invalid} />
          <Select
            label={t`Which campaigns count`}
            value={condition.campaign ?? 'any'}
            options={[
              { value: 'any', label: t`of any campaign` },
              { value: 'this', label: t`of this campaign` },
            ]}
            onChange={(campaign) => onChange({ ...condition, campaign: campaign as 'any' | 'this' })}
          />
        </>
      );
    case 'span':
      return <Span value={value} onChange={set} invalid={invalid} />;
    case 'date':
      return (
        <>
          <Select
            label={t`Compared with`}
            value={isSpan(value) ? 'now' : 'date'}
            options={[
              { value: 'date', label: t`a date` },
              { value: 'now', label: t`a time from now` },
            ]}
            onChange={(mode) => set(mode === 'now' ? { days: 0 } : '')}
          />
          {isSpan(value) ? (
            <Span value={value} onChange={set} invalid={invalid} />
          ) : (
            <input
              {...invalid}
              aria-label={t`Date`}
              placeholder="2030-01-31"
              className="input-box w-40"
              value={textOf(value, '')}
              onChange={(event) => set(event.target.value)}
            />
          )}
        </>
      );
  }
}

const NumberInput = ({
  label,
  value,
  onChange,
  invalid,
}: {
  label: string;
  value: Condition['value'];
  onChange: (value: number) => void;
  invalid: object;
}) => (
  <input
    {...invalid}
    aria-label={label}
    type="number"
    step="any"
    className="input-box w-24"
    value={Number.isNaN(value) ? '' : textOf(value, '')}
    onChange={(event) => onChange(event.target.valueAsNumber)}
  />
);

/** Days, hours and minutes. */
function Span({
  value,
  onChange,
  invalid,
}: {
  value: Condition['value'];
  onChange: (value: { days?: number; hours?: number; minutes?: number }) => void;
  invalid: object;
}) {
  const { t } = useLingui();
  const span = isSpan(value) ? value : { days: Number(value ?? 0) };
  const units = [
    ['days', t`Days`],
    ['hours', t`Hours`],
    ['minutes', t`Minutes`],
  ] as const;
  return units.map(([unit, label]) => (
    <label key={unit} className="flex items-center gap-1.5 text-[0.8125rem] text-muted">
      <input
        {...invalid}
        type="number"
        className="input-box w-20 text-ink"
        placeholder="0"
        value={span[unit] ?? ''}
        onChange={({ target }) => {
          const { [unit]: _, ...others } = span;
          onChange(target.value === '' ? others : { ...others, [unit]: target.valueAsNumber });
        }}
      />
      {label}
    </label>
  ));
}
