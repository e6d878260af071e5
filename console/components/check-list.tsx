import type { MessageDescriptor } from '@lingui/core';
import { useLingui } from '@lingui/react/macro';
import { type ReactNode, useId } from 'react';
import { classes } from './class-names.ts';

/** Names to tick, each with what it means; what is ticked keeps the order of `options`. */
export function CheckList<Name extends string>({
  legend,
  options,
  value,
  onChange,
  error,
  namesOnPhones = false,
}: {
  legend: ReactNode;
  /** What each name means. */
  options: Readonly<Record<Name, MessageDescriptor>>;
  value: readonly Name[];
  onChange: (value: Name[]) => void;
  /** Why the value is invalid (`issueOf`). */
  error?: string | undefined;
  /** Shows the names themselves on phones, too: for short ones. */
  namesOnPhones?: boolean;
}) {
  const { t } = useLingui();
  const noteId = useId();
  const names = Object.keys(options) as Name[];
  const toggle = (name: Name, isOn: boolean): void =>
    onChange(names.filter((known) => (known === name ? isOn : value.includes(known))));
  return (
    <fieldset aria-describedby={error && noteId}>
      <legend className="mb-1.5 font-medium">{legend}</legend>
      <div className="divide-y divide-line rounded-lg border border-line">
        {names.map((name) => (
          <label key={name} className="flex cursor-pointer items-center gap-2.5 px-3 py-2">
            <input
              type="checkbox"
              className="size-4 shrink-0 accent-accent"
              checked={value.includes(name)}
              onChange={(event) => toggle(name, event.target.checked)}
            />
            <span className="min-w-0 flex-1">{t(options[name])}</span>
            <code className={classes('font-mono text-xs text-muted', !namesOnPhones && 'max-sm:hidden')}>
              {name}
            </code>
          </label>
        ))}
      </div>
      {error && (
        <p id={noteId} className="mt-1.5 text-[0.8125rem] text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}
