import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { defineConfig, type OxlintOverride } from 'oxlint';

const FOLDERS = [
  'domain',
  'db',
  'providers',
  'activities',
  'workflows',
  'workers',
  'api',
  'simulator',
  'console',
  'sdk',
  'cli',
  'standalone',
  'test',
  'lab',
  'examples',
] as const;
type Folder = (typeof FOLDERS)[number];

/** The folders of every layer (docs/architecture.md); `domain/shared` is apart, because the console runs its rules. */
const SUBJECTS = [
  'messages',
  'sending',
  'lines',
  'contacts',
  'campaigns',
  'inbox',
  'drafts',
  'crm',
  'events',
  'billing',
  'accounts',
  'analytics',
  'test-mode',
  'base',
];

interface Pattern {
  regex: string;
  message: string;
  allowTypeImports?: boolean;
}

// The linter ignores a regex that it does not support, such as one with a lookahead: standalone/layers.test.ts shows
// that every rule here refuses what it should.

/** Imports of files in these folders, by alias or by relative path. */
const from = (folders: readonly string[]): string => `^(#|(\\.\\./)+)(${folders.join('|')})/`;
const WORKFLOW_FILES = '^(#|(\\.\\./)+)workflows/[^/]+$';

/** Refuses imports from all folders but `allowed`. `workflows/protocol` is allowed with `protocol`. */
function onlyFrom(allowed: readonly (Folder | 'protocol')[], message: string): Pattern[] {
  const refused = FOLDERS.filter((folder) => folder !== 'workflows' && !allowed.includes(folder));
  const patterns = [{ regex: from(refused), message }];
  if (allowed.includes('workflows')) return patterns;
  return [
    ...patterns,
    { regex: allowed.includes('protocol') ? WORKFLOW_FILES : from(['workflows']), message },
  ];
}

/** Packages of package.json and modules of Node, except `allowed`. */
function noPackages(allowed: readonly string[], message: string): Pattern[] {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const packages = Object.keys(dependencies).filter((name) => !allowed.includes(name));
  const modules = builtinModules.filter((name) => !name.startsWith('_') && !allowed.includes(`node:${name}`));
  return [
    { regex: `^(${packages.map((name) => name.replaceAll('.', '\\.')).join('|')})(/|$)`, message },
    { regex: `^node:(${modules.join('|')})$`, message },
  ];
}

const NO_TEXT_ENGINES: Pattern = {
  regex: '^(liquidjs|csv-parse)(/|$)',
  message:
    'Use domain/messages/template.ts for templates and providers/lead-file.ts for CSV: they bound what a text can cost.',
};
const NO_PARSERS: Pattern = {
  regex: '^(postal-mime|html-to-text|file-type|mailparser)$',
  message: 'Untrusted content is parsed in a process of its own: use providers/untrusted/jobs.ts.',
};
const NO_SQL: Pattern = {
  regex: '^(slonik|pg)(/|$)',
  message: 'SQL belongs in db/: add a query to the file of its noun in db/queries.',
};

/** Of the product's processes: text that others wrote is bounded before it is parsed. */
const OWN_JSON = {
  object: 'JSON',
  property: 'parse',
  message:
    'Use domain/base/untrusted-json.ts, or domain/base/own-json.ts for what this product wrote itself.',
};
const FETCHED_JSON = {
  property: 'json',
  allowObjects: ['z', 'sql'],
  message: 'Read the text, and parse it with domain/base/untrusted-json.ts.',
};
const CLI_JSON = "Read the text, and parse it with cli/json.ts: a folder or a server may be anybody's.";
const UNBOUNDED_LIST = {
  object: 'z',
  property: 'array',
  message: 'Use domain/base/bounded-schema.ts: zod checks each element of a list before its length.',
};

/** `migrate` loads it when it is asked to distribute the database. */
const NO_CLUSTER: Pattern = {
  regex: '(^#db|/|^\\./)distribution/',
  message: 'Nothing on one server knows of a cluster: db/distribution is for `npm run migrate` only.',
};

/** One folder's rule. `no-restricted-imports` of a later override replaces the earlier one, so each lists all patterns. */
const layer = (files: string, ...patterns: Pattern[]): OxlintOverride => ({
  files: [files],
  excludeFiles: ['**/*.test.ts'],
  rules: { 'no-restricted-imports': ['error', { patterns: [NO_TEXT_ENGINES, NO_CLUSTER, ...patterns] }] },
});

