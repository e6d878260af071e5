import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { type AutoReply, type Linepace, LinepaceError, pages } from '#sdk/typescript/src/index.ts';
import { globalOptions, print, printable, quotation, table } from '../output.ts';
import { connect } from '../session.ts';

type Action = 'approve' | 'reject' | 'mark_sent';

export function drafts(): Command {
  const command = new Command('drafts')
    .description('Review the drafts that wait: in a terminal one by one, else as a list.')
    .action(async (_options, self: Command) => {
      const linepace = await connect(self);
      const waiting: AutoReply[] = [];
      for await (const draft of pages((cursor) =>
        linepace.aiDrafts.listAutoReplies({ status: 'drafted', ...(cursor !== undefined && { cursor }) }),
      ))
        waiting.push(draft);
      if (process.stdin.isTTY && !globalOptions(self).json) return review(linepace, waiting);
      print(self, waiting, (found) =>
        table(found, ['replyId', 'conversationRecipient', 'inboundText', 'draftMessage']),
      );
    });
  for (const [name, action, description] of [
    ['approve', 'approve', 'Send a draft.'],
    ['reject', 'reject', 'Drop a draft.'],
    ['mark-sent', 'mark_sent', 'Say that the contact was answered in another way.'],
  ] as const)
    command
      .command(name)
      .description(description)
      .argument('<replyId>')
      .option('-m, --message <text>', 'with approve: the text to send instead')
      .action(async (replyId: string, { message }: { message?: string }, self: Command) => {
        const decided = await decide(await connect(self), replyId, action, message);
        print(self, decided, ({ status }) => `${replyId} ${status}`);
      });
  return command;
}

const decide = (linepace: Linepace, replyId: string, action: Action, message?: string) =>
  linepace.aiDrafts.resolveAutoReply({ replyId, action, ...(message !== undefined && { message }) });

async function review(linepace: Linepace, waiting: readonly AutoReply[]): Promise<void> {
  if (waiting.length === 0) return console.log('No draft waits.');
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  for (const [index, { replyId, conversationRecipient, inboundText, draftMessage }] of waiting.entries()) {
    console.log(
      `\n${index + 1}/${waiting.length}  ${printable(conversationRecipient)}\nThey wrote:\n${quotation(inboundText)}\nDraft:\n${quotation(draftMessage)}`,
    );
    const answer = (await prompt.question('[a]pprove, [e]dit, [r]eject, [s]kip, [q]uit? '))
      .trim()
      .toLowerCase();
    if (answer === 'q') break;
    const text = answer === 'e' ? await prompt.question('Text: ') : undefined;
    const action = ({ a: 'approve', e: 'approve', r: 'reject' } as const)[answer];
    if (action === undefined) continue;
    try {
      console.log(printable((await decide(linepace, replyId, action, text)).status));
    } catch (error) {
      // Somebody else was first; the others still wait.
      if (!(error instanceof LinepaceError) || error.status !== 409) throw error;
      console.log(printable(`already ${String(error.body['status'])}`));
    }
  }
  prompt.close();
}
