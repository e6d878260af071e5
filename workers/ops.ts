import { parseArgs } from 'node:util';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { asRefusal } from '#activities/base/order.ts';
import { createPools } from '#db/connection/pools.ts';
import { readOperatorsConfig } from '#domain/base/config.ts';
import { isId, WorkspaceId } from '#domain/base/ids.ts';
import { createLogger } from '#providers/log.ts';
import { createTemporalClient, createWaker } from '#providers/temporal.ts';
import {
  type Command,
  type Options,
  Refused,
  type Session,
  takesOption,
  usageOf,
  WrongUsage,
} from './ops-command.ts';
import { COMMANDS } from './ops-commands.ts';

/** The operators' command line: parses the arguments, runs one command and prints its verdict. */

type Environment = Partial<Record<string, string>>;

const HELP = `${Object.entries(COMMANDS)
  .map(([name, command]) => `${usageOf(name, command)}\n    ${command.summary}`)
  .join('\n')}

The verdict is printed as JSON. Exit status: 0 done, 1 refused or not reachable, 2 wrong usage.
`;

/** How long an operator waits for a workflow's verdict. */
const VERDICT_TIMEOUT_MS = 30_000;

async function run(args: string[], environment: Environment): Promise<unknown> {
  const { values, positionals } = parse(args);
  const [name, id = '', ...more] = shortForm(positionals, values);
  if (values.help || name === undefined) return HELP;
  const command = COMMANDS[name];
  if (!command) throw new WrongUsage(`There is no command ${name}`);
  const isComplete = command.argument === null ? id === '' : id !== '';
  if (!isComplete || more.length > 0) throw new WrongUsage(`Usage: ${usageOf(name, command)}`);
  const foreign = Object.keys(values).find((option) => !takesOption(command, option));
  if (foreign !== undefined)
    throw new WrongUsage(`${name} takes no --${foreign}. Usage: ${usageOf(name, command)}`);
  if (!isIdOf(command.argument, id)) throw new Refused('NOT_FOUND', `${id} is not an id`);
  return inSession(environment, command, (session) => command.run(session, id, values));
}

function isIdOf(argument: string | null, id: string): boolean {
  if (argument === 'WORKSPACE_ID') return WorkspaceId.safeParse(id).success;
  return !argument?.endsWith('_ID') || isId(id);
}

/** `set-aside retry ID` is `set-aside --retry ID`. */
function shortForm([name, action, id, ...more]: string[], values: Options): string[] {
  if (name !== 'set-aside' || (action !== 'retry' && action !== 'drop'))
    return [name, action, id, ...more].filter((part) => part !== undefined);
  values[action] ??= id;
  return [name, ...more];
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        by: text,
        reason: text,
        message: text,
        action: text,
        ramp: text,
        wait: text,
        query: text,
        from: text,
        until: text,
        limit: text,
        workspace: text,
        agency: text,
        owner: text,
        role: text,
        plan: text,
        billing: text,
        timezone: text,
        country: text,
        organization: text,
        retry: text,
        drop: text,
        line: text,
        campaign: text,
        status: text,
        since: text,
        to: text,
        yes: { type: 'boolean' },
        'no-replay': { type: 'boolean' },
        history: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : 'The arguments cannot be read');
  }
}

async function inSession(
  environment: Environment,
  { needsTemporal = true, wakes = false, timeoutMs = VERDICT_TIMEOUT_MS }: Command,
  work: (session: Session) => Promise<unknown>,
): Promise<unknown> {
  const { database, temporal, ...tenants } = readOperatorsConfig(environment);
  const client = createTemporalClient(temporal);
  const waker = createWaker(client, createLogger('ops', 'silent'));
  const pools = await createPools(database, { size: 1, ...(wakes && { waker }) });
  try {
    const { namespace, codecKeys } = temporal;
    const session = { client, pools, namespace, codecKeys, ...tenants };
    if (!needsTemporal) return await work(session);
    await client.connection.ensureConnected();
    if (timeoutMs === null) return await work(session);
    return await client.withDeadline(Date.now() + timeoutMs, () => work(session));
  } finally {
    await waker.close();
    await Promise.all([pools.close(), client.connection.close()]);
  }
}

const refusedBy = ({ type, message, details }: ApplicationFailure): Refused =>
  new Refused(type ?? 'INTERNAL_ERROR', message, details ?? []);

function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error;
  const refused = asRefusal(error);
  if (refused instanceof ApplicationFailure) return refusedBy(refused);
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
    return refusedBy(error.cause);
  }
  return new Refused('UNAVAILABLE', error instanceof Error ? error.message : String(error));
}

/** What a command prints, and its exit status. */
interface Ended {
  status: 0 | 1 | 2;
  stdout: string;
  stderr: string;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Runs one command. */
export async function ops(args: string[], environment: Environment): Promise<Ended> {
  try {
    const verdict = await run(args, environment);
    return { status: 0, stdout: typeof verdict === 'string' ? verdict : json(verdict), stderr: '' };
  } catch (error) {
    if (error instanceof WrongUsage) return { status: 2, stdout: '', stderr: `${error.message}\n\n${HELP}` };
    const { code, message, details } = refusalOf(error);
    const stderr = json({ error: message, code, ...(details.length > 0 && { details }) });
    return { status: 1, stdout: '', stderr };
  }
}

/** Runs the command that this process was started with. */
export async function main(): Promise<void> {
  const { status, stdout, stderr } = await ops(process.argv.slice(2), process.env);
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  process.exitCode = status;
}

if (import.meta.main) await main();
