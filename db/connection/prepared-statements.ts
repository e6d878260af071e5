import { createHash, randomBytes } from 'node:crypto';
import type { Interceptor } from 'slonik';

/** A migration changed the columns of a prepared statement. A retry prepares it again. */
export class StalePlanError extends Error {
  override readonly name = 'StalePlanError';
}

/** The maximum number of statements to remember. The product has far fewer, but filters combine in many ways. */
const MAX_TEXTS = 2000;

/** The name of each statement; null after its first use, because a plan costs memory. */
const names = new Map<string, string | null>();
/** Part of every name: another one replaces the statements prepared for an older schema. Empty until then. */
let generation = '';

/**
 * Prepares repeated statements, so that each connection parses them once, and plans them once if a generic plan is as
 * good. Without this, the database spends most of its time planning.
 */
export const prepareStatements: Interceptor = {
  name: 'prepare-statements',
  transformQuery: (_, query) => {
    const name = statementName(query.sql);
    if (name === null) return query;
    // PgBouncer treats statements with the same text as the same, whatever their names.
    return { ...query, name, ...(generation !== '' && { sql: `${query.sql} -- ${generation}` }) };
  },
  queryExecutionError: (_, query, error) => {
    if (!isStalePlan(error)) return null;
    if (query.name?.startsWith(`${generation}.`)) {
      generation = randomBytes(6).toString('hex');
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
    known === null ? `${generation}.${createHash('sha256').update(text).digest('base64url')}` : null;
  names.set(text, name);
  return name;
}

/** PostgreSQL has no specific error code for "cached plan must not change result type". */
const isStalePlan = (error: Error): boolean =>
  'routine' in error && error.routine === 'RevalidateCachedQuery';
