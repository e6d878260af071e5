import { Trans, useLingui } from '@lingui/react/macro';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { classes } from './class-names.ts';
import { Spinner } from './spinner.tsx';

export interface Column<T> {
  header: string;
  /** A track of the CSS grid: `minmax(12rem, 2fr)`, `7rem`. */
  width: string;
  cell: (row: T) => ReactNode;
  /** Right-aligned, for numbers. */
  right?: boolean;
  /** Hidden on phones. */
  wide?: boolean;
}

interface Selection<T> {
  has: (key: string) => boolean;
  toggle: (key: string) => void;
  /** What the checkbox of a row selects. */
  nameOf: (row: T) => string;
}

export interface TableProps<T> {
  /** The accessible name. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** Makes rows buttons: a click or Enter opens them. */
  onOpen?: (row: T) => void;
  /** The key of the row that is open. */
  selected?: string | undefined;
  /** Lets rows be selected, to act on several: by a checkbox, or Space. */
  selection?: Selection<T>;
  /** The next page, if there is one: it is loaded as the end comes near, after a failure only on request. */
  next?: { load: () => void; hasFailed: boolean };
  /** In pixels. */
  rowHeight?: number;
  className?: string;
}

/** More columns are closer to each other. */
const MANY = 6;

/** The next page is loaded this many rows before the end. */
const AHEAD = 20;

/**
 * A virtualized table: only visible rows are rendered, and the next page is loaded near the end. Arrow keys, or `j` and
 * `k`, move between rows. It fills the height of its container.
 */
export function Table<T>({
  label,
  columns,
  rows,
  rowKey,
  onOpen,
  selected,
  selection,
  next,
  rowHeight = 60,
  className,
}: TableProps<T>) {
  const { t } = useLingui();
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rowKey(rows[index] as T),
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (next && !next.hasFailed && last >= rows.length - AHEAD) next.load();
  }, [next, last, rows.length]);

  const focus = (index: number): void => {
    const target = Math.max(0, Math.min(rows.length - 1, index));
    setCurrent(target);
    virtual.scrollToIndex(target);
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${target}"]`)?.focus();
    });
  };
  const listen = (event: KeyboardEvent, index: number): void => {
    // Ctrl-K belongs to the palette, Alt and an arrow to the browser.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step !== undefined) focus(index + step);
    else if (event.key === 'Home') focus(0);
    else if (event.key === 'End') focus(rows.length - 1);
    else if (event.key === ' ' && selection && event.target === event.currentTarget)
      selection.toggle(rowKey(rows[index] as T));
    else if (event.key === 'Enter' && onOpen && event.target === event.currentTarget)
      onOpen(rows[index] as T);
    else return;
    event.preventDefault();
  };

  const cells = classes('grid items-center px-4', columns.length > MANY ? 'gap-2' : 'gap-4');
  const lead = selection ? '1rem ' : '';
  const grid = {
    '--columns': lead + columns.map(({ width }) => width).join(' '),
    '--narrow': lead + narrow(columns),
  };
  return (
    <div
      ref={scroller}
      role="table"
      aria-label={label}
      aria-rowcount={next ? -1 : rows.length + 1}
      className={classes('h-full scroll-y', className)}
      style={grid as never}
    >
      <div role="rowgroup" className="sticky top-0 z-10 border-b border-line bg-surface">
        <div
          role="row"
          className={classes(
            cells,
            'min-h-9 grid-cols-(--narrow) py-1 font-medium text-muted md:grid-cols-(--columns)',
            columns.length > MANY ? 'text-[0.6875rem]' : 'text-xs',
          )}
        >
          {selection && (
            <div role="columnheader" aria-label={t`Selected`}>
              <span className="sr-only">{t`Selected`}</span>
            </div>
          )}
          {columns.map(({ header, right, wide }) => (
            <div key={header} role="columnheader" className={headerClasses(right, wide)}>
              {header}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, key, start }) => {
          const row = rows[index] as T;
          const name = selection?.nameOf(row);
          return (
            <div
              key={key}
              role="row"
              data-index={index}
              aria-rowindex={index + 2}
              aria-current={selected === key ? true : undefined}
              tabIndex={index === Math.min(current, rows.length - 1) ? 0 : -1}
              onFocus={() => setCurrent(index)}
              onKeyDown={(event) => listen(event, index)}
              onClick={
                onOpen &&
                (({ target }) => {
                  if (!(target as Element).closest('label')) onOpen(row);
                })
              }
              className={classes(
                cells,
                'absolute inset-x-0 top-0 grid-cols-(--narrow) border-b border-line -outline-offset-2 aria-[current]:bg-selected md:grid-cols-(--columns)',
                onOpen && 'cursor-pointer hover:bg-hover',
              )}
              style={{ height: rowHeight, transform: `translateY(${start}px)` }}
            >
              {selection && (
                <div role="cell" className="self-stretch">
                  <label className="flex h-full items-center">
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-label={t`Select ${name}`}
                      className="size-4 accent-accent"
                      checked={selection.has(rowKey(row))}
                      onChange={() => selection.toggle(rowKey(row))}
                    />
                  </label>
                </div>
              )}
              {columns.map(({ header, cell, right, wide }) => (
                <div key={header} role="cell" className={cellClasses(right, wide)}>
                  {cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {next && (
        <div className="flex justify-center py-3 text-muted">
          {next.hasFailed ? (
            <Button small onClick={next.load}>
              <Trans>Try to load more</Trans>
            </Button>
          ) : (
            <Spinner />
          )}
        </div>
      )}
    </div>
  );
}

const narrow = (columns: readonly { width: string; wide?: boolean }[]): string =>
  columns.flatMap(({ width, wide }) => (wide ? [] : [width])).join(' ');

const placeClasses = (right?: boolean, wide?: boolean): string =>
  classes('min-w-0', right && 'text-right tabular-nums', wide && 'max-md:hidden');
const cellClasses = (right?: boolean, wide?: boolean): string =>
  classes('truncate', placeClasses(right, wide));
/** Some languages need two lines. */
const headerClasses = (right?: boolean, wide?: boolean): string =>
  classes('leading-tight hyphens-auto wrap-break-word', placeClasses(right, wide));
