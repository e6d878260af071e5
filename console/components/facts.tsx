import type { ReactNode } from 'react';

/** A list of names and values. */
export const Facts = ({ children }: { children: ReactNode }) => (
  <dl className="divide-y divide-line rounded-lg border border-line">{children}</dl>
);

/** Not shown without a value. */
export const Fact = ({ name, children }: { name: string; children: ReactNode }) =>
  children === null || children === undefined || children === '' ? null : (
    <div className="flex gap-4 px-3 py-2">
      <dt className="w-32 shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
