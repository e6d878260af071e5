import { parseArgs } from 'node:util';
import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type UpdateDefinition } from '@temporalio/common';
import { createPools, type Pools } from '#db/pools.ts';
import { findMessage } from '#db/queries/messages.ts';
import { findOwner } from '#db/queries/owners.ts';
import { findTimeline } from '#db/queries/timeline.ts';
import { findLineOwner } from '#db/queries/workspaces.ts';
import { systemDb, withTenant } from '#db/transactions.ts';
import { DraftAction } from '#domain/ai-draft.ts';
import { readOperatorsConfig } from '#domain/config.ts';
import { isId } from '#domain/ids.ts';
import { presentTimeline } from '#domain/timeline.ts';
import { createTaskQueues } from '#providers/task-queues.ts';
import { createTemporalClient, updateWorkflow } from '#providers/temporal.ts';
import {
  archiveCampaign,
  checkPayment,
  decide,
  giveUp,
  type Order,
  pauseCampaign,
  pauseLine,
  resumeCampaign,
  resumeLine,
  sendNow,
  skipMessage,
} from '#workflows/messages/updates.ts';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';
import { aiDraftId, campaignWorkflowId, linePacerId, lineRequestId } from '#workflows/messages/wake.ts';

/** The command line of operators: each command is an update of a workflow, as in Temporal's UI. */

interface Session {
  client: Client;
  pools: Pools;
  namespace: string;
}

type Environment = Partial<Record<string, string>>;

interface Options {
  by?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
  action?: string | undefined;
}

interface Command {
  /** What it is about; null: nothing. */
  argument: string | null;
  options?: string;
  summary: string;
  run(session: Session, id: string, options: Options): Promise<unknown>;
}

/** What is printed instead of a verdict. */
class Refused extends Error {
  readonly code: string;
  readonly details: readonly unknown[];

