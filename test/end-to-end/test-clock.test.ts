import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import type { ApiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { openTestMode } from '#test/support/test-mode.ts';

const DAY = 86_400;
const LEADS = 8;
const ANSWERS = '+14155550107';

let app: TestApp;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
});
beforeEach(async () => {
  ({ api } = await openTestMode(app, await createWorkspace(app)));
});

interface Sent {
  to: string;
  text: string;
  lineId: string;
  sentAt: string;
  messageId: string;
}

async function sentTo(to?: string): Promise<Sent[]> {
  const query = to === undefined ? '' : `&to=${encodeURIComponent(to)}`;
  const { body } = await api('GET', `/api/test/sent?limit=200${query}`);
  return body.sent.toReversed();
}

const now = async (): Promise<Date> => new Date((await api('GET', '/api/test/clock')).body.now);
const advance = (advanceSeconds: number) => api('POST', '/api/test/clock', { advanceSeconds });

describe('a sequence of five days with a reply on day three', () => {
  it('runs within the limits of its line, and stops for the contact who wrote', async () => {
    const started = performance.now();
    const { body: made } = await api('POST', '/api/lists', { name: 'Prospects' });
    const leads = Array.from({ length: LEADS }, (_, index) => ({
      firstName: `Lead ${index}`,
      phone: `+1415555010${index}`,
    }));
    const saved = await api('POST', '/api/leads', { listId: made.list._id, leads });
    expect(saved.status).toBeLessThan(300);
    const lines = (await api('GET', '/api/lines/by-user')).body.lines;
    const line = lines.find(({ requestedChannelType: type }: Record<string, string>) => type === 'imessage');
    const { status, body } = await api('POST', '/api/campaigns', {
      name: 'Five days',
      listId: made.list._id,
      timezone: 'UTC',
      sendWindowStart: '09:00',
      sendWindowEnd: '17:00',
      steps: [0, 1, 2, 3, 4].map((days) => ({
        message: `Day ${days + 1}, {{ firstName }}`,
        delay: { days: days === 0 ? 0 : 1 },
      })),
      start: true,
    });
    expect([status, body.campaign?.status]).toEqual([201, 'active']);

    const arrived = await advance(2 * DAY + DAY / 2);
    expect([arrived.status, arrived.body.movingTo]).toEqual([200, null]);
    const before = await sentTo(ANSWERS);
    expect(before.length).toBeGreaterThanOrEqual(1);
    expect((await api('POST', '/api/test/inbound', { from: ANSWERS, text: 'Tell me more' })).status).toBe(
      201,
    );
    expect((await advance(7 * DAY)).status).toBe(200);

    expect(await sentTo(ANSWERS)).toEqual(before);
    for (const { phone } of leads.filter((lead) => lead.phone !== ANSWERS))
      expect((await sentTo(phone)).map(({ text }) => text.slice(0, 5))).toEqual(
        [1, 2, 3, 4, 5].map((day) => `Day ${day}`),
      );
    const sent = await sentTo();
    const times = sent.map(({ sentAt }) => Date.parse(sentAt));
    for (const [index, at] of times.entries()) {
      const hour = new Date(at).getUTCHours();
      expect(hour >= 9 && hour < 17).toBe(true);
      // A gap is jittered by half.
      if (index > 0)
        expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual((line.minGapSeconds / 2) * 1000);
    }
    const openings = Map.groupBy(
      sent.filter(({ text }) => text.startsWith('Day 1')),
      ({ sentAt }) => sentAt.slice(0, 13),
    );
    for (const [, inHour] of openings) expect(inHour.length).toBeLessThanOrEqual(7);
    const campaign = (await api('GET', `/api/campaigns/${body.campaign._id}`)).body.campaign;
    expect(campaign.status).toBe('completed');
    console.log(`five days: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  });
});
