import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { Linepace } from '#sdk/typescript/src/index.ts';
import { CommandFailed, EXIT } from '../exit-code.ts';
import { globalOptions, print, table } from '../output.ts';
import { profileNames, saveProfile } from '../profiles.ts';

interface Options {
  url?: string;
  key?: string;
  test?: boolean;
}

const TEST_KEY_PREFIX = 'svc_test_';

/** What `npm start` writes in the clone of the repository. */
interface Demo {
  baseUrl?: string;
  workspaceKey?: string;
  sessionToken?: string;
}

export const login = (): Command =>
  new Command('login')
    .description(
      'Store a key for the other commands. In a clone with a running `npm start`, that of its demo.',
    )
    .option('--url <url>', 'where Linepace runs')
    .option('--key <key>', 'a workspace key; default: asked for, or read from standard input')
    .option('--test', 'sign in to the test workspace, which reaches no carrier')
    .action(async (options: Options, command: Command) => {
      const demo = await readDemo();
      const url = options.url ?? process.env['LINEPACE_URL'] ?? demo.baseUrl ?? 'http://localhost:3000';
      const ofDemo = options.url === undefined ? await keyOfDemo(url, demo, options.test) : undefined;
      const apiKey = options.key ?? ofDemo ?? (await askForKey(options.test));
      if (options.test && !apiKey.startsWith(TEST_KEY_PREFIX))
        throw new CommandFailed(`--test needs a key that begins with ${TEST_KEY_PREFIX}`, EXIT.USAGE);

      const { workspace } = await new Linepace({ baseUrl: url, apiKey }).workspace.get();
      const profile = globalOptions(command).profile ?? (options.test ? 'test' : 'default');
      const storedIn = await saveProfile({ profile, url, apiKey });
      print(
        command,
        { profile, url, workspaceId: workspace._id, name: workspace.name, storedIn },
        ({ name }) => `Signed in to ${name} at ${url}, as the profile ${profile} (key in the ${storedIn}).`,
      );
    });

/** A test key is created by the demo's owner, because the demo has none. */
async function keyOfDemo(url: string, demo: Demo, isTest = false): Promise<string | undefined> {
  if (!isTest || demo.sessionToken === undefined) return isTest ? undefined : demo.workspaceKey;
  const owner = new Linepace({ baseUrl: url, apiKey: demo.sessionToken });
  return (await owner.keys.create({ name: 'Command line', mode: 'test' })).key;
}

async function readDemo(): Promise<Demo> {
  const demo = await readFile('.data/demo.json', 'utf8').catch(() => '{}');
  return JSON.parse(demo) as Demo;
}

async function askForKey(isTest = false): Promise<string> {
  if (!process.stdin.isTTY) return (await text(process.stdin)).trim();
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const key = await prompt.question(isTest ? `Test key (${TEST_KEY_PREFIX}…): ` : 'API key (svc_…): ');
  prompt.close();
  return key.trim();
}

export const profiles = (): Command =>
  new Command('profiles').description('List the profiles.').action(async (_options, command: Command) => {
    print(command, await profileNames(), (found) => table(found, ['name', 'url', 'isCurrent']));
  });
