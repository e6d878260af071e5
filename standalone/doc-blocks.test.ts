import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { routes } from '#api/routes.ts';
import { CampaignInput } from '#domain/campaigns/campaign.ts';
import { COMMANDS } from '#workers/ops-commands.ts';
import { type Block, BLOCKS, SPANS, TYPESCRIPT } from './doc-blocks.ts';

/** Every code block of the documentation is checked: what can be compiled is, and what it names exists. */

const run = promisify(execFile);

/**
 * The test of SQL needs a server: test/conformance/sql-blocks.test.ts. `npm run check` compiles TypeScript. Output and requests
 * are for reading.
 */
const CHECKED_ELSEWHERE = ['sql', ...TYPESCRIPT, 'text', 'http'];
const CHECKS: Record<string, (block: Block) => Promise<string[]> | string[]> = {
  json: ({ text }) => problemsOf(() => JSON.parse(text)),
  yaml: ({ text }) => parseAllDocuments(text).flatMap(({ errors }) => errors.map(({ message }) => message)),
  ini: ({ text }) => text.split('\n').filter((line) => !/^(?:\[\w+\]|\w+ = \S.*|#.*|)$/.test(line)),
  sh: async (block) => [...(await unparsed('bash', ['-n'], block.text)), ...unknownCommands(block.text)],
  python: ({ text }) =>
    unparsed('python3', ['-c', 'import sys; compile(sys.stdin.read(), "block", "exec")'], text),
  go: ({ text }) => unparsed('gofmt', ['-e'], text),
};

test('every block has a language that is checked', () => {
  const known = [...CHECKED_ELSEWHERE, ...Object.keys(CHECKS)];
  expect(
    BLOCKS.filter(({ language }) => !known.includes(language)).map(({ at, language }) => `${at} ${language}`),
  ).toEqual([]);
});

test.each(Object.keys(CHECKS))(
  'every block of %s can be read, and what it names exists',
  async (language) => {
    const blocks = BLOCKS.filter((block) => block.language === language);
    const problems = await Promise.all(
      blocks.map(async (block) => {
        const found = await CHECKS[language]?.(block);
        return (found ?? []).map((problem) => `${block.at}: ${problem}`);
      }),
    );
    expect(problems.flat()).toEqual([]);
  },
);

test('the campaigns to copy can be created', () => {
  const shown = BLOCKS.filter(({ at, language }) => language === 'json' && at.includes('campaigns.md'));
  const files = globSync('examples/campaigns/*.json').map((file) => readFileSync(file, 'utf8'));
  const campaigns = [...shown.map(({ text }) => text), ...files];
  expect(campaigns.length).toBe(3);
  for (const text of campaigns) expect(CampaignInput.safeParse(JSON.parse(text)).error).toBeUndefined();
});

test('every command and endpoint in a sentence exists', () => {
  const unknown = ({ at, text }: Block): string[] =>
    [...unknownCommands(text), ...unknownEndpoint(text)].map((problem) => `${at}: ${problem}`);
  // The changelog of the API also names removed endpoints.
  const current = SPANS.filter(({ at }) => !at.includes('changelog'));
  expect(current.flatMap(unknown)).toEqual([]);
});

/** Commands that a shell block or a sentence names and that do not exist. */
function unknownCommands(source: string): string[] {
  const text = source.replaceAll('\\\n', ' ');
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const problems: string[] = [];
  const expectThat = (isKnown: boolean, what: string): void =>
    void (isKnown || problems.push(`there is no ${what}`));

  for (const [, named, test, rest = ''] of text.matchAll(
    /\bnpm (?:run (?:-s |--silent )?([a-z][\w-]*(?::[\w-]+)*)|(test|start)\b)(?: -- ([^\n|;&#`]*))?/g,
  )) {
    const script = named ?? test ?? '';
    expectThat(script in scripts, `script ${script}`);
    const [first = ''] = rest.split(' ');
    const folder = { bench: 'lab/bench', prove: 'lab/proof', example: 'examples' }[script];
    if (folder !== undefined && /^[a-z]/.test(first) && first !== 'list')
      expectThat(existsSync(`${folder}/${first}.ts`), `${folder}/${first}.ts`);
    if (script === 'ops' && /^[a-z]/.test(first)) expectThat(first in COMMANDS, `command ${first} of ops`);
    if (script === 'test')
      for (const file of rest.match(/\S+\.test\.ts\b/g) ?? []) expectThat(existsSync(file), file);
  }
  for (const [, file = ''] of text.matchAll(/\bnode (?:--\S+ )*([\w./-]+\.(?:ts|mjs|js))\b/g))
    expectThat(existsSync(file), file);
  for (const [, command = ''] of text.matchAll(/(?:^|\bnpx |`)linepace ([a-z][\w-]*)/gm))
    expectThat(CLI_COMMANDS.has(command), `command ${command} of linepace`);
  for (const [, program = ''] of text.matchAll(/\bnpx ([a-z][\w-]*)/g))
    expectThat(program === 'linepace' || existsSync(`node_modules/.bin/${program}`), `program ${program}`);
  for (const call of text.match(/^curl\b.*$/gm) ?? []) problems.push(...unknownCall(call));
  return problems;
}

const CLI_COMMANDS = new Set(
  globSync('cli/commands/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/new Command\('([\w-]+)'\)/g)].map(([, name]) => name),
  ),
);

function unknownCall(call: string): string[] {
  const [, path] = /(?:https?:\/\/[\w.:-]+|\$\{?\w*URL\}?)(\/[^\s"'?#]*)/.exec(call) ?? [];
  if (path === undefined) return [`no URL in ${call}`];
  const [, method = / (?:-d|--data\S*|-F|--form) /.test(call) ? 'POST' : 'GET'] =
    / -X (\w+)/.exec(call) ?? [];
  return unknownEndpoint(`${method} ${path}`);
}

/** `POST /api/messages` */
function unknownEndpoint(text: string): string[] {
  const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/[^\s?#]*)/.exec(text) ?? [];
  if (method === undefined || path === undefined || path.includes('…')) return [];
  const isKnown = routes.some(
    (route) =>
      route.method === method &&
      new RegExp(`^${route.path.replaceAll(/\{\*\w+\}/g, '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(
        path.replace(/\/$/, '') || '/',
      ),
  );
  return isKnown ? [] : [`there is no ${method} ${path}`];
}

async function unparsed(program: string, args: string[], source: string): Promise<string[]> {
  const running = run(program, args);
  running.child.stdin?.end(source);
  return running.then(
    () => [],
    (error: { code: string | number; stderr?: string }) =>
      // Not every contributor has all of these languages installed.
      error.code === 'ENOENT' ? [] : [error.stderr ?? `exit code ${error.code}`],
  );
}

function problemsOf(parse: () => unknown): string[] {
  try {
    parse();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
