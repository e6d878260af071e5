import { Trans } from '@lingui/react/macro';
import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { ApiFailure } from '#console/api/client.ts';
import { suggestionIn } from '#console/api/failure-texts.ts';
import { renamedField } from '#console/lib/renamed-field.ts';
import { classes } from './class-names.ts';

/** The API's message about a field of the body, by its path: `config.url`. */
export const issueOf = (error: unknown, path: string): string | undefined =>
  error instanceof ApiFailure ? error.issues.find((issue) => issue.path === path)?.message : undefined;

/** The API's message if it belongs to none of the fields; undefined if there is no error. */
export function generalErrorOf(error: unknown, fields: readonly string[]): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const named = error instanceof ApiFailure && error.issues.some(({ path }) => fields.includes(path));
  return named ? undefined : error.message;
}

interface Labelled {
  label: ReactNode;
  hint?: ReactNode;
  /** Why the value is invalid (`issueOf`), until it is changed. */
  error?: string | undefined;
}

/** A label, its control, a hint and an error. */
export function Field({
  label,
  hint,
  error: refusal,
  value,
  children,
}: Labelled & {
  /** Of a controlled field, which its page may change, too. */
  value?: unknown;
  children: (control: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
  }) => ReactNode;
}) {
  const id = useId();
  const { error, onInput } = useOpenError(refusal, value);
  useShownError(id, error);
  const notes = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className="flex flex-col gap-1.5" onInput={onInput}>
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({ id, 'aria-describedby': notes || undefined, 'aria-invalid': error !== undefined })}
      {hint && (
        <p id={`${id}-hint`} className="text-[0.8125rem] text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-[0.8125rem] text-bad">
          {error} <Suggestion error={error} id={id} />
        </p>
      )}
    </div>
  );
}

/** What was refused is no longer there once it is changed. */
function useOpenError(refusal: string | undefined, value: unknown) {
  const [about, setAbout] = useState({ refusal, value, isChanged: false });
  // The same refusal of another attempt comes after none.
  if (about.refusal !== refusal) setAbout({ refusal, value, isChanged: false });
  const isOpen = about.refusal === refusal && about.value === value && !about.isChanged;
  return {
    error: isOpen ? refusal : undefined,
    onInput: (): void => {
      if (value === undefined && !about.isChanged) setAbout({ ...about, isChanged: true });
    },
  };
}

/** A button that puts the suggested field in. */
function Suggestion({ error, id }: { error: string; id: string }) {
  const found = suggestionIn(error);
  if (!found) return null;
  const { name, suggestion } = found;
  const put = (): void => {
    const control = document.getElementById(id);
    if (!(control instanceof HTMLTextAreaElement || control instanceof HTMLInputElement)) return;
    control.focus();
    control.setRangeText(renamedField(control.value, name, suggestion), 0, control.value.length, 'end');
    control.dispatchEvent(new InputEvent('input', { bubbles: true }));
  };
  return (
    <button type="button" className="font-medium underline" onClick={put}>
      <Trans>Write {suggestion}</Trans>
    </button>
  );
}

/** Shows the first field that is refused, and lets whoever has pressed the button of the form go on there. */
function useShownError(id: string, error: string | undefined): void {
  useEffect(() => {
    if (!error) return;
    const control = document.getElementById(id);
    const form = control?.closest('form');
    if (!control || form?.querySelector('[aria-invalid=true]') !== control) return;
    (control.parentElement ?? control).scrollIntoView({ block: 'nearest' });
    const { activeElement: active } = document;
    if (active === document.body || (active instanceof HTMLButtonElement && active.type === 'submit'))
      control.focus({ preventScroll: true });
  }, [id, error]);
}

export const TextField = ({
  label,
  hint,
  error,
  className,
  ...rest
}: Labelled & Omit<ComponentProps<'input'>, 'id'>) => (
  <Field label={label} hint={hint} error={error} value={rest.value}>
    {(control) => <input {...rest} {...control} className={classes('input-box', className)} />}
  </Field>
);

export const TextAreaField = ({
  label,
  hint,
  error,
  className,
  ...rest
}: Labelled & Omit<ComponentProps<'textarea'>, 'id'>) => (
  <Field label={label} hint={hint} error={error} value={rest.value}>
    {(control) => <textarea {...rest} {...control} className={classes('input-box min-h-20', className)} />}
  </Field>
);

export const SelectField = ({
  label,
  hint,
  error,
  className,
  options,
  ...rest
}: Labelled &
  Omit<ComponentProps<'select'>, 'id' | 'children'> & {
    options: readonly { value: string; label: string }[];
  }) => (
  <Field label={label} hint={hint} error={error} value={rest.value}>
    {(control) => (
      <select {...rest} {...control} className={classes('input-box', className)}>
        {options.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

/** An error of the whole form, until something in it is changed. */
export function FormError({ children }: { children: ReactNode }) {
  const element = useRef<HTMLParagraphElement>(null);
  const [changed, setChanged] = useState<ReactNode>(null);
  if (changed && changed !== children) setChanged(null);
  useEffect(() => {
    const form = element.current?.closest('form');
    const hide = (): void => setChanged(children);
    form?.addEventListener('input', hide);
    return () => form?.removeEventListener('input', hide);
  }, [children]);
  // It ends a form that may be longer than its window.
  useEffect(() => {
    // Newer browsers return a promise, which React would take for what to do in the end.
    element.current?.scrollIntoView({ block: 'nearest' });
  }, [children]);
  return children && changed !== children ? (
    <p ref={element} role="alert" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
      {children}
    </p>
  ) : null;
}
