import type { ReactNode } from 'react';
import { ErrorState, SkeletonRows } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

/** What `useRead` and `useReadPages` return. */
interface Read {
  error: unknown;
  refetch: () => Promise<unknown>;
  isFetching: boolean;
  hasNextPage?: boolean;
  isFetchNextPageError?: boolean;
  fetchNextPage?: () => Promise<unknown>;
}

/** A table of what was read; before that a placeholder, an error, or what is shown instead of no rows. */
export function ReadTable<T>({
  read,
  rows,
  empty,
  ...table
}: Omit<TableProps<T>, 'rows' | 'next'> & {
  read: Read;
  /** Undefined until they are read. */
  rows: readonly T[] | undefined;
  empty: ReactNode;
}) {
  if (!rows)
    return read.error ? (
      <ErrorState error={read.error} retry={() => void read.refetch()} />
    ) : (
      <SkeletonRows />
    );
  if (rows.length === 0 && !read.hasNextPage) return empty;
  const load = (): void => {
    // A next page would cancel the refetch of the rows.
    if (!read.isFetching) void read.fetchNextPage?.();
  };
  return (
    <Table
      {...table}
      rows={rows}
      {...(read.hasNextPage && { next: { load, hasFailed: read.isFetchNextPageError ?? false } })}
    />
  );
}
