import { type SetAsideAction, settleSetAside } from '#db/commands/operations/set-aside.ts';
import { listSetAside } from '#db/queries/operations/set-aside.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { byOperator } from '#domain/accounts/audit.ts';
import { endSetAside } from '#providers/failing-tasks.ts';
import { type Command, Refused, type Session, WrongUsage } from './ops-command.ts';

const MAX_LISTED = 1000;

/** Lists what is set aside, or has it tried again, or drops it. */
export const setAside: Command = {
  argument: null,
  options: '[--retry ID | --drop ID] [--by NAME] [--reason TEXT]',
  summary:
    'what has failed 20 times or for a day and is set aside; --retry has it tried again now, --drop gives it up (also: set-aside retry ID, set-aside drop ID)',
  async run(session, _id, { retry, drop, by = 'npm run ops', reason }) {
    if (retry !== undefined && drop !== undefined) throw new WrongUsage('Either --retry or --drop');
    const id = retry ?? drop;
    if (id === undefined) return { setAside: await listSetAside(systemDb(session.pools), MAX_LISTED) };
    return settle(session, id, retry === undefined ? 'drop' : 'retry', { by, reason });
  },
};

async function settle(
  { client, pools }: Session,
  id: string,
  action: SetAsideAction,
  author: Parameters<typeof byOperator>[0],
) {
  const work = await settleSetAside(pools, id, action, byOperator(author));
  if (!work) throw new Refused('NOT_FOUND', 'There is nothing set aside with this id');
  if (work.endsRun) await endSetAside(client, work, action);
  return { [action === 'drop' ? 'dropped' : 'retried']: id, workflowId: work.workflowId };
}
