import type { ReactNode } from 'react';
import { classes } from './class-names.ts';

/** A checkbox and its label. */
export const Check = ({
  label,
  checked,
  disabled = false,
  onChange,
  className,
}: {
  label: ReactNode;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
  className?: string;
}) => (
  <label className={classes('flex items-center gap-2', className)}>
    <input
      type="checkbox"
      className="size-4 shrink-0 accent-accent"
      checked={checked}
      disabled={disabled}
      onChange={(event) => onChange(event.target.checked)}
    />
    {label}
  </label>
);
