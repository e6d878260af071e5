import { discardWaitingDraft } from '#db/commands/drafts/ai-drafts.ts';
import { deleteWake, findSetAside, forgetFailures, listSetAside } from '#db/queries/operations/set-aside.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { restartWorkflow, terminate } from '#providers/failing-tasks.ts';
import { type Command, Refused, type Session, WrongUsage } from './ops-command.ts';

const MAX_LISTED = 1000;

/** Lists what is set aside, or has it tried again, or drops it. */
export const setAside: Command = {
  argument: null,
  options: '[--retry ID | --drop ID]',
  summary:
    'what has failed 20 times or for a day and is set aside; --retry has it tried again now, --drop gives it up (also: set-aside retry ID, set-aside drop ID)',
  async run(session, _id, { retry, drop }) {
    if (retry !== undefined && drop !== undefined) throw new WrongUsage('Either --retry or --drop');
    const id = retry ?? drop;
    if (id === undefined) return { setAside: await listSetAside(systemDb(session.pools), MAX_LISTED) };
    return settle(session, id, retry === undefined ? 'drop' : 'retry');
  },
};

async function settle({ client, pools }: Session, id: string, action: 'retry' | 'drop') {
  const db = systemDb(pools);
  const work = await findSetAside(db, id);
  if (!work) throw new Refused('NOT_FOUND', 'There is nothing set aside with this id');
  const { workspaceId, workflowId, subject } = work;
  const { replyId } = subject;
  if (action === 'drop' && typeof replyId === 'string')
    await withTenant(pools, workspaceId, (tenant) => discardWaitingDraft(tenant, replyId, new Date()));
  if (action === 'drop') await deleteWake(db, work);
  await forgetFailures(db, work);
  // Its state is in PostgreSQL. A new run does not wait for the next attempt of the old one.
  const reason = `set aside, then ${action === 'drop' ? 'dropped' : 'retried'} by an operator`;
  if (action === 'retry') await restartWorkflow(client, { workflowId, workspaceId }, reason);
  else await terminate(client, workflowId, reason);
  return { [action === 'drop' ? 'dropped' : 'retried']: id, workflowId };
}
