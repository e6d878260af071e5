import { setTimeout as pause } from 'node:timers/promises';
import { Command } from 'commander';
import { CommandFailed } from '../exit-code.ts';
import { readInput } from '../input.ts';
import { print, progressBar } from '../output.ts';
import { connect } from '../session.ts';

const POLL_MS = 500;

export const importLeads = (): Command =>
  new Command('import')
    .description('Import contacts from a CSV file into a list, and wait for the end.')
    .argument('<file>')
    .requiredOption('-l, --list <id>', 'the list')
    .option('--country-code <code>', 'of phone numbers without one, such as +44')
    .action(
      async (
        file: string,
        { list, countryCode }: { list: string; countryCode?: string },
        command: Command,
      ) => {
        const linepace = await connect(command);
        const csv = await readInput(file);
        const { importId } = await linepace.contacts.importLeads({
          id: list,
          // The bytes as they are, because the server detects the encoding.
          body: new Blob([csv]),
          ...(countryCode !== undefined && { defaultCountryCode: countryCode }),
        });
        const rows = csv.toString('latin1').split('\n').length;
        const show = progressBar(rows);
        for (;;) {
          const state = await linepace.contacts.getImport({ id: list, importId });
          show(state.status === 'running' ? Math.min(state.processed, rows - 1) : rows);
          if (state.status === 'running') {
            await pause(POLL_MS);
            continue;
          }
          print(
            command,
            state,
            ({ saved, duplicates, rejected }) =>
              `${saved} saved, ${duplicates} duplicates, ${rejected} rejected`,
          );
          if (state.status === 'failed') throw new CommandFailed('The import failed.');
          return;
        }
      },
    );
