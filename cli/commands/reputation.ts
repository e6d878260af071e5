import { Command } from 'commander';
import { print } from '../output.ts';
import { connect } from '../session.ts';

export const reputation = (): Command =>
  new Command('reputation')
    .description('How a line is judged, term by term.')
    .argument('<lineId>')
    .action(async (id: string, _options, command: Command) => {
      const linepace = await connect(command);
      print(command, await linepace.lines.getReputation({ id }), ({ state, score, policy, terms }) =>
        [
          `${id} is ${state}: ${score} of 100 (policy ${policy}).`,
          ...terms.map(
            ({ name, points, text }) => `${String(points).padStart(6)}  ${name.padEnd(12)} ${text}`,
          ),
        ].join('\n'),
      );
    });