const API_ONLY_FROM = [
  ...onlyFrom(
    ['api', 'db', 'domain', 'providers', 'protocol'],
    'api imports db, domain, providers and workflows/protocol only.',
  ),
  {
    regex: '^@temporalio/(worker|activity|workflow|testing)',
    message: 'The API process loads the Temporal client only.',
  },
];
const DB_ONLY_FROM = onlyFrom(['db', 'domain', 'protocol'], 'db imports domain and workflows/protocol only.');

/** Which folder may import what: docs/architecture.md. */
const LAYERS: OxlintOverride[] = [
  layer(
    'domain/**',
    ...onlyFrom(['domain'], 'domain holds pure rules: it imports nothing from other folders.'),
    ...noPackages(
      [
        'zod',
        'liquidjs',
        'csv-parse',
        'libphonenumber-js',
        'standardwebhooks',
        '@hapi/bourne',
        'ipaddr.js',
        'isbot',
        'temporal-polyfill',
        'node:crypto',
      ],
      'domain holds rules: no input or output.',
    ),
  ),
  layer('db/{*.ts,{connection,phones,wakes}/**}', NO_PARSERS, ...DB_ONLY_FROM, {
    regex: '^(#db|(\\.\\./)*\\.?\\.)/(queries|commands)/',
    message: 'Connections and wakes serve queries and commands: they import neither.',
  }),
  layer('db/queries/**', NO_PARSERS, ...DB_ONLY_FROM, {
    regex: '^(#db|(\\.\\./)+(db)?)/?commands/',
    message: 'Commands call queries; queries never call commands.',
  }),
  layer('db/commands/**', NO_PARSERS, ...DB_ONLY_FROM),
  layer(
    'providers/**',
    NO_PARSERS,
    NO_SQL,
    ...onlyFrom(['providers', 'domain', 'protocol'], 'providers import domain and workflows/protocol only.'),
  ),
  layer(
    'providers/untrusted/**',
    NO_SQL,
    ...onlyFrom(['providers', 'domain'], 'Parsers of untrusted content import domain and providers only.'),
  ),
  layer(
    'activities/**',
    NO_PARSERS,
    NO_SQL,
    ...onlyFrom(
      ['activities', 'db', 'domain', 'providers', 'workflows'],
      'activities import db, domain, providers and workflows/protocol only.',
    ),
    {
      regex: WORKFLOW_FILES,
      allowTypeImports: true,
      message: 'activities import workflows by type only, except workflows/protocol.',
    },
  ),
  layer(
    'workflows/**',
    ...onlyFrom(
      ['workflows', 'domain', 'activities'],
      "Workflows run in Temporal's sandbox: they import domain and workflows only.",
    ),
    ...noPackages(
      ['@temporalio/workflow', '@temporalio/common'],
      "Workflows run in Temporal's sandbox: no input, output or timers but Temporal's.",
    ),
    {
      regex: from(['activities']),
      allowTypeImports: true,
      message: 'workflows import activities by type only.',
    },
  ),
  layer('api/**', NO_PARSERS, NO_SQL, ...API_ONLY_FROM),
  layer('api/{auth,http}/**', NO_PARSERS, NO_SQL, ...API_ONLY_FROM, {
    regex: '^(#api|(\\.\\./)+)/?routes/',
    message: 'Routes are built on the framework: it imports none of them.',
  }),
  layer(
    'workers/**',
    NO_PARSERS,
    NO_SQL,
    ...onlyFrom(
      ['workers', 'activities', 'workflows', 'db', 'domain', 'providers'],
      'workers are a process of production: they import neither api nor anything of the one-machine start.',
    ),
  ),
  {
    files: ['cli/**'],
    rules: {
      // Without NO_TEXT_ENGINES: the file is the user's own.
      'no-restricted-imports': [
        'error',
        { patterns: onlyFrom(['cli', 'sdk'], 'The command line knows the product by its SDK only.') },
      ],
    },
  },
  layer(
    'simulator/**',
    NO_SQL,
    ...onlyFrom(
      ['simulator', 'domain', 'providers'],
      'The simulator is a service of its own, known to the product over HTTP only.',
    ),
  ),
  layer(
    'console/**',
    {
      // By alias: `../api/` is a folder of the console's own.
      regex: `^#(${FOLDERS.filter((folder) => !['console', 'api', 'domain'].includes(folder)).join('|')})/`,
      message: 'The console knows the product by its API only.',
    },
    {
      // Except for the rules in `domain/shared`, whose result it shows before it asks the API.
      regex: `^#(api/|domain/(${SUBJECTS.join('|')})/)|^(\\.\\./){2,}(api|domain)/`,
      allowTypeImports: true,
      message: 'The console imports types only: what the API accepts and returns.',
    },
  ),
];

