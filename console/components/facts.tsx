import type { ReactNode } from 'react';

/** What is known of something, by name. */
export const Facts = ({ children }: { children: ReactNode }) => (
  <dl className="divide-y divide-line rounded-lg border border-line">{children}</dl>
);

/** Left out where nothing is known. */
export const Fact = ({ name, children }: { name: string; children: ReactNode }) =>
  children === null || children === undefined || children === '' ? null : (
    <div className="flex gap-4 px-3 py-2">
      <dt className="w-32 shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
