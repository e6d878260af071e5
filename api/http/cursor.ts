import { z } from 'zod';
import { findUnstorable, parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { PageQuery } from './page.ts';

/** The position of the last item in a list ordered by time and key. Opaque to callers. */
export interface Position {
  at: Date;
  key: string;
}

export const encodeCursor = ({ at, key }: Position): string =>
  Buffer.from(JSON.stringify([at.getTime(), key])).toString('base64url');

/** Pagination for lists whose items have no id. */
export const PositionQuery = z.object({
  limit: PageQuery.shape.limit,
  cursor: z
    .string()
    .max(1000)
    .transform(decode)
    .optional()
    .meta({ description: '`nextCursor` of the previous page.' }),
});

/** Limits cursors to values that the database accepts. */
const Encoded = z.tuple([
  z
    .int()
    .min(0)
    .max(Date.UTC(9999, 11, 31)),
  z.string().refine((key) => findUnstorable(key) === null),
]);

function decode(cursor: string, context: z.RefinementCtx): Position {
  try {
    const [at, key] = Encoded.parse(parseUntrustedJson(Buffer.from(cursor, 'base64url').toString()));
    return { at: new Date(at), key };
  } catch {
    context.addIssue({ code: 'custom', message: 'must be the nextCursor of an earlier response' });
    return z.NEVER;
  }
}

/** Like `page`, for lists ordered by time and key. */
export function pageBy<T>(
  rows: readonly T[],
  limit: number,
  position: (row: T) => Position,
): { items: T[]; nextCursor: string | null } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items,
    nextCursor: rows.length > limit && last !== undefined ? encodeCursor(position(last)) : null,
  };
}
