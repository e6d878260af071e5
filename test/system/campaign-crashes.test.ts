import { ApplicationFailure } from '@temporalio/common';
import fc from 'fast-check';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { interceptActivities } from '#test/support/intercepted-activities.ts';

/** When an activity crashes: `after` its commits, so that its result is lost, as when its process is killed. */
type Crash = 'before' | 'after' | null;

let app: OwnApp;
let crashes: readonly Crash[] = [];
let crashed = 0;

beforeAll(async () => {
  let activities = 0;
  interceptActivities(() => ({
    inbound: {
      async execute(input, next) {
        activities += 1;
        const crash = crashes[activities % crashes.length] ?? null;
        const fail = (): never => {
          crashed += 1;
          throw ApplicationFailure.create({ message: 'its worker crashed', nextRetryDelay: 50 });
        };
        if (crash === 'before') fail();
        const result = await next(input);
        return crash === 'after' ? fail() : result;
      },
    },
  }));
  app = await startTestApp();
});
afterAll(() => app.stop());

/** A step with its place among all that ever were: steps come and go, and none is moved. */
interface Ranked {
  rank: number;
  step: { id: string } & Record<string, unknown>;
}

const KINDS = ['message', 'do', 'branch', 'wait_until'] as const;

function stepOf(kind: (typeof KINDS)[number], rank: number): Ranked {
  const id = `r${rank}`.replace('.', '_');
  const message = (name: string, of: number) => ({ id: `${id}${name}`, message: String(of) });
  const step = {
    message: { id, message: String(rank) },
    do: { id, kind: 'do', addTags: [id] },
    branch: {
      id,
      kind: 'branch',
      branches: [{ name: 'replied', when: [{ field: 'replied' }], steps: [message('a', rank)] }],
      else: [message('b', rank)],
    },
    wait_until: {
      id,
      kind: 'wait_until',
      any: [{ field: 'delivered' }, { field: 'phone', op: 'exists' }],
      atMost: { days: 1 },
    },
  }[kind];
  return { rank, step };
}

const GATE: Ranked = {
  rank: 1000,
  step: { id: 'gate', kind: 'wait_until', any: [{ field: 'tag', value: 'go' }], atMost: { days: 9 } },
};
const LAST: Ranked = { rank: 1001, step: { id: 'last', message: '1001' } };

const happening = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'remove', 'reply', 'enter'),
  which: fc.nat(20),
  step: fc.constantFrom(...KINDS),
});
const crash = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Crash>(null) },
  { weight: 1, arbitrary: fc.constant<Crash>('before') },
  { weight: 2, arbitrary: fc.constant<Crash>('after') },
);

test('nobody moves backwards or gets a step twice, whatever is edited, answered or crashes when', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(happening, { minLength: 8, maxLength: 14 }),
      fc.array(crash, { minLength: 20, maxLength: 40 }),
      async (happenings, all) => {
        const workspace = await createWorkspace(app);
        const { api } = workspace;
        const lineId = await createLine(app, workspace.id);
        const { newCampaign, statusOf, messagesOf } = campaignHelpers(() => ({ app, workspace, api }));
        let steps = [stepOf('message', 1), stepOf('branch', 2), stepOf('message', 3), GATE, LAST];
        const body = () => steps.map(({ step }) => step);
        const id = await newCampaign({ steps: body(), onReply: 'continue', start: true });
        const leads: { id: string; to: string }[] = [];
        const used = new Set(steps.map(({ rank }) => rank));
        // Of a step that comes while another goes, nobody can say whether it is in its place or before it.
        const isRevised = () =>
          withSystem(app.pools, async (db) => {
            const outdated = sql.fragment`
              select from campaign_leads l join campaigns k on k.id = l.campaign_id
              where k.id = ${id} and l.state = 'running' and l.version < k.version`;
            return !(await db.exists(sql.type(NoRows)`${outdated}`));
          });
        const enter = async () => {
          const to = phone();
          const { body: entered } = await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } });
          leads.push({ id: entered.leadId, to });
        };
        crashes = [...all, null];
        await Promise.all([enter(), enter(), enter()]);
        for (const { kind, which, step } of happenings) {
          const at = which % steps.indexOf(LAST);
          const lead = leads[which % leads.length];
          if (kind === 'enter') await enter();
          else if (kind === 'reply') {
            expect(await callBack(app, lineId, replyEvent(lead?.to ?? '', 'Yes, at six'))).toBe(200);
          } else if (kind === 'insert' || steps[at] !== GATE) {
            const after = steps[at]?.rank ?? 0;
            const rank = (after + Math.max(0, ...[...used].filter((one) => one < after))) / 2;
            used.add(rank);
            if (kind === 'remove') await eventually(isRevised);
            steps = kind === 'insert' ? steps.toSpliced(at, 0, stepOf(step, rank)) : steps.toSpliced(at, 1);
            const { status, body: edited } = await api('PATCH', `/api/campaigns/${id}`, { steps: body() });
            expect(status, JSON.stringify(edited)).toBe(200);
          }
        }
        for (const lead of leads)
          expect((await api('POST', `/api/leads/${lead.id}/tags`, { tags: ['go'] })).status).toBe(200);
        await eventually(async () => (await statusOf(id)) === 'completed');
        crashes = [];
        for (const { to } of leads) {
          const ranks = (await sentTo(app, to)).map(({ text }) => Number(text));
          expect(ranks).toEqual([...new Set(ranks)].toSorted((a, b) => a - b));
          expect(ranks.at(-1)).toBe(LAST.rank);
        }
        for (const { status } of await messagesOf(id))
          expect(['sent', 'delivered', 'canceled']).toContain(status);
        const twice = await withSystem(app.pools, (db) =>
          db.any(sql.type(z.object({ leadId: z.string(), stepId: z.string() }))`
            select lead_id, step_id from campaign_decisions where campaign_id = ${id}
            group by lead_id, step_id having count(*) > 1`),
        );
        expect(twice).toEqual([]);
      },
    ),
    { numRuns: 6, endOnFailure: true },
  );
  expect(crashed).toBeGreaterThan(20);
});
