import type { ReactNode } from 'react';
import { useEffect } from 'react';
import { useUnread } from '#console/api/unread.ts';
import { classes } from './class-names.ts';

/**
 * The frame of a page: title, actions and scrolling content.
 * @param fill the content has its own scroll areas and fills the rest of the window.
 * @param bare the title is only read out, where the content needs the whole height.
 */
export function Page({
  title,
  description,
  above,
  actions,
  fill = false,
  bare = false,
  children,
}: {
  title: string;
  description?: ReactNode;
  /** The way back, of a page that belongs to another. */
  above?: ReactNode;
  actions?: ReactNode;
  fill?: boolean;
  bare?: boolean;
  children: ReactNode;
}) {
  const unread = useUnread();
  useEffect(() => {
    document.title = `${unread > 0 ? `(${unread}) ` : ''}${title} · Linepace`;
  }, [title, unread]);
  return (
    <div className={classes('flex h-full min-w-0 flex-col', !fill && 'scroll-y')}>
      <header
        className={classes(
          bare ? 'sr-only' : 'flex shrink-0 flex-wrap items-center gap-x-4 gap-y-2 px-4 pt-5 pb-4 md:pt-7',
          // A table that fills the window begins where its title does.
          !fill && !bare && 'mx-auto w-full max-w-6xl md:px-8',
        )}
      >
        <div className="min-w-0 flex-1 basis-40">
          {above}
          <h1 className="text-xl font-semibold tracking-tight wrap-anywhere">{title}</h1>
          {description && <p className="mt-0.5 text-muted">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div
        className={
          fill ? 'flex min-h-0 flex-1 flex-col' : 'mx-auto w-full max-w-6xl flex-1 px-4 pb-12 md:px-8'
        }
      >
        {children}
      </div>
    </div>
  );
}

/** A titled section in a drawer. */
export const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section>
    <h3 className="mb-2 font-medium">{title}</h3>
    {children}
  </section>
);

/** A card with an optional title. */
export function Card({
  title,
  actions,
  className,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}) {
  return (
    <section className={classes('rounded-xl border border-line bg-surface shadow-card', className)}>
      {title && (
        <div className="flex items-center justify-between gap-3 border-b border-line px-4 py-3">
          <h2 className="font-medium">{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}
