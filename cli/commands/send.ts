import { Command, Option } from 'commander';
import { print } from '../output.ts';
import { connect } from '../session.ts';

interface Options {
  to: string;
  from?: string;
  type?: 'imessage' | 'sms' | 'email';
  subject?: string;
  at?: string;
  key?: string;
}

export const send = (): Command =>
  new Command('send')
    .description('Send or schedule one message.')
    .argument('<message>', 'the text; a template may use the fields of a known contact')
    .requiredOption('-t, --to <address>', 'a phone number or an email address')
    .option('-f, --from <lineId>', 'the line; default: the next one in turn')
    .addOption(new Option('--type <type>', 'the channel').choices(['imessage', 'sms', 'email']))
    .option('--subject <text>', 'of an email')
    .option('--at <time>', 'ISO 8601; default: as soon as the line may')
    .option('-k, --key <key>', 'idempotency key: the same one sends once')
    .action(async (message: string, { to, from, type, subject, at, key }: Options, command: Command) => {
      const linepace = await connect(command);
      const isEmail = to.includes('@');
      const sent = await linepace.messages.send(
        {
          message,
          ...(isEmail ? { recipientEmail: to } : { recipientPhone: to }),
          ...(type !== undefined ? { messageType: type } : isEmail && { messageType: 'email' }),
          ...(from !== undefined && { fromLineId: from }),
          ...(subject !== undefined && { subject }),
          ...(at !== undefined && { scheduledDate: at }),
        },
        key === undefined ? {} : { headers: { 'Idempotency-Key': key } },
      );
      print(command, sent, ({ _id, status, scheduledDate, holdReason }) => {
        const wait = holdReason === null ? '' : `, waits: ${holdReason}`;
        return `${_id} ${status}, scheduled for ${scheduledDate}${wait}`;
      });
    });
