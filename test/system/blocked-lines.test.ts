import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordProbe } from '#db/commands/lines/line-health.ts';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { type Front, startFront } from '#test/support/front.ts';
import { registerWebhook, startEndpoint } from '#test/support/endpoint.ts';
import { DANA } from '#test/support/operators.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { activitiesOf } from '#test/support/workflows.ts';
import { type Status, statusQuery } from '#workflows/protocol/queries.ts';
import { STATE } from '#workflows/protocol/search-attributes.ts';
import { pauseLine, resumeLine, sendNow } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let twilio: TwilioStandIn;
const fronts: Front[] = [];

beforeAll(async () => {
  app = await sharedApp();
  twilio = await startTwilio(TWILIO_ACCOUNT);
});
afterAll(async () => {
  await Promise.all(fronts.map((front) => front.close()));
  await twilio.stop();
});

const pacer = (lineId: string) => app.temporal.workflow.getHandle(linePacerId(lineId));
const order = (
  { id: workspaceId, lineId }: WorkspaceWithLine,
  update: typeof pauseLine | typeof sendNow,
): Promise<unknown> =>
  updateWorkflow<unknown, typeof DANA>(
    app.temporal,
    { workflowId: linePacerId(lineId), workspaceId },
    update,
    DANA,
  );

interface Wait {
  timeoutMs?: number;
  /** Called before each look. */
  before?: () => Promise<void>;
}
/** Waits until the pacer shows the state as its status and as its search attribute. */
const shows = (lineId: string, state: string, { timeoutMs, before }: Wait = {}): Promise<Status> =>
  eventually(async () => {
    await before?.();
    const status = await pacer(lineId).query(statusQuery);
    const attribute = (await pacer(lineId).describe()).typedSearchAttributes.get(STATE);
    return status.state === state && attribute === state && status;
  }, timeoutMs);

async function post({ api, lineId }: WorkspaceWithLine, fields: object = {}): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    fromLineId: lineId,
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return String(body._id);
}

interface Told {
  type: string;
  text: string;
  data: Record<string, unknown>;
}
async function toldOf({ api }: WorkspaceWithLine, id: string, type: string): Promise<Told | undefined> {
  const { body } = await api('GET', `/api/messages/${id}/timeline`);
  return (body.events as Told[]).find((event) => event.type === type);
}
const isSent = async ({ api }: WorkspaceWithLine, id: string): Promise<boolean> =>
  ['sent', 'delivered'].includes((await api('GET', `/api/messages/${id}`)).body.status);
/** In one request: the API answers so many of one workspace only. */
async function areSent({ api, lineId }: WorkspaceWithLine, ids: readonly string[]): Promise<boolean> {
  const { messages } = (await api('GET', `/api/messages?lineId=${lineId}&limit=100`)).body;
  const sent = (messages as { _id: string; status: string }[])
    .filter(({ status }) => ['sent', 'delivered'].includes(status))
    .map(({ _id }) => _id);
  return ids.every((id) => sent.includes(id));
}
/** Makes it as if the line had been held, and a sent message had waited for it, for a second longer: shorter holds are not told. */
async function ageHold({ lineId }: WorkspaceWithLine, id: string): Promise<void> {
  await age(app.pools, 'line_holds', ['began_at'], '1 second', `line_id = '${lineId}'`);
  await age(app.pools, 'messages', ['created_at', 'scheduled_at'], '1 second', `id = '${id}'`);
}

/** A line whose carrier accepts nothing until `front.refusal` is null. */
async function refusedLine(): Promise<WorkspaceWithLine & { front: Front }> {
  const front = await startFront(twilio.url);
  fronts.push(front);
  const workspace = await createWorkspaceWithLine(app);
  const lineId = await createLine(app, workspace.id, 'sms', { min_gap_seconds: 1 });
  const line = { ...workspace, lineId, front };
  const config = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken, baseUrl: front.url };
  front.refusal = { status: 429, body: { code: 20429, message: 'Too many requests' } };
  await line.api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'twilio', config });
  return line;
}

