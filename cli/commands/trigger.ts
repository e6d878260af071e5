import { Argument, Command } from 'commander';
import { CommandFailed, EXIT } from '../exit-code.ts';
import { print } from '../output.ts';
import { connect } from '../session.ts';

/** The events that a contact or a carrier causes, and what reports them. */
const RECEIPTS = { 'message.opened': 'read', 'message.failed': 'failed' } as const;
const EVENTS = ['message.reply', ...Object.keys(RECEIPTS)];

interface Options {
  from?: string;
  text: string;
  message?: string;
}

export const trigger = (): Command =>
  new Command('trigger')
    .description('Cause an event in test mode, as a contact or a carrier would.')
    .addArgument(new Argument('<event>').choices(EVENTS))
    .option('--from <address>', 'who replies')
    .option('--text <text>', 'of the reply', 'Sounds good, tell me more')
    .option('-m, --message <id>', 'the message that is opened or fails')
    .action(async (event: string, { from, text, message }: Options, command: Command) => {
      const linepace = await connect(command);
      if (event === 'message.reply') {
        if (from === undefined) throw new CommandFailed('--from is required', EXIT.USAGE);
        const replied = await linepace.testMode.testInbound({ from, text });
        return print(command, replied, ({ replyId, lineId }) => `${replyId} on the line ${lineId}`);
      }
      if (message === undefined) throw new CommandFailed('--message is required', EXIT.USAGE);
      const status = RECEIPTS[event as keyof typeof RECEIPTS];
      const reported = await linepace.testMode.testReceipt({ messageId: message, status });
      print(command, reported, () => `${message} ${status}`);
    });
