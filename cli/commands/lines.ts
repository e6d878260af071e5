import { Command } from 'commander';
import { print, table } from '../output.ts';
import { connect } from '../session.ts';

export const lines = (): Command =>
  new Command('lines')
    .description('List the lines with their use today.')
    .action(async (_options, command: Command) => {
      const linepace = await connect(command);
      print(command, (await linepace.lines.list()).lines, (records) =>
        table(
          records.map(({ usage, healthCheck, ...line }) => ({
            ...line,
            address: line.phone ?? line.email,
            health: healthCheck?.status,
            today: `${usage.totalMessages}/${line.dailyTotalMessagesLimit}`,
            new: `${usage.newMessages}/${line.dailyNewConversationsLimit}`,
          })),
          ['_id', 'address', 'provisioningStatus', 'isActive', 'health', 'today', 'new'],
        ),
      );
    });
