import { sql } from 'slonik';
import { z } from 'zod';
import { beforeAll, describe, expect, it } from 'vitest';
import { judgeLines } from '#db/commands/lines/line-reputation.ts';
import { findSignals } from '#db/queries/lines/line-signals.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { firstMailTo } from '#test/support/mails.ts';
import { signIn } from '#test/support/sessions.ts';
import { environment } from '#test/support/process.ts';
import { ops } from '#workers/ops.ts';
import { STATE } from '#workflows/protocol/search-attributes.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
beforeAll(async () => void (app = await sharedApp()));

/** A line that sends at once. */
async function startLine(fields: Parameters<typeof createWorkspace>[1] = {}) {
  const workspace = await createWorkspace(app, fields);
  const lineId = await createLine(app, workspace.id);
  const limits = { minGapSeconds: 0, contactGapSeconds: 0, hourlyNewConversationsLimit: 1000 };
  const patched = await workspace.api('PATCH', `/api/lines/${lineId}`, {
    ...limits,
    dailyNewConversationsLimit: 1000,
    dailyTotalMessagesLimit: 1000,
  });
  expect(patched.status).toBe(200);
  return { workspace, lineId };
}

async function send({ api }: TestWorkspace, lineId: string, to: string, message = 'Hello'): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', {
    message,
    recipientPhone: to,
    fromLineId: lineId,
  });
  expect(status).toBe(201);
  return body._id;
}

const signalsOf = async ({ id }: TestWorkspace, lineId: string) =>
  withTenant(app.pools, id, async (db) => (await findSignals(db, [lineId], '2020-01-01')).get(lineId) ?? []);

const reputation = async ({ api }: TestWorkspace, lineId: string) =>
  (await api('GET', `/api/lines/${lineId}/reputation`)).body;

const change = ({ id }: TestWorkspace, statement: ReturnType<typeof sql.fragment>) =>
  withTenant(app.pools, id, (db) => db.query(sql.type(z.unknown())`${statement}`));

/** Has the line judged at its next look, and not up to a minute later. */
const forgetJudgement = (workspace: TestWorkspace, lineId: string) =>
  change(workspace, sql.fragment`update lines set reputation_checked_at = null where id = ${lineId}`);

const people = (count: number): string[] => Array.from({ length: count }, () => phone());

describe('what a line is judged by', () => {
  it('is counted with what happens: sends, answers, opt-outs, complaints, refusals and failures', async () => {
    const { workspace, lineId } = await startLine();
    const [silent, talker, leaver, angry] = [phone(), phone(), phone(), phone()];
    for (const message of ['One', 'Two', 'Three']) {
      await send(workspace, lineId, silent, message);
      await eventually(async () => (await sentTo(app, silent)).some(({ text }) => text === message));
    }
    await send(workspace, lineId, talker, 'See https://example.com/offer');
    for (const to of [leaver, angry, phone('0002'), phone('0001')]) await send(workspace, lineId, to);
    await eventually(async () => (await sentTo(app, angry)).length === 1);
    for (const [from, text] of [
      [talker, 'Gladly'],
      [talker, 'Tomorrow?'],
      [leaver, 'STOP'],
      [leaver, 'STOP'],
      [angry, 'This is spam'],
    ] as const)
      expect(await callBack(app, lineId, replyEvent(from, text))).toBe(200);
    const expected = {
      sent: 6,
      opened: 4,
      linked: 1,
      approached: 4,
      silent: 1,
      answered: 1,
      received: 5,
      optouts: 1,
      complained: 1,
      failed: 1,
      undelivered: 0,
      revived: 0,
      bounced: 0,
    };
    await eventually(async () =>
      expect(await signalsOf(workspace, lineId)).toEqual([expect.objectContaining(expected)]),
    );

    await callBack(app, lineId, replyEvent(silent, 'Sorry, I was away'));
    await eventually(async () =>
      expect((await signalsOf(workspace, lineId))[0]).toMatchObject({ revived: 1, answered: 2, received: 6 }),
    );

    const counted = await signalsOf(workspace, lineId);
    const { status, stdout } = await ops(['reputation', lineId, '--history'], environment(app.config));
    expect(status).toBe(0);
    const replayed = JSON.parse(stdout) as { days: object[]; history: object[]; score: number };
    expect(replayed.days).toEqual(counted);
    expect(replayed.history).toHaveLength(1);
  });
});

