import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { sql } from 'slonik';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { newId } from '#domain/base/ids.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '#simulator/bluebubbles.ts';
import { transferLine } from '#test/support/agency-lines.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createAgency,
  createAgencyWithTwoWorkspaces,
  createLine,
  createWorkspace,
  insertRow,
  type TestAgency,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { age } from '#test/support/age.ts';
import { lock, waitingForLocks } from '#test/support/locks.ts';
import { DANA } from '#test/support/operators.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { pauseLine } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

let agency: TestAgency;
let api: ApiClient;
let a: TestWorkspace;
let b: TestWorkspace;
beforeEach(async () => {
  ({ agency, first: a, second: b } = await createAgencyWithTwoWorkspaces(app));
  api = agency.api;
});

const transfer = (lineId: string, target: { id: string }) => transferLine(agency.api, lineId, target);
const linesOf = async (workspace: TestWorkspace) =>
  (await workspace.api('GET', '/api/lines/by-user')).body.lines;
const send = async (workspace: TestWorkspace, body: object): Promise<string> => {
  const response = await workspace.api('POST', '/api/messages', { message: 'Hello', ...body });
  expect(response.status).toBe(201);
  return response.body._id;
};
const message = async (workspace: TestWorkspace, id: string) =>
  (await workspace.api('GET', `/api/messages/${id}`)).body;
const reaches = (workspace: TestWorkspace, id: string, status: string) =>
  eventually(async () => (await message(workspace, id)).status === status);