  constructor(code: string, message: string, details: readonly unknown[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The command line itself is wrong. */
class WrongUsage extends Error {}

export const COMMANDS: Record<string, Command> = {
  'pause-line': {
    argument: 'LINE_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'the line sends nothing until it is resumed',
    run: (session, lineId, options) => ofLine(session, lineId, pauseLine, order(options)),
  },
  'resume-line': {
    argument: 'LINE_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'the line sends again',
    run: (session, lineId, options) => ofLine(session, lineId, resumeLine, order(options)),
  },
  'send-now': {
    argument: 'LINE_ID',
    options: '[--message MESSAGE_ID] --by NAME [--reason TEXT]',
    summary: 'a message, or the next in turn, is sent now, whatever its time and the gaps',
    run: (session, lineId, { message, ...options }) =>
      ofLine(session, lineId, sendNow, {
        ...order(options),
        ...(message !== undefined && { messageId: message }),
      }),
  },
  'skip-message': {
    argument: 'MESSAGE_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'a message that waits is canceled',
    async run(session, messageId, options) {
      const lineId = await lineOfMessage(session, messageId);
      return ofLine(session, lineId, skipMessage, { ...order(options), messageId });
    },
  },
  'check-payment': {
    argument: 'LINE_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'the payment provider is asked whether a requested line is paid for',
    run: (session, lineId, options) => ofRequest(session, lineId, checkPayment, order(options)),
  },
  'give-up': {
    argument: 'LINE_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'a line that is being set up fails, and its payment is credited',
    run: (session, lineId, options) => ofRequest(session, lineId, giveUp, order(options)),
  },
  'decide-draft': {
    argument: 'REPLY_ID',
    options: '--action approve|reject|mark_sent [--message TEXT] --by NAME [--reason TEXT]',
    summary: 'a draft is approved, as it stands or as the text given, rejected, or claimed',
    async run(session, replyId, { action, message, ...options }) {
      if (!isDraftAction(action)) throw new WrongUsage('--action must be approve, reject or mark_sent');
      const workspaceId = await ownerOf(session, 'draft', replyId);
      return updateWorkflow(session.client, { workflowId: aiDraftId(replyId), workspaceId }, decide, {
        ...order(options),
        action,
        ...(message !== undefined && { message }),
      });
    },
  },
  'pause-campaign': {
    argument: 'CAMPAIGN_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'nothing of the campaign is sent, and every message keeps its place',
    run: (session, id, options) => ofCampaign(session, id, pauseCampaign, order(options)),
  },
  'resume-campaign': {
    argument: 'CAMPAIGN_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'a paused campaign goes on',
    run: (session, id, options) => ofCampaign(session, id, resumeCampaign, order(options)),
  },
  'archive-campaign': {
    argument: 'CAMPAIGN_ID',
    options: '--by NAME [--reason TEXT]',
    summary: 'the campaign ends for good, and what was not sent is canceled',
    run: (session, id, options) => ofCampaign(session, id, archiveCampaign, order(options)),
  },
  timeline: {
    argument: 'MESSAGE_ID',
    summary: 'what has happened to a message, and what it waits for',
    run: ({ pools, client, namespace }, messageId) => timeline({ pools, client, namespace }, messageId),
  },
  sweep: {
    argument: null,
    summary: 'wakes every workflow that is overdue, as the schedule does every two minutes',
    async run({ client }) {
      const options = { taskQueue: MAIN_QUEUE, workflowIdConflictPolicy: 'USE_EXISTING' } as const;
      await client.workflow.start('sweep', { ...options, workflowId: 'sweep-by-operator' });
      return { triggered: 'sweep' };
    },
  },
};

function order({ by, reason }: Options): Order {
  if (by === undefined || by.trim() === '')
    throw new WrongUsage('--by NAME is required: the audit log has it');
  return { by, ...(reason !== undefined && { reason }) };
}

type Ask = <Verdict, O extends Order>(
  session: Session,
  id: string,
  update: UpdateDefinition<Verdict, [O]>,
  given: O,
) => Promise<Verdict>;

const ofLine: Ask = (session, lineId, update, given) =>
  atWorkspaceOf(session, lineId, linePacerId(lineId), update, given);

const ofCampaign: Ask = async (session, campaignId, update, given) => {
  const workspaceId = await ownerOf(session, 'campaign', campaignId);
  return updateWorkflow(
    session.client,
    { workflowId: campaignWorkflowId(campaignId), workspaceId },
    update,
    given,
  );
};

const isDraftAction = (action: string | undefined): action is DraftAction =>
  DraftAction.options.some((known) => known === action);

const ofRequest: Ask = (session, lineId, update, given) =>
  atWorkspaceOf(session, lineId, lineRequestId(lineId), update, given);

async function atWorkspaceOf<Verdict, O extends Order>(
  { client, pools }: Session,
  lineId: string,
  workflowId: string,
  update: UpdateDefinition<Verdict, [O]>,
  given: O,
): Promise<Verdict> {
  const owner = await findLineOwner(systemDb(pools), lineId);
  if (!owner) throw new Refused('NOT_FOUND', `There is no line ${lineId}`);
  return updateWorkflow(client, { workflowId, workspaceId: owner.workspaceId }, update, given);
}

async function ownerOf(
  { pools }: Session,
  kind: Parameters<typeof findOwner>[1],
  id: string,
): Promise<string> {
  const workspaceId = await findOwner(systemDb(pools), kind, id);
  if (workspaceId === null) throw new Refused('NOT_FOUND', `There is no ${kind} ${id}`);
  return workspaceId;
}

async function lineOfMessage(session: Session, messageId: string): Promise<string> {
  const workspaceId = await ownerOf(session, 'message', messageId);
  const message = await withTenant(session.pools, workspaceId, (db) => findMessage(db, messageId));
  if (!message?.lineId) throw new Refused('INVALID_STATE', 'The message has no line yet');
  return message.lineId;
}

async function timeline(session: Session, messageId: string): Promise<unknown> {
  const workspaceId = await ownerOf(session, 'message', messageId);
  const { pools, client, namespace } = session;
  const found = await withTenant(pools, workspaceId, (db) => findTimeline(db, messageId, new Date()));
  if (!found) throw new Refused('NOT_FOUND', `There is no message ${messageId}`);
  const { record, facts, neededCarrier } = found;
  const queues = createTaskQueues(client.connection, namespace);
  const unserved = neededCarrier === null ? null : await queues.unservedFor(neededCarrier);
  return presentTimeline(messageId, record, { ...facts, unserved });
}

const usageOf = (name: string, { argument, options }: Command): string =>
  ['npm run ops --', name, argument, options].filter((part) => part !== null && part !== undefined).join(' ');

const HELP = `${Object.entries(COMMANDS)
  .map(([name, command]) => `${usageOf(name, command)}\n    ${command.summary}`)
  .join('\n')}

The verdict is printed as JSON. Exit status: 0 done, 1 refused or not reachable, 2 wrong usage.
`;

/** How long an operator waits for a workflow's verdict. */
const PATIENCE_MS = 30_000;

async function run(args: string[], environment: Environment): Promise<unknown> {
  const { values, positionals } = parse(args);
  const [name, id = '', ...more] = positionals;
  if (values.help || name === undefined) return HELP;
  const command = COMMANDS[name];
  if (!command) throw new WrongUsage(`There is no command ${name}`);
  const isComplete = command.argument === null ? id === '' : id !== '';
  if (!isComplete || more.length > 0) throw new WrongUsage(`Usage: ${usageOf(name, command)}`);
  if (command.argument !== null && !isId(id)) throw new Refused('NOT_FOUND', `${id} is not an id`);
  return inSession(environment, (session) => command.run(session, id, values));
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { by: text, reason: text, message: text, action: text, help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : 'The arguments cannot be read');
  }
}

async function inSession(
  environment: Environment,
  work: (session: Session) => Promise<unknown>,
): Promise<unknown> {
  const { database, temporal } = readOperatorsConfig(environment);
  const pools = await createPools(database, { size: 1 });
  const client = createTemporalClient(temporal);
  try {
    await client.connection.ensureConnected();
    const session = { client, pools, namespace: temporal.namespace };
    return await client.withDeadline(Date.now() + PATIENCE_MS, () => work(session));
  } finally {
    await Promise.all([pools.close(), client.connection.close()]);
  }
}

function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
    const { type, message, details } = error.cause;
    return new Refused(type ?? 'INTERNAL_ERROR', message, details ?? []);
  }
  return new Refused('UNAVAILABLE', error instanceof Error ? error.message : String(error));
}

/** What a command prints, and its exit status. */
interface Ended {
  status: 0 | 1 | 2;
  stdout: string;
  stderr: string;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Runs one command. */
export async function ops(args: string[], environment: Environment): Promise<Ended> {
  try {
    const verdict = await run(args, environment);
    return { status: 0, stdout: typeof verdict === 'string' ? verdict : json(verdict), stderr: '' };
  } catch (error) {
    if (error instanceof WrongUsage) return { status: 2, stdout: '', stderr: `${error.message}\n\n${HELP}` };
    const { code, message, details } = refusalOf(error);
    const stderr = json({ error: message, code, ...(details.length > 0 && { details }) });
    return { status: 1, stdout: '', stderr };
  }
}

/** Runs the command that this process was started with. */
export async function main(): Promise<void> {
  const { status, stdout, stderr } = await ops(process.argv.slice(2), process.env);
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  process.exitCode = status;
}

if (import.meta.main) await main();
