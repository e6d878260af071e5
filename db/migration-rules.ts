/**
 * Old processes run while a migration is applied, and until they are replaced. So a migration must not remove what they read
 * and write: first add, then use, and remove in a later release.
 */
const REMOVALS: readonly [pattern: RegExp, why: string][] = [
  [
    /^drop (table|view|materialized view|function|procedure|sequence|type|schema)\b/i,
    'removes what they use',
  ],
  [/\bdrop column\b/i, 'removes a column that they read'],
  [/\brename (to|column|constraint)\b|\brename \w+ to\b/i, 'renames what they name'],
  [/\balter column \w+ (set data )?type\b/i, 'changes the type of what they read'],
];
const BREAKS: readonly [pattern: RegExp, why: string][] = [
  ...REMOVALS,
  [/\balter column \w+ (set not null|drop default)\b/i, 'refuses rows that they insert'],
  [
    /\badd column (?:if not exists )?\w+ (?!.*\bdefault\b|.*\bgenerated\b).*\bnot null\b/i,
    'refuses rows that they insert',
  ],
  [
    /\badd (constraint \w+ )?(check|unique|primary key|foreign key|exclude)\b/i,
    'refuses rows that they insert',
  ],
  [/^create unique index\b/i, 'refuses rows that they insert'],
  [/^revoke\b/i, 'takes a right that they may use'],
  [/^create (constraint )?trigger\b/i, 'changes what happens to their writes'],
];

/** What a statement removes, renames or retypes. */
const REMOVED = [
  /^drop (?:table|view|materialized view|function|procedure|sequence|type|schema) (?:if exists )?(\w+)/i,
  /^alter (?:table|view|materialized view|function|procedure|sequence|type|schema) (?:if exists )?(?:only )?(\w+)[^,]*? rename to\b/i,
  /\b(?:drop|rename) column (?:if exists )?(\w+)/gi,
  /\balter column (\w+) (?:set data )?type\b/gi,
];

const removedNames = (statement: string): string[] =>
  REMOVED.flatMap((pattern) =>
    [...statement.matchAll(new RegExp(pattern, 'gi'))].map(([, name = '']) => name.toLowerCase()),
  );

/**
 * A comment before a statement that says why it is nevertheless safe for old processes. Of a removal, it is not enough: the release
 * before must not name what is removed.
 */
const REASON = /^--\s*old processes: \S/im;

const CREATED = /create (?:unlogged )?table (?:if not exists )?(\w+)/gi;

/**
 * @param isUsed whether the source of the previous release names something.
 * @returns the statements of a migration that could break processes of the previous release.
 */
export function unsafeStatements(migration: string, isUsed: (name: string) => boolean): string[] {
  const created = [...migration.matchAll(CREATED)].map(([, table = '']) => table);
  const bodiless = migration.replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''");
  return bodiless.split(/;\s*$/m).flatMap((text) => {
    const statement = text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim();
    const isOfNewTable = created.some((table) =>
      new RegExp(`\\b(table|on) (only )?${table}\\b`, 'i').test(statement),
    );
    if (isOfNewTable) return [];
    const removal = REMOVALS.find(([pattern]) => pattern.test(statement));
    const used = removal ? removedNames(statement).filter(isUsed) : [];
    if (removal && used.length > 0)
      return [
        `${statement.slice(0, 100)}: ${removal[1]} (${used.join(', ')}); remove it in the next release`,
      ];
    if (REASON.test(text)) return [];
    const found = BREAKS.find(([pattern]) => pattern.test(statement));
    return found ? [`${statement.slice(0, 100)}: ${found[1]}`] : [];
  });
}
