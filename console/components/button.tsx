import type { ComponentProps, ReactNode } from 'react';
import { classes } from './class-names.ts';
import { Spinner } from './spinner.tsx';

type Kind = 'primary' | 'secondary' | 'ghost' | 'danger';

const KINDS: Record<Kind, string> = {
  primary: 'bg-accent text-white hover:bg-accent-hover border-transparent shadow-card',
  secondary: 'bg-surface text-ink hover:bg-hover border-line shadow-card',
  ghost: 'text-muted hover:text-ink hover:bg-hover border-transparent',
  danger: 'bg-surface text-bad hover:bg-bad-soft border-line shadow-card',
};

interface Props extends ComponentProps<'button'> {
  kind?: Kind;
  small?: boolean;
  /** Shows a spinner and ignores clicks. */
  busy?: boolean;
  icon?: ReactNode;
}

/** The classes of a button, for links that look like a button. */
export const buttonClasses = (kind: Kind = 'secondary', small = false): string =>
  classes(
    'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-lg border font-medium whitespace-nowrap select-none transition-colors disabled:opacity-50 disabled:pointer-events-none aria-disabled:opacity-50 aria-disabled:pointer-events-none',
    small ? 'h-7 px-2.5 text-[0.8125rem]' : 'h-9 px-3.5',
    KINDS[kind],
  );

export function Button({
  kind = 'secondary',
  small = false,
  busy = false,
  icon,
  children,
  className,
  onClick,
  ...rest
}: Props) {
  return (
    <button
      type="button"
      {...rest}
      // It keeps the focus, which a disabled button loses.
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
      className={classes(buttonClasses(kind, small), className)}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  );
}

/** An icon button. `label` is its accessible name and its tooltip. */
export function IconButton({
  label,
  className,
  children,
  ...rest
}: ComponentProps<'button'> & { label: string }) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={classes(
        'inline-flex size-8 shrink-0 items-center justify-center rounded-lg text-muted transition-colors hover:bg-hover hover:text-ink disabled:pointer-events-none disabled:opacity-50',
        className,
      )}
    >
      {children}
    </button>
  );
}
