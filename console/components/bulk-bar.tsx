import { useLingui } from '@lingui/react/macro';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from './button.tsx';

/** What is done with the selected rows of a list. */
export function BulkBar({
  label,
  count,
  clear,
  children,
}: {
  label: string;
  /** How many are selected, in words. */
  count: ReactNode;
  clear: () => void;
  children: ReactNode;
}) {
  const { t } = useLingui();
  return (
    <div
      role="group"
      aria-label={label}
      className="flex shrink-0 flex-wrap items-center gap-1.5 border-b border-line bg-accent-soft p-2"
    >
      <span role="status" className="mr-auto font-medium">
        {count}
      </span>
      <IconButton label={t`Clear the selection`} onClick={clear}>
        <X className="size-4" aria-hidden="true" />
      </IconButton>
      <div className="flex w-full flex-wrap gap-1.5">{children}</div>
    </div>
  );
}
