import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { Linepace } from '#sdk/typescript/src/index.ts';
import { variable } from '../environment.ts';
import { CommandFailed, EXIT } from '../exit-code.ts';
import { objectOf, parseJson, textIn } from '../json.ts';
import { globalOptions, print, printable, table } from '../output.ts';
import { isLoopback, profileNames, requireKey, requireSafe, saveProfile, serverOf } from '../profiles.ts';

interface Options {
  url?: string;
  key?: string;
  test?: boolean;
  demo?: boolean;
}

const TEST_KEY_PREFIX = 'svc_test_';

/** What `npm start` writes in the clone of the repository. */
interface Demo {
  baseUrl?: string;
  workspaceKey?: string | undefined;
  sessionToken?: string | undefined;
}

export const login = (): Command =>
  new Command('login')
    .description('Store a key for the other commands.')
    .option('--url <url>', 'where Linepace runs')
    .option('--key <key>', 'a workspace key; default: asked for, or read from standard input')
    .option('--demo', 'in a clone with a running `npm start`: the server and the key of its demo')
    .option('--test', 'sign in to the test workspace, which reaches no carrier')
    .action(async (options: Options, command: Command) => {
      if (options.demo && (options.url !== undefined || options.key !== undefined))
        throw new CommandFailed(
          '--demo takes the server and the key of the demo: omit --url and --key',
          EXIT.USAGE,
        );
      const demo = options.demo ? await readDemo() : {};
      const url = serverOf(
        options.url ?? demo.baseUrl ?? variable('LINEPACE_URL') ?? 'http://localhost:3000',
      );
      requireSafe(url);
      // On standard error, so that a person sees where the key goes before they enter it.
      console.error(printable(`Signing in at ${new URL(url).host}.`));
      const ofDemo = options.demo ? await keyOfDemo(url, demo, options.test) : undefined;
      const apiKey = options.key ?? ofDemo ?? (await askForKey(url, options.test));
      requireKey(apiKey, options.key === undefined ? 'standard input' : '--key');
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

/** Any folder may contain such a file, so it names a server of this machine or none. @throws CommandFailed */
async function readDemo(): Promise<Demo> {
  const text = await readFile('.data/demo.json', 'utf8').catch(() => null);
  if (text === null)
    throw new CommandFailed('There is no .data/demo.json here: run `npm start` first', EXIT.USAGE);
  const demo = objectOf(parseJson(text));
  const [baseUrl, workspaceKey, sessionToken] = ['baseUrl', 'workspaceKey', 'sessionToken'].map((name) =>
    textIn(demo, name),
  );
  if (baseUrl === undefined || !isLoopback(baseUrl))
    throw new CommandFailed('The demo in .data/demo.json is not on this machine', EXIT.USAGE);
  return { baseUrl, workspaceKey, sessionToken };
}

async function askForKey(url: string, isTest = false): Promise<string> {
  if (!process.stdin.isTTY) return (await text(process.stdin)).trim();
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const kind = isTest ? `Test key (${TEST_KEY_PREFIX}…)` : 'API key (svc_…)';
  const key = await prompt.question(printable(`${kind} for ${new URL(url).host}: `));
  prompt.close();
  return key.trim();
}

export const profiles = (): Command =>
  new Command('profiles').description('List the profiles.').action(async (_options, command: Command) => {
    print(command, await profileNames(), (found) => table(found, ['name', 'url', 'isCurrent']));
  });
