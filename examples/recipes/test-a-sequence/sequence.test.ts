// Five days of a campaign in a test of your own: LINEPACE_API_KEY is a test key (svc_test_…), which reaches no carrier.
// Run it with `node --test sequence.test.ts`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Linepace } from 'linepace';

const DAY = 86_400;
const linepace = new Linepace();

/** Lets everything happen that is due until then, in its order and within the limits of the line. */
async function advance(days: number): Promise<void> {
  let clock = await linepace.testMode.moveTestClock({ advanceSeconds: Math.round(days * DAY) });
  while (clock.movingTo !== null) {
    await pause(500);
    clock = await linepace.testMode.getTestClock();
  }
}

const sentTo = async (to: string): Promise<string[]> =>
  (await linepace.testMode.listTestSends({ to })).sent.map(({ text }) => text.slice(0, 5)).toSorted();

test('a lead who replies on the third day gets no further steps', async () => {
  await linepace.testMode.createTestLine({ channelType: 'imessage' });
  const { list } = await linepace.contacts.createList({ name: 'Prospects' });
  const [quiet, answers] = ['+14155550140', '+14155550141'];
  await linepace.contacts.createLeads({ listId: list._id, leads: [{ phone: quiet }, { phone: answers }] });
  await linepace.campaigns.create({
    name: 'Five days',
    listId: list._id,
    steps: [0, 1, 1, 1, 1].map((days, index) => ({
      message: `Day ${index + 1} of our offer`,
      delay: { days },
    })),
    start: true,
  });

  await advance(2.5);
  await linepace.testMode.testInbound({ from: answers, text: 'Tell me more' });
  await advance(4);

  assert.deepEqual(await sentTo(quiet), ['Day 1', 'Day 2', 'Day 3', 'Day 4', 'Day 5']);
  assert.deepEqual(await sentTo(answers), ['Day 1', 'Day 2', 'Day 3']);
});