describe('a line that is transferred', () => {
  it('belongs to the target workspace alone, and can be transferred back', async () => {
    const lineId = await createLine(app, a.id);
    const moved = await transfer(lineId, b);
    expect(moved.status).toBe(200);
    expect(moved.body).toMatchObject({
      success: true,
      line: { _id: lineId, workspaceId: b.id },
      fromWorkspaceId: a.id,
      toWorkspaceId: b.id,
    });
    expect(await linesOf(a)).toEqual([]);
    // A probe may change its health in the meantime.
    delete moved.body.line.healthCheck;
    expect(await linesOf(b)).toMatchObject([moved.body.line]);
    expect((await api('GET', '/api/agency/lines')).body).toMatchObject({
      success: true,
      lines: [moved.body.line],
    });
    await reaches(b, await send(b, { recipientPhone: phone() }), 'delivered');

    expect((await transfer(lineId, a)).body).toMatchObject({ fromWorkspaceId: b.id, toWorkspaceId: a.id });
    await reaches(a, await send(a, { recipientPhone: phone() }), 'delivered');
    expect(await linesOf(b)).toEqual([]);
    // A transfer to its own workspace changes nothing.
    expect((await transfer(lineId, a)).body).toMatchObject({
      success: true,
      fromWorkspaceId: a.id,
      toWorkspaceId: a.id,
    });
  });

  it('leaves its unsent messages to another line of their workspace', async () => {
    const lineId = await createLine(app, a.id);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const [named, open] = [phone(), phone()];
    const waiting = [
      await send(a, { recipientPhone: named, fromLineId: lineId, scheduledDate: later }),
      await send(a, { recipientPhone: open, scheduledDate: later }),
    ];
    const second = await createLine(app, a.id);
    await transfer(lineId, b);
    for (const id of waiting)
      expect(await message(a, id)).toMatchObject({
        status: 'scheduled',
        fromLineId: second,
        scheduledDate: later,
      });
    expect((await b.api('GET', '/api/messages')).body.messages).toEqual([]);
    // Once they are due, they are sent through the second line.
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`update messages set scheduled_at = now() where workspace_id = ${a.id}`),
    );
    await a.api('PATCH', `/api/lines/${second}`, { firstName: 'Awake' });
    for (const id of waiting) await reaches(a, id, 'delivered');
    expect(await sentTo(app, named)).toMatchObject([{ lineId: second }]);
  });

  it('leaves its unsent messages waiting until their workspace has another line', async () => {
    const lineId = await createLine(app, a.id);
    const id = await send(a, {
      recipientPhone: phone(),
      scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await transfer(lineId, b);
    expect(await message(a, id)).toMatchObject({ status: 'scheduled', fromLineId: null });
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`update messages set scheduled_at = now() where workspace_id = ${a.id}`),
    );
    const spare = await createLine(app, b.id);
    await transfer(spare, a);
    await reaches(a, id, 'delivered');
    expect((await message(a, id)).fromLineId).toBe(spare);
  });

  it('keeps its usage of the day and its known contacts in both workspaces', async () => {
    const limits = { daily_total_limit: 4, daily_new_limit: 2 };
    const lineId = await createLine(app, a.id, 'imessage', limits);
    const [known, second] = [phone(), phone()];
    await reaches(a, await send(a, { recipientPhone: known }), 'delivered');
    await reaches(a, await send(a, { recipientPhone: second }), 'delivered');

    const { usage } = (await transfer(lineId, b)).body.line;
    expect(usage).toMatchObject({ totalMessages: 2, newMessages: 2 });
    // No further new conversation today; a known contact is not new.
    const fresh = await send(b, { recipientPhone: phone() });
    await reaches(b, await send(b, { recipientPhone: known, message: 'Again' }), 'delivered');
    await eventually(async () => (await message(b, fresh)).holdReason === 'daily_new_cap');

    // Back in A it has used three of four, each counted once.
    expect((await transfer(lineId, a)).body.line.usage).toMatchObject({ totalMessages: 3, newMessages: 2 });
    await reaches(a, await send(a, { recipientPhone: second, message: 'Third' }), 'delivered');
    const over = await send(a, { recipientPhone: known, message: 'Fifth of the day' });
    await eventually(async () => (await message(a, over)).holdReason === 'daily_total_cap');
    expect((await linesOf(a))[0].usage).toMatchObject({ totalMessages: 4, newMessages: 2 });
  });

  it("forgets the override of its reputation, which says why in the former workspace's words", async () => {
    const lineId = await createLine(app, a.id);
    const path = `/api/lines/${lineId}/reputation`;
    const reason = 'Dana has called all of them';
    expect((await a.api('POST', `${path}/override`, { hours: 100, reason })).status).toBe(200);
    for (const workspace of [b, a]) {
      expect((await transfer(lineId, workspace)).status).toBe(200);
      expect((await workspace.api('GET', path)).body.override).toBeNull();
    }
    const stored = await systemDb(app.pools).oneFirst(sql.type(z.object({ line: z.string() }))`
      select l::text line from lines l where id = ${lineId}`);
    expect(stored).not.toContain(reason);
  });

  it('keeps its availability checks of the day', async () => {
    const lineId = await createLine(app, a.id);
    const check = (workspace: TestWorkspace) =>
      workspace.api('POST', '/api/check-availability-rr', { address: phone() });
    expect((await check(a)).body.lineId).toBe(lineId);
    const used = { workspace_id: a.id, line_id: lineId, checked_at: new Date() };
    for (let count = 1; count < 70; count += 1)
      await insertRow(app, 'availability_checks', { ...used, id: newId() });
    await transfer(lineId, b);
    expect((await check(b)).body.reason).toBe('daily_quota_exhausted');
    await transfer(lineId, a);
    expect((await check(a)).body.reason).toBe('daily_quota_exhausted');
  });

  it('stays paused, and its messages still say who paused it', async () => {
    const lineId = await createLine(app, a.id);
    await updateWorkflow(
      app.temporal,
      { workflowId: linePacerId(lineId), workspaceId: a.id },
      pauseLine,
      DANA,
    );
    expect((await transfer(lineId, b)).status).toBe(200);
    const id = await send(b, { recipientPhone: phone(), fromLineId: lineId });
    await age(app.pools, 'line_holds', ['began_at'], '1 minute', `line_id = '${lineId}'`);
    await age(app.pools, 'messages', ['created_at', 'scheduled_at'], '10 seconds', `id = '${id}'`);
    const { events } = (await b.api('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.find(({ type }: { type: string }) => type === 'held')?.data).toMatchObject({
      reason: 'line_paused',
      by: DANA.by,
      note: DANA.reason,
      until: null,
    });
  });

  it('moves only after the send in flight has finished', async () => {
    const lineId = await createLine(app, a.id);
    const slow = phone('0009');
    const id = await send(a, { recipientPhone: slow });
    await eventually(async () => (await openAttempts(lineId)) === 1);
    const moved = await transfer(lineId, b);
    expect(moved).toMatchObject({ status: 200, body: { line: { usage: { totalMessages: 1 } } } });
    // The receipt arrives for the line in B but belongs to a message of A.
    await reaches(a, id, 'delivered');
    expect(await sentTo(app, slow)).toHaveLength(1);
  });

  it('does not prevent a fallback SMS that is due when it leaves', async () => {
    await insertRow(app, 'fallback_configs', {
      workspace_id: a.id,
      enabled: true,
      provider: 'simulated',
      from_number: '+14155550199',
    });
    const lineId = await createLine(app, a.id);
    const to = phone('0001');
    const id = await send(a, {
      recipientPhone: to,
      sendFallbackSmsOnFailed: true,
      smsFallbackMessage: 'By SMS',
    });
    await transfer(lineId, b);
    await createLineAndAdopt(a);
    await eventually(async () => {
      const { status, fallbackSmsDispatched } = await message(a, id);
      return status === 'fallback' && fallbackSmsDispatched;
    });
    expect(await sentTo(app, to)).toMatchObject([{ channel: 'sms', text: 'By SMS' }]);
  });

  it('takes the wakes of its workflows with it', async () => {
    const lineId = await createLine(app, a.id);
    const pacer = linePacerId(lineId);
    const homes = () =>
      systemDb(app.pools).anyFirst(sql.type(z.object({ workspaceId: z.string() }))`
        select workspace_id from workflow_wakes where workflow_id = ${pacer}`);
    const inAnHour = new Date(Date.now() + 3_600_000);
    await withTenant(app.pools, a.id, async (db) => wake(db, pacer, inAnHour, 'messagesDue'));
    expect(await homes()).toEqual([a.id]);
    await transfer(lineId, b);
    await eventually(async () => (await homes()).join() === b.id);
  });

  it('moves once on simultaneous identical transfers, each of which reports its workspace', async () => {
    const lineId = await createLine(app, a.id);
    const responses = await Promise.all(Array.from({ length: 8 }, () => transfer(lineId, b)));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    expect(new Set(responses.map(({ body }) => body.line.workspaceId))).toEqual(new Set([b.id]));
    expect(responses.filter(({ body }) => body.fromWorkspaceId === a.id)).toHaveLength(1);
  });

  it('waits for another change of the line that takes longer than other transactions may', async () => {
    const lineId = await createLine(app, a.id);
    const held = await lock(app, 'lines', lineId);
    const moved = transfer(lineId, b);
    await Promise.race([moved, waitingForLocks(app, 1, 2100)]);
    await held.release();
    expect((await moved).status).toBe(200);
  });

  it('blocks no other request and sends nothing while it waits for attempts in flight', async () => {
    // More transfers than the API has connections for requests across workspaces.
    const lineIds = await Promise.all(Array.from({ length: 6 }, () => createLine(app, a.id)));
    const attempts = lineIds.map((lineId) => ({ id: newId(), lineId }));
    for (const { id, lineId } of attempts) {
      await insertRow(app, 'attempts', {
        workspace_id: a.id,
        id,
        message_id: newId(),
        line_id: lineId,
        kind: 'primary',
        channel: 'imessage',
        carrier: 'simulated',
        address: phone(),
        is_new: false,
        started_at: new Date(),
        answer_by: new Date(Date.now() + 3_600_000),
      });
    }
    const moved: number[] = [];
    const moves = lineIds.map((lineId) => transfer(lineId, b).then(({ status }) => moved.push(status)));
    const held = () =>
      withSystem(app.pools, (db) =>
        db.oneFirst(sql.type(z.object({ held: z.int() }))`
          select count(*) held from lines where held_until > now() and id = any(${sql.array(lineIds, 'text')})`),
      );
    await eventually(async () => (await held()) === lineIds.length);
    const other = await createAgency(app);
    const reads = await Promise.all(lineIds.map(() => other.api('GET', '/api/agency/lines')));
    expect(reads.map(({ status }) => status)).toEqual(lineIds.map(() => 200));
    const waiting = await send(a, { recipientPhone: phone(), fromLineId: lineIds[0] });
    expect(moved).toEqual([]);
    expect((await message(a, waiting)).status).toBe('pending');
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update attempts set outcome = 'accepted', finished_at = now()
        where id = any(${sql.array(
          attempts.map(({ id }) => id),
          'text',
        )})`),
    );
    await Promise.all(moves);
    expect(moved).toEqual(lineIds.map(() => 200));
  });

  it('loses no message when it moves back and forth under load', async () => {
    const lineId = await createLine(app, a.id);
    await createLine(app, a.id);
    await createLine(app, b.id);
    const numbers = Array.from({ length: 30 }, () => phone());
    const sends = numbers.map((recipientPhone, index) =>
      (index % 2 === 0 ? a : b)
        .api('POST', '/api/messages', { recipientPhone, message: 'Once' })
        .then(({ status, body }) => ({ status, id: body._id, index })),
    );
    const moves: number[] = [];
    for (const target of [b, a, b, a]) moves.push((await transfer(lineId, target)).status);
    expect(moves).toEqual([200, 200, 200, 200]);
    const accepted = await Promise.all(sends);
    expect(new Set(accepted.map(({ status }) => status))).toEqual(new Set([201]));
    for (const { id, index } of accepted) await reaches(index % 2 === 0 ? a : b, id, 'delivered');
    for (const { index } of accepted) expect(await sentTo(app, numbers[index] ?? '')).toHaveLength(1);
  });
});

describe('a line whose carrier its workspace has connected, once it is transferred', () => {
  const PASSWORD = 'the password of the Mac';
  const SECRET = 'a secret that the former workspace knows';
  let mac: BlueBubblesStandIn;
  beforeAll(async () => {
    mac = await startBlueBubbles(PASSWORD);
  });
  afterAll(() => mac.stop());

  const connect = async (workspace: TestWorkspace, lineId: string, config: object = {}): Promise<string> => {
    const body = { provider: 'bluebubbles', config: { url: mac.url, password: PASSWORD, ...config } };
    const response = await workspace.api('PUT', `/api/lines/${lineId}/carrier`, body);
    expect(response.status).toBe(200);
    return response.body.connection.callbackUrl;
  };
  const replyFrom = (address: string, text: string) => ({
    type: 'new-message',
    data: { guid: newId(), text, isFromMe: false, dateCreated: Date.now(), handle: { address } },
  });
  /** A reply from a contact, as a server that knows the callback URL reports it. */
  const forge = async (callbackUrl: string, text: string): Promise<number> => {
    const { pathname, search } = new URL(callbackUrl);
    return (await apiClient(app.url, '')('POST', pathname + search, replyFrom(phone(), text))).status;
  };
  const repliesOf = async (workspace: TestWorkspace) =>
    JSON.stringify((await workspace.api('GET', '/api/replies')).body);
  const connectionOf = async (workspace: TestWorkspace, lineId: string) =>
    (await workspace.api('GET', `/api/lines/${lineId}/carrier`)).body.connection;

  it('obeys the former workspace no more, and sends once the new one has connected it', async () => {
    const lineId = await createLine(app, a.id);
    const former = await connect(a, lineId, { callbackSecret: SECRET });
    expect(await forge(former, 'before')).toBe(200);
    expect((await transfer(lineId, b)).status).toBe(200);
    expect(await forge(former, 'wire the money')).toBe(404);
    expect(await connectionOf(b, lineId)).toMatchObject({ provider: 'none', config: {} });

    const to = phone();
    const id = await send(b, { recipientPhone: to, fromLineId: lineId });
    await eventually(async () => (await message(b, id)).holdReason === 'line_not_connected');
    const current = await connect(b, lineId);
    expect(current).not.toBe(former);
    await reaches(b, id, 'delivered');
    expect(await forge(former, 'wire the money')).toBe(401);
    expect(await forge(current, 'welcome')).toBe(200);
    expect(await repliesOf(b)).toContain('welcome');
    expect(await repliesOf(b)).not.toContain('wire the money');
    expect(await repliesOf(a)).not.toContain('welcome');
  });

  it('forgets what the server of the former workspace said when it failed', async () => {
    const said = 'mac-of-the-first-client.example refuses the password';
    const since = new Date();
    const lineId = await createLine(app, a.id, 'imessage', {
      carrier: 'bluebubbles',
      health_status: 'down',
      health_reason: said,
      blocked_at: since,
      inbox_failing_since: since,
      inbox_failure: said,
      inbox_notified_at: since,
    });
    expect((await transfer(lineId, b)).status).toBe(200);
    const stored = await systemDb(app.pools).oneFirst(sql.type(z.object({ line: z.string() }))`
      select l::text line from lines l where id = ${lineId}`);
    expect(stored).not.toContain(said);
  });

  it('is not connected to a stranger when it comes back', async () => {
    const lineId = await createLine(app, a.id);
    await connect(a, lineId);
    await transfer(lineId, b);
    const stranger = await connect(b, lineId, { callbackSecret: SECRET });
    await transfer(lineId, a);
    expect(await forge(stranger, 'wire the money')).toBe(404);
    expect(await connectionOf(a, lineId)).toMatchObject({ provider: 'none', config: {} });
    expect(new URL(await connect(a, lineId)).searchParams.get('secret')).not.toBe(SECRET);
    expect(await forge(stranger, 'wire the money')).toBe(401);
  });

  it('does not take a callback that its former workspace began to send before the transfer', async () => {
    const lineId = await createLine(app, a.id);
    const callbackUrl = new URL(await connect(a, lineId));
    const began = request(app.url + callbackUrl.pathname + callbackUrl.search, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    let response: IncomingMessage | null = null;
    const answered = once(began, 'response').then(([answer]) => (response = answer as IncomingMessage));
    const body = JSON.stringify(replyFrom(phone(), 'wire the money'));
    began.write(body.slice(0, 10));
    // A response before the end of the body would refuse the secret, which is still valid.
    expect((await transfer(lineId, b)).status).toBe(200);
    expect(response).toBeNull();
    began.end(body.slice(10));
    expect((await answered).resume().statusCode).toBe(404);
    expect((await b.api('GET', '/api/replies')).body.replies).toEqual([]);
    expect((await a.api('GET', '/api/replies')).body.replies).toEqual([]);
  });

  it('reports nothing about messages of its former workspace', async () => {
    const lineId = await createLine(app, a.id);
    await connect(a, lineId);
    const to = phone();
    const id = await send(a, { recipientPhone: to, fromLineId: lineId });
    await reaches(a, id, 'delivered');
    const guid = mac.messages.find((sent) => sent.to === to)?.guid;
    await transfer(lineId, b);
    const { pathname, search } = new URL(await connect(b, lineId));
    const read = { guid, isFromMe: true, handle: { address: to }, dateRead: Date.now() };
    const report = { type: 'updated-message', data: read };
    expect((await apiClient(app.url, '')('POST', pathname + search, report)).status).toBe(200);
    expect(await message(a, id)).toMatchObject({ status: 'delivered', readAt: null });
  });

  it('checks no address before it is connected', async () => {
    const lineId = await createLine(app, a.id);
    await connect(a, lineId);
    await transfer(lineId, b);
    const check = () => b.api('POST', '/api/check-availability-rr', { address: phone() });
    expect((await check()).body.lineId).toBeNull();
    await connect(b, lineId);
    expect((await check()).body).toMatchObject({ lineId, available: true });
  });

  it('is not probed before it is connected', async () => {
    const lineId = await createLine(app, a.id, 'imessage', { health_status: 'down' });
    await connect(a, lineId);
    await transfer(lineId, b);
    expect((await linesOf(b))[0].healthCheck).toBeUndefined();
    expect(await b.api('GET', `/api/lines/check-availability?id=${lineId}`)).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'id' }] },
    });
  });

  it('is in the audit log of both workspaces, with its connection and without the other workspace', async () => {
    const lineId = await createLine(app, a.id);
    await connect(a, lineId);
    await transfer(lineId, b);
    await connect(b, lineId);
    const logOf = async ({ id, ownerId }: TestWorkspace) => {
      const owner = await sessionClient(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
      return (await owner('GET', '/api/audit-log')).body.entries as { action: string; changes: object }[];
    };
    const [logOfA, logOfB] = [await logOf(a), await logOf(b)];
    const brief = (entries: typeof logOfA) =>
      entries
        .filter(({ action }) => action.startsWith('line.'))
        .map(({ action, changes }) => [action, changes]);
    const transferred = { provider: 'bluebubbles', isConnected: false };
    const connected = ['line.connected', expect.objectContaining({ provider: 'bluebubbles' })];
    expect(brief(logOfA)).toEqual([['line.transferred', { direction: 'out', ...transferred }], connected]);
    expect(brief(logOfB)).toEqual([connected, ['line.transferred', { direction: 'in', ...transferred }]]);
    expect(JSON.stringify(logOfA)).not.toContain(b.id);
    expect(JSON.stringify(logOfB)).not.toContain(a.id);
  });
});

describe('a transfer is refused', () => {
  const codeOf = async (response: ReturnType<ApiClient>) => {
    const { status, body } = await response;
    return [status, body.code];
  };

  it('to, from and by another agency', async () => {
    const other = await createAgency(app);
    const stranger = await createWorkspace(app, { agency_id: other.id });
    const [own, foreign] = [await createLine(app, a.id), await createLine(app, stranger.id)];
    const nobody = await createLine(app, (await createWorkspace(app)).id);
    expect(await codeOf(transfer(own, stranger))).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    expect(await codeOf(transfer(own, { id: `org_${newId()}` }))).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    expect(await codeOf(transfer(foreign, a))).toEqual([404, 'NOT_FOUND']);
    expect(await codeOf(transfer(nobody, a))).toEqual([404, 'NOT_FOUND']);
    expect(await codeOf(transferLine(other.api, own, stranger))).toEqual([404, 'NOT_FOUND']);
    expect((await linesOf(a)).map(({ _id }: { _id: string }) => _id)).toEqual([own]);
    // A client cannot move lines at all.
    expect(
      await codeOf(
        a.api('POST', '/api/agency/lines', { action: 'transfer', lineId: own, targetWorkspaceId: b.id }),
      ),
    ).toEqual([403, 'AGENCY_KEY_REQUIRED']);
  });

  it('without a target, without a line, and for a line that is not active', async () => {
    const lineId = await createLine(app, a.id, 'imessage', { provisioning_status: 'provisioning' });
    expect(await codeOf(transfer(lineId, b))).toEqual([409, 'CONFLICT']);
    expect(await codeOf(api('POST', '/api/agency/lines', { action: 'transfer', lineId }))).toEqual([
      400,
      'VALIDATION_ERROR',
    ]);
    expect(
      await codeOf(api('POST', '/api/agency/lines', { action: 'transfer', targetWorkspaceId: b.id })),
    ).toEqual([400, 'VALIDATION_ERROR']);
    expect(
      await codeOf(api('POST', '/api/agency/lines', { action: 'sell', lineId, targetWorkspaceId: b.id })),
    ).toEqual([400, 'VALIDATION_ERROR']);
    expect(await codeOf(transfer(newId(), b))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('deleting a line', () => {
  it('requires the session of the agency owner, not a key or a co-admin', async () => {
    const coAdmin = `user_${newId()}`;
    await insertRow(app, 'users', { id: coAdmin, email: `${coAdmin}@example.test` });
    await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
    const [lineId, second] = [await createLine(app, a.id), await createLine(app, a.id)];
    const id = await send(a, {
      recipientPhone: phone(),
      fromLineId: lineId,
      scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const remove = async (userId: string | null) => {
      const by = userId === null ? api : await sessionClient(app, { userId });
      return by('POST', '/api/agency/lines', { action: 'delete', lineId });
    };
    expect(await remove(null)).toMatchObject({ status: 403, body: { code: 'AGENCY_DELETE_SESSION_ONLY' } });
    for (const odd of [undefined, 'no-id', 5])
      expect(await api('POST', '/api/agency/lines', { action: 'delete', lineId: odd })).toMatchObject({
        status: 403,
        body: { code: 'AGENCY_DELETE_SESSION_ONLY' },
      });
    expect(await remove(coAdmin)).toMatchObject({ status: 403, body: { code: 'AGENCY_OWNER_REQUIRED' } });
    expect((await linesOf(a)).length).toBe(2);
    expect(await remove(agency.ownerId)).toMatchObject({
      status: 200,
      body: { success: true, lineId, workspaceId: a.id },
    });
    expect((await linesOf(a)).map(({ _id }: { _id: string }) => _id)).toEqual([second]);
    expect((await message(a, id)).fromLineId).toBe(second);
    expect((await remove(agency.ownerId)).status).toBe(404);
  });
});

const openAttempts = (lineId: string): Promise<number> =>
  withSystem(app.pools, (db) =>
    db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) from attempts where line_id = ${lineId} and outcome is null`),
  );

/** Transfers a new line to a workspace, where it takes over the messages that wait for any line. */
async function createLineAndAdopt(workspace: TestWorkspace): Promise<void> {
  await transfer(await createLine(app, b.id), workspace);
}
