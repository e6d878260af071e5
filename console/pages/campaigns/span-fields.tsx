import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { TextField } from '#console/components/field.tsx';
import type { SpanDraft } from './step-draft.ts';

const UNITS = [
  { name: 'days', label: msg`Days`, most: 365 },
  { name: 'hours', label: msg`Hours`, most: 8760 },
  { name: 'minutes', label: msg`Minutes`, most: 525_600 },
] as const;

/** A time span: days, hours and minutes. */
export function SpanFields({
  legend,
  value,
  onChange,
  errorOf,
  error,
}: {
  legend: string;
  value: SpanDraft;
  onChange: (span: Partial<SpanDraft>) => void;
  errorOf: (unit: string) => string | undefined;
  /** Of all of it. */
  error?: string | undefined;
}) {
  const { t } = useLingui();
  return (
    <fieldset>
      <legend className="mb-1.5 text-[0.8125rem] text-muted">{legend}</legend>
      <div className="grid grid-cols-3 gap-3">
        {UNITS.map(({ name, label, most }) => (
          <TextField
            key={name}
            label={t(label)}
            type="number"
            min={0}
            max={most}
            placeholder="0"
            value={value[name]}
            onChange={(event) => onChange({ [name]: event.target.value })}
            error={errorOf(name)}
          />
        ))}
      </div>
      {error && <p className="mt-1.5 text-[0.8125rem] text-bad">{error}</p>}
    </fieldset>
  );
}
