import { createHash } from 'node:crypto';
import type { Interceptor } from 'slonik';

/** A migration has changed the columns of a statement that is prepared. The next attempt prepares it anew. */
export class StalePlanError extends Error {
  override readonly name = 'StalePlanError';
}

/** Texts that this process remembers: far more than the product has, unless filters combine in many ways. */
const MAX_TEXTS = 2000;

/** The name of each text; null after its first use, since not every text is worth the memory of a plan. */
const names = new Map<string, string | null>();
/** Part of every name, so that new names replace the statements of an older schema. */
let generation = 0;

/**
 * Names the statements that are used again, so that each connection parses them once, and plans them once where a plan
 * for all values is as good as one for each. Otherwise most of the database's time is planning.
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
  // A text gets the same name when it is named again: nothing is prepared twice.
  if (known === undefined && names.size >= MAX_TEXTS) names.clear();
  const name =
    known === null ? createHash('sha256').update(`${generation} ${text}`).digest('base64url') : null;
  names.set(text, name);
  return name;
}

/** PostgreSQL has no code of its own for "cached plan must not change result type". */
const isStalePlan = (error: Error): boolean =>
  'routine' in error && error.routine === 'RevalidateCachedQuery';
