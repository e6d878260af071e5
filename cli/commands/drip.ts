import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile, rm, truncate } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { CsvError, parse } from 'csv-parse/sync';
import pLimit from 'p-limit';
import { type Linepace, LinepaceError } from '#sdk/typescript/src/index.ts';
import { variable } from '../environment.ts';
import { CommandFailed, EXIT } from '../exit-code.ts';
import { readInput } from '../input.ts';
import { globalOptions, print, progressBar } from '../output.ts';
import { type Credentials, credentials } from '../profiles.ts';
import { clientOf } from '../session.ts';

interface Options {
  message?: string;
  from?: string;
}

interface Failure {
  row: number;
  error: string;
}

/** The columns of the file, as in the body of `POST /api/drip`. */
const COLUMNS = [
  'message',
  'messageType',
  'recipientPhone',
  'recipientEmail',
  'recipientName',
  'leadId',
  'fromLineId',
  'correlationId',
] as const;
const PARALLEL = 20;

export const drip = (): Command =>
  new Command('drip')
    .description(
      'Queue one message for each row of a CSV file. An interrupted command continues where it stopped. Run again within 24 hours, it queues no row twice in a workspace. Files are recognized by their content.',
    )
    .argument('<file>', `with the columns ${COLUMNS.join(', ')}`)
    .option('-m, --message <text>', 'the text of rows without one')
    .option('-f, --from <lineId>', 'the line of rows without one')
    .action(async (file: string, { message, from }: Options, command: Command) => {
      const account = await credentials(globalOptions(command).profile);
      const linepace = clientOf(account);
      const content = await readInput(file);
      const rows = parseRows(content);
      const digest = createHash('sha256')
        .update(content)
        .update(`\0${message ?? ''}\0${from ?? ''}`)
        .digest('hex');
      const progress = await openProgress(`${digest} ${await destinationOf(linepace, account)}`);
      const show = progressBar(rows.length);
      const failures: Failure[] = [];
      const limit = pLimit(PARALLEL);

      await Promise.all(
        rows.map(({ fields: row, line }, index) =>
          limit(async () => {
            if (progress.queued.has(index)) return;
            try {
              await linepace.messages.drip(bodyOf(row, { message, from }), {
                headers: { 'Idempotency-Key': `${digest.slice(0, 40)}-${index}` },
              });
            } catch (error) {
              // What is wrong with a row is wrong again next time; anything else ends the command, which can be repeated.
              if (!(error instanceof LinepaceError) || error.status !== 400) {
                limit.clearQueue();
                throw error;
              }
              // Not recorded, so that a repeated command reports the row again.
              failures.push({ row: line, error: error.message });
              return show(progress.queued.size + failures.length);
            }
            await progress.record(index);
            show(progress.queued.size + failures.length);
          }),
        ),
      );
      await progress.remove();
      failures.sort((a, b) => a.row - b.row);
      print(command, { queued: rows.length - failures.length, failures }, (result) =>
        [`${result.queued} queued`, ...result.failures.map(({ row, error }) => `line ${row}: ${error}`)].join(
          '\n',
        ),
      );
      if (failures.length > 0) throw new CommandFailed(`${failures.length} rows were refused`, EXIT.FAILED);
    });

interface Row {
  fields: Record<string, string>;
  /** Of the file, where the row ends: texts of several lines and empty lines count. */
  line: number;
}

interface Parsed {
  record: Record<string, string>;
  info: { bytes: number };
}

const LINE_FEED = 10;

/** @throws CommandFailed if the file is not CSV. */
function parseRows(content: Buffer): Row[] {
  let line = 1;
  let at = 0;
  // The parser's own count of lines is wrong for quoted line breaks of Windows.
  const lineAt = (end: number): number => {
    for (; at < end; at += 1) if (content[at - 1] === LINE_FEED) line += 1;
    return line;
  };
  try {
    return (
      parse(content, { columns: true, bom: true, skip_empty_lines: true, trim: true, info: true }) as Parsed[]
    ).map(({ record, info }) => ({ fields: record, line: lineAt(info.bytes) }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandFailed(`The file is not valid CSV: ${error.message}`, EXIT.USAGE);
  }
}

function bodyOf(
  row: Record<string, string>,
  { message, from }: { message: string | undefined; from: string | undefined },
) {
  const fields = Object.fromEntries(COLUMNS.filter((name) => row[name]).map((name) => [name, row[name]]));
  return {
    ...(message !== undefined && { message }),
    ...(from !== undefined && { fromLineId: from }),
    ...fields,
  };
}

/** The server and the workspace: another key or session of the workspace continues where the command was interrupted. */
async function destinationOf(linepace: Linepace, { url, apiKey }: Credentials): Promise<string> {
  try {
    return `${url} ${(await linepace.workspace.get()).workspace._id}`;
  } catch (error) {
    // A key without the scope `read` cannot read its workspace, so the key stands for it.
    if (!(error instanceof LinepaceError) || error.code !== 'INSUFFICIENT_SCOPE') throw error;
    return `${url} ${apiKey}`;
  }
}

/**
 * The rows of a file that are queued, so that an interrupted command can continue. Those under way when it is killed are not recorded:
 * their idempotency keys, which the API keeps for 24 hours, prevent that they are queued again.
 * @param work the rows and where they go; only its hash is stored.
 */
async function openProgress(work: string) {
  const folder = join(variable('XDG_STATE_HOME') ?? join(homedir(), '.local/state'), 'linepace');
  const name = createHash('sha256').update(work).digest('hex').slice(0, 40);
  const file = join(folder, `drip-${name}.rows`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const saved = await readFile(file, 'utf8').catch(() => '');
  // The last number may not have been written to its end; the next one must not continue it.
  const whole = saved.slice(0, saved.lastIndexOf('\n') + 1);
  if (whole !== saved) await truncate(file, whole.length);
  const queued = new Set(whole.split('\n').slice(0, -1).map(Number));
  return {
    queued,
    async record(index: number) {
      await appendFile(file, `${index}\n`, { mode: 0o600 });
      queued.add(index);
    },
    remove: () => rm(file, { force: true }),
  };
}
