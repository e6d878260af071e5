import { continueAsNew, patched, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { homeOf, type LineInput, roundAt } from './line-home.ts';
import { listen } from './listen.ts';
import type { LineHome, LineRound } from './messages/round.ts';
import { planQuery } from './messages/queries.ts';
import { type Order, pauseLine, resumeLine, sendNow, skipMessage } from './messages/updates.ts';
import { onOrder, OPERATOR } from './orders.ts';
import { CARRIER_PATIENCE, lineQueue } from './messages/task-queues.ts';

const sendingAt = (carrier: string | null) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Send what this line may send, and wait out the gaps in between',
    scheduleToStartTimeout: CARRIER_PATIENCE,
    // A round lasts two minutes, and waits and calls to a carrier may be under way when they end.
    startToCloseTimeout: '5 minutes',
    // How soon the line goes on when its worker has died. Heartbeats are actions: one in 36 seconds.
    heartbeatTimeout: '45s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });

const act = proxyActivities<Activities>({ ...OPERATOR, summary: 'Do what the operator asks' });

/**
 * One per line: sends what the line may send, and waits until it may send again. What it may is decided in the
 * database, under the line's lock; the workflow holds ids and nothing else, so it can be thrown away.
 */
export async function linePacer(input: LineInput): Promise<string> {
  const news = listen('messagesDue', 'lineChanged', 'connected', 'overdue');
  const lineId = input.subjectId;
  let home: LineHome = { workspaceId: input.workspaceId, carrier: input.carrier ?? null };
  const ofLine = <O extends Order>(order: O) => ({ ...order, workspaceId: home.workspaceId, lineId });
  onOrder(pauseLine, news, (order) => act.pauseLine(ofLine(order)), {
    description: 'The line sends nothing until it is resumed.',
  });
  onOrder(resumeLine, news, (order) => act.resumeLine(ofLine(order)), {
    description: 'The line sends again.',
  });
  onOrder(sendNow, news, (order) => act.sendNow(ofLine(order)), {
    description: 'A message, or the next in turn, leaves now, whatever its time and the gaps.',
  });
  onOrder(skipMessage, news, (order) => act.skipMessage(ofLine(order)), {
    description: 'A message that waits is canceled.',
  });
  setHandler(planQuery, () => ({ ...news.status(), ...home, lineId }), {
    description: 'When the line sends next, and why not now.',
  });
  const send = async (): Promise<LineRound> => {
    const round = await roundAt(home, lineId, ({ workspaceId, carrier }) =>
      sendingAt(carrier).sendDue({ workspaceId, lineId, isSending: news.status().state === 'sending' }),
    );
    home = round.home;
    return round;
  };
  const goOn = () => continueAsNew<typeof linePacer>({ ...home, subjectId: lineId });

  const isNew = hasNamedSignals();
  home = await homeOf(input);
  if (!isNew) return formerly(news, send, goOn);

  let round = await news.after(send);
  while (await news.until(round, stateOf(round, home))) round = await news.after(send, detailsOf(round));
  return news.isOver ? round.reason : goOn();
}

/** A shorter wait is a gap between two sends of a line that is busy. */
const LONG_PAUSE_MS = 2 * 60_000;

function stateOf({ nextAt, isPaused, isUnserved }: LineRound, { carrier }: LineHome): string {
  if (carrier === null) return 'unconnected';
  if (isUnserved && patched('unserved lines wait')) return 'waiting';
  if (isPaused) return 'paused';
  if (nextAt === null) return 'idle';
  return Date.parse(nextAt) - Date.now() > LONG_PAUSE_MS ? 'waiting' : 'sending';
}

/** What the operator reads during the next round. */
function detailsOf({ isUnserved, reason }: LineRound): string {
  return isUnserved
    ? `Waiting: ${reason}.`
    : 'Sending: its pending activity sends what is due, and waits out the gaps in between.';
}
