import { Command } from 'commander';
import { print, table } from '../output.ts';
import { connect } from '../session.ts';

const ACTIONS = ['start', 'pause', 'resume', 'archive'] as const;

export function campaigns(): Command {
  const command = new Command('campaigns')
    .description('List campaigns, newest first.')
    .action(async (_options, self: Command) => {
      const linepace = await connect(self);
      print(self, (await linepace.campaigns.list()).campaigns, (found) =>
        table(found, ['_id', 'status', 'name', 'createdAt']),
      );
    });
  command
    .command('show')
    .description('A campaign with its progress.')
    .argument('<campaignId>')
    .action(async (id: string, _options, self: Command) => {
      const linepace = await connect(self);
      print(self, await linepace.campaigns.get({ id }), ({ campaign, progress }) =>
        [
          `${campaign.name} is ${campaign.status}.`,
          ...Object.entries(progress).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
        ].join('\n'),
      );
    });
  command
    .command('versions')
    .description('The versions of the steps of a campaign that was edited while it ran, newest first.')
    .argument('<campaignId>')
    .action(async (id: string, _options, self: Command) => {
      const linepace = await connect(self);
      print(self, (await linepace.campaigns.listVersions({ id })).versions, (found) =>
        table(
          found.map(({ version, createdAt, changes }) => ({
            version,
            createdAt,
            ...Object.fromEntries(Object.entries(changes ?? {}).map(([name, ids]) => [name, ids.join(' ')])),
          })),
          ['version', 'createdAt', 'added', 'removed', 'moved', 'changed'],
        ),
      );
    });
  for (const action of ACTIONS)
    command
      .command(action)
      .description(`${action.charAt(0).toUpperCase()}${action.slice(1)} a campaign.`)
      .argument('<campaignId>')
      .action(async (id: string, _options, self: Command) => {
        const linepace = await connect(self);
        print(self, (await linepace.campaigns[action]({ id })).campaign, ({ status }) => `${id} ${status}`);
      });
  return command;
}
