import { Command, Option } from 'commander';
import { pages, type WorkspaceKey } from '#sdk/typescript/src/index.ts';
import { decimalNumber, wholeNumber } from '../options.ts';
import { print, table } from '../output.ts';
import { connect } from '../session.ts';

const SCOPES = ['read', 'send', 'draft', 'manage'] as const;

interface NewKey {
  scopes?: (typeof SCOPES)[number][];
  expiresInDays?: number;
  test?: boolean;
}

/** Keys are managed by people: these commands need a profile that signed in with a session token. */
export function keys(): Command {
  const command = new Command('keys')
    .description('List the API keys. Needs a session token instead of a key.')
    .action(async (_options, self: Command) => {
      const linepace = await connect(self);
      const all: WorkspaceKey[] = [];
      for await (const key of pages((cursor) =>
        linepace.keys.list({ limit: 200, ...(cursor !== undefined && { cursor }) }),
      ))
        all.push(key);
      print(self, all, (found) =>
        table(found, [
          '_id',
          'name',
          'prefix',
          'last4',
          'mode',
          'scopes',
          'lastUsedAt',
          'expiresAt',
          'revokedAt',
        ]),
      );
    });
  command
    .command('create')
    .description('Create a key, which is shown once.')
    .argument('<name>')
    .addOption(new Option('-s, --scopes <scopes...>', 'what it may do; default: everything').choices(SCOPES))
    .option('--expires-in-days <days>', 'default: never', wholeNumber)
    .option('--test', 'for the test workspace')
    .action(async (name: string, { scopes, expiresInDays, test }: NewKey, self: Command) => {
      const linepace = await connect(self);
      const created = await linepace.keys.create({
        name,
        ...(scopes !== undefined && { scopes }),
        ...(expiresInDays !== undefined && { expiresInDays }),
        ...(test && { mode: 'test' as const }),
      });
      print(self, created, ({ key }) => key);
    });
  command
    .command('roll')
    .description('Create a key with the same settings; the old one ends after the overlap.')
    .argument('<keyId>')
    .requiredOption('--overlap-hours <hours>', 'how long both work', decimalNumber)
    .action(async (id: string, { overlapHours }: { overlapHours: number }, self: Command) => {
      const linepace = await connect(self);
      print(self, await linepace.keys.roll({ id, overlapHours }), ({ key }) => key);
    });
  command
    .command('revoke')
    .description('Revoke a key at once.')
    .argument('<keyId>')
    .action(async (id: string, _options, self: Command) => {
      const linepace = await connect(self);
      print(self, await linepace.keys.revoke({ id }), () => `${id} revoked`);
    });
  return command;
}
