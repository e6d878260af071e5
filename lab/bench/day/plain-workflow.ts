import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { PlainActivities } from './plain-worker.ts';

/** What waits in a line; a run hands it to the next one. */
interface PlainLine {
  gapMs: number;
  /** Ids of messages to send. */
  messages: string[];
  /** Ids of events to deliver to the webhook. */
  events: string[];
}

export const messageAdded = defineSignal<[string]>('messageAdded');
export const eventAdded = defineSignal<[string]>('eventAdded');

const { sendMessage, deliverEvent } = proxyActivities<PlainActivities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumInterval: '1 minute' },
});

/** A line as an entity workflow, as Temporal's samples would write it: an activity for each message and each webhook, a timer for each gap. */
export async function plainLine({ gapMs, messages, events }: PlainLine): Promise<void> {
  let isEnding = false;
  setHandler(messageAdded, (id) => void messages.push(id));
  setHandler(eventAdded, (id) => void events.push(id));

  async function deliver(): Promise<void> {
    for (;;) {
      await condition(() => events.length > 0 || isEnding);
      const eventId = events.shift();
      if (eventId === undefined) return;
      await deliverEvent(eventId);
    }
  }

  const delivering = deliver();
  while (!workflowInfo().continueAsNewSuggested) {
    await condition(() => messages.length > 0);
    const messageId = messages.shift();
    if (messageId === undefined) continue;
    events.push(await sendMessage(messageId));
    await sleep(gapMs * (0.5 + Math.random()));
  }
  isEnding = true;
  await delivering;
  await continueAsNew<typeof plainLine>({ gapMs, messages, events });
}
