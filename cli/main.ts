import { Command, CommanderError } from 'commander';
import { LinepaceConnectionError, LinepaceError } from '#sdk/typescript/src/index.ts';
import { campaigns } from './commands/campaigns.ts';
import { completion } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { drafts } from './commands/drafts.ts';
import { drip } from './commands/drip.ts';
import { forecast } from './commands/forecast.ts';
import { importLeads } from './commands/import.ts';
import { keys } from './commands/keys.ts';
import { lines } from './commands/lines.ts';
import { listen } from './commands/listen.ts';
import { login, profiles } from './commands/login.ts';
import { mcp } from './commands/mcp.ts';
import { messages } from './commands/messages.ts';
import { open } from './commands/open.ts';
import { printable } from './output.ts';
import { reputation } from './commands/reputation.ts';
import { send } from './commands/send.ts';
import { timeline } from './commands/timeline.ts';
import { trigger } from './commands/trigger.ts';
import { CommandFailed, EXIT } from './exit-code.ts';

const program = new Command('linepace')
  .description('Send iMessage, SMS and email through lines that are paced so that carriers do not flag them.')
  .version(process.env['LINEPACE_VERSION'] ?? 'unreleased')
  .option('--json', 'print results as JSON')
  .option('-p, --profile <name>', 'the profile to use; default: the current one')
  .addHelpText(
    'after',
    `
Exit codes: 0 success; 1 the request was refused, or part of the work failed; 2 wrong usage; 3 not signed in, or the
server does not respond.

Environment: LINEPACE_URL and LINEPACE_API_KEY replace a profile; LINEPACE_PROFILE names one; LINEPACE_NO_KEYCHAIN=1
keeps keys in a file with the mode 0600.`,
  )
  .exitOverride()
  .showHelpAfterError('(see --help)');
for (const command of [
  login,
  profiles,
  send,
  drip,
  importLeads,
  listen,
  trigger,
  messages,
  timeline,
  lines,
  reputation,
  drafts,
  campaigns,
  forecast,
  keys,
  mcp,
  open,
  completion,
  doctor,
])
  program.addCommand(withSettingsOf(program, command()));

// Whoever reads the output may stop, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/**
 * Commander copies settings when a subcommand is created. Nested subcommands are created before their parent has the program's
 * settings, so they are copied again.
 */
function withSettingsOf(parent: Command, command: Command): Command {
  command.copyInheritedSettings(parent);
  for (const nested of command.commands) withSettingsOf(command, nested);
  return command;
}

/** Tells people what went wrong. @returns the exit code. */
function report(error: unknown): number {
  // Help and version are no failures, and commander has already printed both and wrong usage.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE;
  if (error instanceof LinepaceError) {
    console.error(printable(`${error.code ?? `HTTP ${error.status}`}: ${error.message}`));
    return error.status === 401 ? EXIT.UNAVAILABLE : EXIT.FAILED;
  }
  if (error instanceof LinepaceConnectionError) {
    console.error(`The server does not respond: ${causeOf(error)}`);
    return EXIT.UNAVAILABLE;
  }
  if (error instanceof CommandFailed) {
    console.error(printable(error.message));
    return error.exitCode;
  }
  // What the operating system refuses, such as a folder in which nothing may be written.
  if (error instanceof Error && 'syscall' in error) {
    console.error(printable(error.message));
    return EXIT.FAILED;
  }
  throw error;
}

/** The reason behind the error `fetch failed`. */
function causeOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
}
