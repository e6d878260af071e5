import { Command } from 'commander';
import { print } from '../output.ts';
import { connect } from '../session.ts';

export const timeline = (): Command =>
  new Command('timeline')
    .description('What has happened to a message, and what it waits for.')
    .argument('<messageId>')
    .action(async (id: string, _options, command: Command) => {
      const linepace = await connect(command);
      print(command, await linepace.messages.getTimeline({ id }), ({ status, events, waitingFor }) =>
        [
          `${id} is ${status}.`,
          ...events.map(({ at, type, text }) => `${at}  ${type.padEnd(17)} ${text.replaceAll(/\s+/g, ' ')}`),
          ...(waitingFor === null ? [] : [`Waits: ${waitingFor.text}`]),
        ].join('\n'),
      );
    });