describe('a line that people do not welcome', { timeout: 90_000 }, () => {
  it('rests, says so everywhere, answers on, and recovers as the days pass', async () => {
    const { workspace, lineId } = await startLine();
    const receiver = await startEndpoint();
    await workspace.api('POST', '/api/webhooks', {
      url: receiver.url,
      events: ['line.reputation_changed'],
    });
    expect(await reputation(workspace, lineId)).toMatchObject({ state: 'new', score: 100, history: [] });
    const contacts = people(24);
    for (const to of contacts) await send(workspace, lineId, to);
    await eventually(async () => (await signalsOf(workspace, lineId))[0]?.opened === 24);
    await Promise.all(
      contacts
        .slice(0, 14)
        .map((from, n) => callBack(app, lineId, replyEvent(from, n < 7 ? 'STOP' : 'Spam! I report you'))),
    );
    // The API scores the line, even if its pacer did so less than a minute ago.
    const shown = await reputation(workspace, lineId);
    const points = shown.terms.reduce((sum: number, term: { points: number }) => sum + term.points, 0);
    expect(shown.score).toBe(Math.round(Math.max(0, 100 + points)));
    const held = await send(workspace, lineId, phone());
    expect(shown).toMatchObject({
      lineId,
      state: 'critical',
      policy: 'protect',
      override: null,
      effects: { newConversationsFactor: 0, gapFactor: 1.5, newConversationsStopped: true },
    });
    expect(shown.terms.find(({ name }: { name: string }) => name === 'opt_outs')).toMatchObject({
      text: expect.stringMatching(/^The line sent 2[45] messages, and 7 people opted out: 2\d(\.\d)? %/),
      evidence: expect.objectContaining({ count: 7 }),
    });
    const listed = (await workspace.api('GET', '/api/lines/by-user')).body.lines;
    expect(listed).toMatchObject([{ reputation: { state: 'critical', score: shown.score } }]);
    expect((await workspace.api('GET', `/api/lines/${lineId}`)).body).toEqual({
      success: true,
      line: listed[0],
    });

    const { json: event } = await eventually(async () => receiver.received[0]);
    expect(event).toMatchObject({ event: 'line.reputation_changed', lineId, from: 'new', to: 'critical' });
    expect(event).not.toHaveProperty('messageId');
    const mail = await firstMailTo(app, `${workspace.ownerId}@example.test`);
    expect(mail.subject).toContain('Line rests');

    await eventually(async () => {
      const { body } = await workspace.api('GET', `/api/messages/${held}`);
      expect(body).toMatchObject({ status: 'scheduled', holdReason: 'line_resting' });
      return true;
    });
    const timeline = (await workspace.api('GET', `/api/messages/${held}/timeline`)).body;
    expect(timeline.waitingFor).toMatchObject({ reason: 'line_resting' });
    await eventually(async () => {
      const { typedSearchAttributes } = await app.temporal.workflow.getHandle(linePacerId(lineId)).describe();
      expect(typedSearchAttributes.get(STATE)).toBe('resting');
      return true;
    });

    const known = contacts[20] ?? '';
    await callBack(app, lineId, replyEvent(known, 'Who is this?'));
    await send(workspace, lineId, known, 'Dana, from Harbour Homes');
    await eventually(async () => (await sentTo(app, known)).length === 2);

    // So many days later, nothing of it counts any more.
    await change(workspace, sql.fragment`update line_signals set day = day - 28 where line_id = ${lineId}`);
    await eventually(async () => {
      // Again, because a line that is being planned is left out.
      await withTenant(app.pools, workspace.id, (db) =>
        judgeLines(db, [lineId], { seal: (text) => text }, new Date()),
      );
      return (await workspace.api('GET', `/api/messages/${held}`)).body.sentAt !== null;
    });
    expect(await reputation(workspace, lineId)).toMatchObject({ state: 'new' });
    expect((await reputation(workspace, lineId)).history.length).toBeGreaterThan(27);
    const events = (await workspace.api('GET', `/api/messages/${held}/timeline`)).body.events;
    expect(events.find(({ type }: { type: string }) => type === 'moved')).toMatchObject({
      data: { reason: 'line_resting' },
    });
    await eventually(async () => expect(receiver.received).toHaveLength(2));
    await receiver.close();
  });
});