// They wait for the pauses of the carrier.
describe.concurrent('a line that cannot send', () => {
  it('is blocked while its carrier takes no messages, and its messages tell so afterwards', async () => {
    const line = await refusedLine();
    const { lineId, front } = line;
    for (let n = 0; n < 6; n += 1) await post(line, { messageType: 'sms' });
    const status = await shows(lineId, 'blocked', { timeoutMs: 60_000 });
    expect(status).toMatchObject({
      reason: 'The carrier currently accepts no messages; one is tried after a growing pause',
      until: expect.any(String),
    });
    const late = await post(line, { messageType: 'sms' });
    front.refusal = null;
    await eventually(() => isSent(line, late), 90_000);
    const held = await toldOf(line, late, 'held');
    expect(held?.text).toContain('the carrier took no messages (“20429: Too many requests”)');
    expect(held?.data).toMatchObject({ reason: 'carrier_pause', error: '20429: Too many requests' });
    await shows(lineId, 'idle', { timeoutMs: 60_000 });
  }, 180_000);

  it('is blocked while its only message waits for its retry', async () => {
    const line = await refusedLine();
    await post(line, { messageType: 'sms' });
    expect(await shows(line.lineId, 'blocked', { timeoutMs: 120_000 })).toMatchObject({
      reason: 'The carrier currently accepts no messages; one is tried after a growing pause',
    });
    line.front.refusal = null;
  }, 150_000);

  it('is blocked, keeps its messages and tells about it while a tunnel answers for its carrier', async () => {
    const line = await refusedLine();
    const endpoint = await startEndpoint();
    await registerWebhook(line.api, endpoint.url, { events: ['line.down', 'line.up'] });
    line.front.refusal = null;
    line.front.outage = { status: 404, html: '<!DOCTYPE html><title>ERR_NGROK_3200</title>' };
    const ids: string[] = [];
    for (let n = 0; n < 8; n += 1) ids.push(await post(line, { messageType: 'sms' }));
    await shows(line.lineId, 'blocked', { timeoutMs: 60_000 });
    const told = () => endpoint.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    await eventually(async () => told().some(({ event }) => event === 'line.down'), 90_000);
    expect(told()[0]).toMatchObject({
      event: 'line.down',
      lineId: line.lineId,
      reason: 'carrier_pause',
      error: 'the carrier responded 404',
    });
    const shown = (await line.api('GET', `/api/messages?lineId=${line.lineId}`)).body.messages;
    expect(shown).toHaveLength(8);
    for (const message of shown) expect(message).toMatchObject({ holdReason: 'carrier_pause' });
    // The first, and one after each pause.
    expect(line.front.posts).toBeLessThan(8);
    line.front.outage = null;
    await eventually(() => areSent(line, ids));
    await eventually(async () => told().some(({ event }) => event === 'line.up'), 60_000);
    await endpoint.close();
  }, 240_000);

  it('is blocked from the first message on that its carrier does not answer', async () => {
    const line = await refusedLine();
    line.front.refusal = null;
    line.front.outage = 'hangs';
    const id = await post(line, { messageType: 'sms' });
    await shows(line.lineId, 'blocked', { timeoutMs: 90_000 });
    const { body } = await line.api('GET', `/api/messages/${id}`);
    expect(body).toMatchObject({ status: 'pending', holdReason: 'carrier_pause' });
    line.front.outage = null;
  }, 150_000);

  it('pauses at once while a proxy answers with a 502, as its message says while the carrier is asked', async () => {
    const line = await refusedLine();
    line.front.refusal = null;
    line.front.outage = { status: 502, html: '<html><h1>502 Bad Gateway</h1></html>' };
    const id = await post(line, { messageType: 'sms' });
    const body = await eventually(async () => {
      const timeline = (await line.api('GET', `/api/messages/${id}/timeline`)).body;
      return timeline.waitingFor.reason === 'carrier_pause' && timeline;
    });
    expect(body).toMatchObject({
      status: 'pending',
      waitingFor: {
        // Until then, the carrier could have answered.
        until: expect.any(String),
        text: expect.stringMatching(/“the carrier responded 502”.*It is asked whether it took this one/),
      },
    });
    expect(line.front.posts).toBe(1);
    line.front.outage = null;
  }, 60_000);

  it.each(['hangs', 'swallows'] as const)(
    'is blocked and tells why while its carrier %s and messages wait, each of which it gets once',
    async (outage) => {
      const line = await refusedLine();
      const endpoint = await startEndpoint();
      await registerWebhook(line.api, endpoint.url, { events: ['line.down', 'line.up'] });
      line.front.refusal = null;
      line.front.outage = outage;
      const ids: string[] = [];
      const recipients = Array.from({ length: 8 }, () => phone());
      for (const recipientPhone of recipients)
        ids.push(await post(line, { messageType: 'sms', recipientPhone }));
      await shows(line.lineId, 'blocked', { timeoutMs: 90_000 });
      const told = () => endpoint.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
      await eventually(async () => told().some(({ event }) => event === 'line.down'), 90_000);
      expect(told()[0]).toMatchObject({ reason: 'carrier_pause', error: 'the carrier did not answer' });
      const { lines } = (await line.api('GET', '/api/lines/by-user')).body;
      expect(lines.find(({ _id }: { _id: string }) => _id === line.lineId).blocked).toMatchObject({
        reason: 'the carrier did not answer',
      });
      const shown = (await line.api('GET', `/api/messages?lineId=${line.lineId}`)).body.messages;
      for (const message of shown) expect(message).toMatchObject({ holdReason: 'carrier_pause' });
      expect(line.front.posts).toBeLessThan(5);

      line.front.outage = null;
      await eventually(() => areSent(line, ids));
      for (const to of recipients) expect(twilio.sent.filter((sent) => sent.to === to)).toHaveLength(1);
      await eventually(async () => told().some(({ event }) => event === 'line.up'), 60_000);
      await endpoint.close();
    },
    300_000,
  );

  it('is blocked while it is down, and idle again once it recovers', async () => {
    const line = await createWorkspaceWithLine(app);
    const first = await post(line);
    await eventually(() => isSent(line, first));
    const probe = (succeeded: boolean) =>
      withTenant(app.pools, line.id, (db) => recordProbe(db, line.lineId, succeeded, new Date()));
    // The product probes the line as well, and its success ends the outage.
    const fails = async (): Promise<void> => {
      for (let n = 0; n < 3; n += 1) await probe(false);
    };
    expect((await shows(line.lineId, 'blocked', { before: fails })).reason).toContain('The line is down');
    // The saved search of docs/operators.md.
    const query = `WorkflowType = 'linePacer' AND State = 'blocked' AND ExecutionStatus = 'Running'`;
    await eventually(async () => {
      for await (const { workflowId } of app.temporal.workflow.list({ query }))
        if (workflowId === linePacerId(line.lineId)) return true;
      return false;
    });
    const late = await post(line);
    await probe(true);
    await eventually(() => isSent(line, late));
    await ageHold(line, late);
    expect((await toldOf(line, late, 'held'))?.data).toMatchObject({ reason: 'line_down' });
    await shows(line.lineId, 'idle');
  });

  it('is blocked while it is switched off, or the subscription is past due', async () => {
    const line = await createWorkspaceWithLine(app);
    await line.api('PATCH', `/api/lines/${line.lineId}`, { isActive: false });
    await eventually(async () => (await shows(line.lineId, 'blocked')).reason.includes('not active'));
    await line.api('PATCH', `/api/lines/${line.lineId}`, { isActive: true });
    await shows(line.lineId, 'idle');
    const setStatus = (status: string) =>
      withSystem(app.pools, (db) =>
        db.query(
          sql.type(NoRows)`update workspaces set subscription_status = ${status} where id = ${line.id}`,
        ),
      ).then(() =>
        withTenant(app.pools, line.id, async (db) =>
          wake(db, linePacerId(line.lineId), new Date(), 'lineChanged'),
        ),
      );
    await setStatus('past_due');
    expect((await shows(line.lineId, 'blocked')).reason).toContain('past due');
    await setStatus('active');
    await shows(line.lineId, 'idle');
  });
});

