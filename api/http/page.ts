import { z } from 'zod';
import { endOf, Instant as InstantText, Moment, startOf } from '#domain/base/moment.ts';
import { Id, WorkspaceId } from '#domain/base/ids.ts';
import { AGENCY_LIMITS } from '#domain/accounts/limits.ts';

/** A whole number in a query, as digits: `Number` would also take `1e1`, `0x10` and blanks. */
export function wholeNumber(min: number, max: number, value: number) {
  const range = `must be from ${min} to ${max}`;
  return (
    z
      .preprocess(
        (text) => (typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text),
        z.int('must be a whole number').min(min, range).max(max, range),
      )
      .default(value)
      // The OpenAPI document omits the default of what is preprocessed.
      .meta({ override: { default: value } })
  );
}

/** Pagination by id. */
export const PageQuery = z.object({
  limit: wholeNumber(1, 200, 50),
  cursor: Id.optional().meta({ description: '`nextCursor` of the previous page.' }),
});

/** Pagination for an agency's workspaces; by default, one page contains all that it may have. */
export const ClientPageQuery = z.object({
  limit: wholeNumber(1, AGENCY_LIMITS.workspaces.max, AGENCY_LIMITS.workspaces.max),
  cursor: WorkspaceId.optional().meta({ description: '`nextCursor` of the previous page.' }),
});

/** A time in a request. */
export const Instant = InstantText.transform((text) => new Date(text));

/** Filters by time. Days are those of the workspace. */
export const SpanQuery = z.object({
  since: Moment.optional().meta({
    description: 'At this time or later; a date means the start of that day.',
  }),
  until: Moment.optional().meta({
    description: 'At this time or earlier; a date means the end of that day.',
  }),
});

export const spanOf = ({ since, until }: z.output<typeof SpanQuery>, timezone: string) => ({
  since: since === undefined ? undefined : startOf(since, timezone),
  until: until === undefined ? undefined : endOf(until, timezone),
});

export const NextCursor = z.string().nullable().meta({ description: 'null on the last page.' });

/** Builds a page from `limit + 1` rows; the extra row means that there is a next page. */
export function page<T extends { id: string }>(
  rows: readonly T[],
  limit: number,
): { items: T[]; nextCursor: string | null } {
  const items = rows.slice(0, limit);
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** Like `page`, for items that are in the form of responses already. */
export function pageOfRecords<T extends { _id: string }>(
  records: readonly T[],
  limit: number,
): { items: T[]; nextCursor: string | null } {
  const { items, nextCursor } = page(
    records.map((record) => ({ id: record._id, record })),
    limit,
  );
  return { items: items.map(({ record }) => record), nextCursor };
}