const UNBOUNDED_TEXT = {
  property: 'normalize',
  message: 'It takes quadratic time for hostile texts: use normalize() of domain/base/text.ts.',
};

export default defineConfig({
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'node', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error' },
  ignorePatterns: [
    // Built and linted with the tools of the program that runs it.
    'integrations/**',
    '.data/**',
    'test/histories/**',
    'console/dist*/**',
    'api/dist/**',
    'console/public/**',
    'sdk/typescript/src/generated/**',
  ],
  rules: {
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-self-import': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/ban-ts-comment': 'error',
    'typescript/no-floating-promises': [
      'error',
      { allowForKnownSafeCalls: [{ from: 'package', name: 'test', package: 'node:test' }] },
    ],
    // Koa and node:http take async listeners; they settle every rejection themselves.
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
    'oxc/no-async-endpoint-handlers': 'off',
    'typescript/consistent-type-imports': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'eslint/eqeqeq': ['error', 'always'],
    'unicorn/prefer-node-protocol': 'error',
    'eslint/no-restricted-properties': ['error', UNBOUNDED_TEXT],
    // Assertions on results of JSON.parse and on errors are reviewed; each would need a schema otherwise.
    'typescript/no-unsafe-type-assertion': 'off',
    // `_id` and similar names belong to the API.
    'eslint/no-underscore-dangle': 'off',
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
    'unicorn/consistent-function-scoping': 'off',
    // Sends, retries and migrations run one at a time on purpose.
    'eslint/no-await-in-loop': 'off',
    // `new Intl.DateTimeFormat(…)` and `new URL(…)` check a zone or an address.
    'eslint/no-new': 'off',
    'typescript/consistent-return': 'off',
    // Services and contexts are closures, meant to be destructured; none of their methods uses `this`.
    'typescript/unbound-method': 'off',
    'vitest/require-mock-type-parameters': 'off',
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
    'vitest/consistent-test-it': ['error', { fn: 'test', withinDescribe: 'it' }],
    'eslint/no-shadow': 'off',
  },
  overrides: [
    { files: ['**/*.test.ts'], rules: { 'eslint/no-restricted-properties': 'off' } },
    {
      files: ['**/*.test.ts', 'test/**'],
      rules: {
        // Some tests assert through a function of their own, or by what throws.
        'vitest/expect-expect': 'off',
        'vitest/no-conditional-expect': 'off',
        // Tests read responses as they come, without schemas.
        'typescript/require-array-sort-compare': 'off',
        'typescript/restrict-template-expressions': 'off',
      },
    },
    {
      files: ['console/**', 'docs/.vitepress/theme/**'],
      rules: {
        // Style sheets are imported for their effect.
        'import/no-unassigned-import': ['error', { allow: ['**/*.css'] }],
      },
    },
    {
      files: ['console/**'],
      plugins: ['typescript', 'unicorn', 'oxc', 'import', 'react', 'jsx-a11y'],
      env: { browser: true },
      rules: {
        'react/react-in-jsx-scope': 'off',
        'react/exhaustive-deps': 'error',
        'react/rules-of-hooks': 'error',
        // These are about the React Compiler, which is not used.
        'react/purity': 'off',
        'react/incompatible-library': 'off',
        'react/exhaustive-effect-dependencies': 'off',
        // Contacts send voice notes and films without captions.
        'jsx-a11y/media-has-caption': 'off',
        // A part that scrolls needs the focus to be scrolled by keyboard.
        'jsx-a11y/no-noninteractive-tabindex': 'off',
        // No other tag is a list of options that an input controls.
        'jsx-a11y/prefer-tag-over-role': 'off',
      },
    },
    {
      files: ['domain/**', 'db/**', 'activities/**', 'workflows/**', 'workers/**', 'api/**', 'simulator/**'],
      excludeFiles: ['**/*.test.ts', 'domain/base/own-json.ts'],
      rules: { 'eslint/no-restricted-properties': ['error', UNBOUNDED_TEXT, OWN_JSON] },
    },
    {
      files: ['cli/**/*.ts'],
      excludeFiles: ['**/*.test.ts', 'cli/json.ts'],
      rules: {
        'eslint/no-restricted-properties': ['error', UNBOUNDED_TEXT, { ...OWN_JSON, message: CLI_JSON }],
      },
    },
    { files: ['domain/base/text.ts'], rules: { 'eslint/no-restricted-properties': ['error', OWN_JSON] } },
    {
      files: ['providers/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'eslint/no-restricted-properties': ['error', UNBOUNDED_TEXT, OWN_JSON, FETCHED_JSON, UNBOUNDED_LIST],
      },
    },
    ...LAYERS,
  ],
});