describe('the owner of a line', () => {
  /** A line whose reputation is critical, by planted signals, and a message that it holds. */
  async function restingLine() {
    const { workspace, lineId } = await startLine();
    await change(
      workspace,
      sql.fragment`insert into line_signals (workspace_id, line_id, day, sent, opened, approached, optouts, complained)
        values (${workspace.id}, ${lineId}, (now() at time zone 'UTC')::date - 1, 40, 40, 40, 12, 6)`,
    );
    // Housekeeping may have scored the line in between, which is valid for a minute.
    await forgetJudgement(workspace, lineId);
    const to = phone();
    const held = await send(workspace, lineId, to);
    await eventually(async () => (await reputation(workspace, lineId)).state === 'critical');
    expect(await sentTo(app, to)).toEqual([]);
    return { workspace, lineId, held, to };
  }

  it('lifts its effects for some hours, and ends that once, both audited', async () => {
    const { workspace, lineId, to } = await restingLine();
    const { api } = workspace;
    const path = `/api/lines/${lineId}/reputation/override`;
    for (const body of [
      { hours: 0, reason: 'x' },
      { hours: 169, reason: 'x' },
      { hours: 1, reason: ' ' },
    ])
      expect((await api('POST', path, body)).status).toBe(400);
    // There is none to end.
    expect((await api('DELETE', path)).status).toBe(200);
    const reason = 'All of them have asked to be called';
    const { status, body } = await api('POST', path, { hours: 3, reason });
    expect(status).toBe(200);
    expect(body.reputation).toMatchObject({
      state: 'critical',
      override: { reason },
      effects: { newConversationsFactor: 1, gapFactor: 1, newConversationsStopped: false },
    });
    await eventually(async () => (await sentTo(app, to)).length === 1);

    expect((await api('DELETE', path)).body.reputation).toMatchObject({
      override: null,
      effects: { newConversationsStopped: true },
    });
    expect((await api('DELETE', path)).status).toBe(200);
    const again = await send(workspace, lineId, phone());
    await eventually(async () =>
      expect((await api('GET', `/api/messages/${again}`)).body.holdReason).toBe('line_resting'),
    );
    const session = await signIn(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      role: 'org:admin',
    });
    const { entries } = (await apiClient(app.url, session)('GET', '/api/audit-log')).body;
    expect(
      entries.filter(({ action }: { action: string }) => action === 'line.reputation_overridden'),
    ).toMatchObject([
      { target: { type: 'line', id: lineId }, reason: null, changes: { override: null } },
      { target: { type: 'line', id: lineId }, reason, changes: { hours: 3 } },
    ]);
  });

  it.each(['observe', 'off'])(
    'keeps its pacing as it is with %s, for the line or the workspace',
    async (policy) => {
      const first = await restingLine();
      await first.workspace.api('PATCH', `/api/lines/${first.lineId}`, { reputationPolicy: policy });
      await eventually(async () => (await sentTo(app, first.to)).length === 1);
      expect(await reputation(first.workspace, first.lineId)).toMatchObject({ policy, state: 'critical' });

      const second = await restingLine();
      const patched = await second.workspace.api('PATCH', '/api/workspace', { reputationPolicy: policy });
      expect(patched.body.workspace).toMatchObject({ reputationPolicy: policy });
      await eventually(async () => (await sentTo(app, second.to)).length === 1);
    },
  );

  it('is nobody of another workspace, and no plain member', async () => {
    const { workspace, lineId } = await restingLine();
    const other = await createWorkspace(app);
    const call = apiClient(app.url, other.key);
    expect((await call('GET', `/api/lines/${lineId}/reputation`)).status).toBe(404);
    const userId = newId();
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test` });
    await insertRow(app, 'workspace_members', {
      workspace_id: workspace.id,
      user_id: userId,
      role: 'org:member',
    });
    const session = await signIn(app, { userId, organizationId: workspace.id, role: 'org:member' });
    const override = { hours: 1, reason: 'x' };
    const refused = await apiClient(app.url, session)(
      'POST',
      `/api/lines/${lineId}/reputation/override`,
      override,
    );
    expect(refused.status).toBe(403);
  });
});
