import { useLingui } from '@lingui/react/macro';
import { SelectField, TextField } from '#console/components/field.tsx';
import type { Setting } from './carrier-settings.ts';

/** The field of one setting of a carrier. */
export function SettingField({
  setting: { name, label, hint, required, secret, options },
  value,
  onChange,
  onBlur,
  error,
}: {
  setting: Setting;
  value: string;
  onChange: (value: string) => void;
  onBlur?: () => void;
  error: string | undefined;
}) {
  const { t } = useLingui();
  const shown = required ? label : t`${label} (optional)`;
  if (options) {
    return (
      <SelectField
        label={shown}
        value={value}
        hint={hint}
        options={[...(required ? [] : [{ value: '', label: t`Default` }]), ...options]}
        onChange={(event) => onChange(event.target.value)}
        onBlur={onBlur}
        error={error}
      />
    );
  }
  return (
    <TextField
      label={shown}
      name={name}
      type={secret ? 'password' : 'text'}
      autoComplete="off"
      value={value}
      hint={[hint, secret && t`Stored encrypted and never shown again.`].filter(Boolean).join(' ')}
      onChange={(event) => onChange(event.target.value)}
      onBlur={onBlur}
      error={error}
    />
  );
}
