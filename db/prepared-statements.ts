import { createHash } from 'node:crypto';
import type { Interceptor } from 'slonik';

/** A migration changed the columns of a prepared statement. A retry prepares it again. */
export class StalePlanError extends Error {
  override readonly name = 'StalePlanError';
}

/** The maximum number of statements to remember. The product has far fewer, but filters combine in many ways. */
const MAX_TEXTS = 2000;

/** The name of each statement; null after its first use, because a plan costs memory. */
const names = new Map<string, string | null>();
/** Part of every name: a new number replaces the statements prepared for an older schema. */
let generation = 0;

/**
 * Prepares repeated statements, so that each connection parses them once, and plans them once if a generic plan is as
 * good. Without this, the database spends most of its time planning.
 */
export const prepareStatements: Interceptor = {
  name: 'prepare-statements',
  transformQuery: (_, query) => {
    const name = statementName(query.sql);
    return name === null ? query : { ...query, name };
  },
  queryExecutionError: (_, query, error) => {
    if (!isStalePlan(error)) return null;
    if (names.get(query.sql) === query.name) {
      generation += 1;
      names.clear();
    }
    throw new StalePlanError(error.message, { cause: error });
  },
};

function statementName(text: string): string | null {
  const known = names.get(text);
  if (typeof known === 'string') return known;
  // The same statement gets the same name again, so nothing is prepared twice.
  if (known === undefined && names.size >= MAX_TEXTS) names.clear();
  const name =
    known === null ? createHash('sha256').update(`${generation} ${text}`).digest('base64url') : null;
  names.set(text, name);
  return name;
}

/** PostgreSQL has no error code of its own for "cached plan must not change result type". */
const isStalePlan = (error: Error): boolean =>
  'routine' in error && error.routine === 'RevalidateCachedQuery';
