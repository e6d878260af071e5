import { Command, Option } from 'commander';
import type { MessageStatus } from '#sdk/typescript/src/index.ts';
import { wholeNumber } from '../options.ts';
import { print, table } from '../output.ts';
import { connect } from '../session.ts';

interface Options {
  status?: MessageStatus;
  line?: string;
  campaign?: string;
  limit: number;
}

const STATUSES = ['pending', 'scheduled', 'sent', 'delivered', 'fallback', 'failed', 'canceled'];

export const messages = (): Command =>
  new Command('messages')
    .description('List messages, newest first.')
    .addOption(new Option('-s, --status <status>', 'only of this status').choices(STATUSES))
    .option('-l, --line <id>', 'only of this line')
    .option('-c, --campaign <id>', 'only of this campaign')
    .option('-n, --limit <number>', 'at most 200', wholeNumber, 20)
    .action(async ({ status, line, campaign, limit }: Options, command: Command) => {
      const linepace = await connect(command);
      const found = await linepace.messages.list({
        limit,
        ...(status !== undefined && { status }),
        ...(line !== undefined && { lineId: line }),
        ...(campaign !== undefined && { campaignId: campaign }),
      });
      print(command, found.messages, (records) =>
        table(
          records.map((record) => ({ ...record, to: record.recipientPhone ?? record.recipientEmail })),
          ['_id', 'status', 'holdReason', 'to', 'scheduledDate', 'message'],
        ),
      );
    });
