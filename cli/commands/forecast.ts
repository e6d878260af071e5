import { Command } from 'commander';
import { print } from '../output.ts';
import { connect } from '../session.ts';

export const forecast = (): Command =>
  new Command('forecast')
    .description('When a campaign will be done, and what limits it.')
    .argument('<campaignId>')
    .action(async (id: string, _options, command: Command) => {
      const linepace = await connect(command);
      const found = await linepace.forecast.forecastCampaign({ id });
      print(command, found, ({ firstStepDoneAt, completesAt, limitedBy, linesFor }) =>
        [
          // Null if no lead has yet to enter, or if it is not foreseeable, which the next line says as well.
          ...(firstStepDoneAt === null ? [] : [`First step done: ${firstStepDoneAt}`]),
          `All done: ${completesAt ?? 'not foreseeable'}`,
          ...limitedBy.map(({ reason, share }) => `Limited by ${reason}: ${Math.round(share * 100)} %`),
          ...linesFor.map(({ days, lines }) => `With ${lines} lines: ${days} days`),
        ].join('\n'),
      );
    });
