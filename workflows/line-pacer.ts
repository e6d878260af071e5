import {
  continueAsNew,
  currentUpdateInfo,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { locationOf } from './line-location.ts';
import { type PacedLine, pacedLine, sendWhatIsDue } from './line-rounds.ts';
import { createLoop, type WorkLoop } from './work-loop.ts';
import { planQuery } from './protocol/queries.ts';
import { type Order, pauseLine, resumeLine, sendNow, skipMessage } from './protocol/updates.ts';
import { onOrder, OPERATOR } from './orders.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';

const act = proxyActivities<Activities>({ ...OPERATOR, summary: "Carry out the operator's order" });

/**
 * One per line. Sends what the line may send now, and waits until it may send again. Each round decides this in the
 * database, under the line's lock. The workflow has no state of its own, so it can be terminated at any time.
 */
export async function linePacer(input: WakeInput): Promise<string> {
  const loop = createLoop('messagesDue', 'lineChanged', 'connected', 'overdue');
  const { subjectId: lineId, workspaceId, carrier = null } = input;
  const isNew = workflowInfo().continuedFromExecutionRunId === undefined;
  let line = pacedLine(lineId, { workspaceId, carrier }, isNew);
  answerOperators(loop, () => line);
  line = { ...line, home: await locationOf(input) };

  do line = await loop.run(() => sendWhatIsDue(line, loop.status()), line.details);
  while (await loop.wait(line, line.state));
  return loop.isOver ? line.reason : continueAsNew<typeof linePacer>({ ...line.home, subjectId: lineId });
}

/** The orders and questions of operators. */
function answerOperators(loop: WorkLoop, line: () => PacedLine): void {
  const ofLine = <O extends Order>(order: O) => {
    const { id: lineId, home } = line();
    return { ...order, workspaceId: home.workspaceId, lineId };
  };
  onOrder(pauseLine, loop, (order) => act.pauseLine(ofLine(order)), {
    description: 'Stops sending until the line is resumed.',
    signalsItself: true,
  });
  onOrder(resumeLine, loop, (order) => act.resumeLine(ofLine(order)), {
    description: 'Continues sending.',
    signalsItself: true,
  });
  onOrder(
    sendNow,
    loop,
    (order) => act.sendNow({ ...ofLine(order), updateId: currentUpdateInfo()?.id ?? '' }),
    {
      description: 'Sends a message, or the next one, now, regardless of its scheduled time and of gaps.',
      signalsItself: true,
    },
  );
  onOrder(skipMessage, loop, (order) => act.skipMessage(ofLine(order)), {
    description: 'Cancels a waiting message.',
  });
  setHandler(planQuery, () => ({ ...loop.status(), ...line().home, lineId: line().id }), {
    description: 'When the line sends next, and why it does not send now.',
  });
}