const isRound = (activity: string): boolean => ['sendAtOnce', 'sendDue'].includes(activity);

describe('an order of an operator', () => {
  it('is told by the messages that waited for it, and makes one round', async () => {
    const line = await createWorkspaceWithLine(app);
    const first = await post(line);
    await eventually(() => isSent(line, first));
    await shows(line.lineId, 'idle');
    const rounds = async () => (await activitiesOf(app, linePacerId(line.lineId))).filter(isRound).length;
    const before = await rounds();
    await order(line, pauseLine);
    await shows(line.lineId, 'paused');
    expect(await rounds()).toBe(before + 1);
    const id = await post(line);
    await order(line, resumeLine);
    await eventually(() => isSent(line, id));
    await ageHold(line, id);
    const held = await toldOf(line, id, 'held');
    expect(held?.text).toMatch(/^Held until .*: the line was paused by Dana \(maintenance\)\.$/);
    expect(held?.data).toMatchObject({ reason: 'line_paused', by: 'Dana', note: 'maintenance' });
  });

  it('to send a message now is told by it', async () => {
    const line = await createWorkspaceWithLine(app);
    const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
    const id = await post(line, { scheduledDate });
    await order(line, sendNow);
    await eventually(() => isSent(line, id));
    const ordered = await toldOf(line, id, 'ordered');
    expect(ordered?.text).toContain('ordered by Dana (maintenance)');
    expect(ordered?.data).toEqual({ action: 'message.sent_now', by: 'Dana', reason: 'maintenance' });
  });

  it('to send a message now leaves in its timeline when it was planned for', async () => {
    const line = await createWorkspaceWithLine(app);
    const scheduledDate = new Date(Date.now() + 5 * 3_600_000).toISOString();
    const id = await post(line, { scheduledDate });
    const planned = await toldOf(line, id, 'scheduled');
    expect(planned).toMatchObject({ data: { scheduledDate } });
    await order(line, sendNow);
    await eventually(() => isSent(line, id));
    const { events } = (await line.api('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.slice(0, 4)).toMatchObject([
      { type: 'accepted' },
      planned,
      { type: 'ordered' },
      { type: 'claimed' },
    ]);
  });
});
