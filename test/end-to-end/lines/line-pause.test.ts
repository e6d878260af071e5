import { beforeAll, describe, expect, it } from 'vitest';
import { updateWorkflow } from '#providers/temporal.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createWorkspaceWithLine, insertRow, type WorkspaceWithLine } from '#test/support/factories.ts';
import { DANA } from '#test/support/operators.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { newUserId } from '#domain/base/ids.ts';
import { pauseLine } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
let owner: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
  const { ownerId: userId, id: organizationId } = workspace;
  owner = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
});

const path = (action: string): string => `/api/lines/${workspace.lineId}/${action}`;
const pausedBy = (api: ApiClient, body?: object) => api('POST', path('pause'), body);
const resumedBy = (api: ApiClient) => api('POST', path('resume'));

async function post(): Promise<{ id: string; to: string; holdReason: string | null }> {
  const to = phone();
  const { body } = await workspace.api('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
  return { id: body._id, to, holdReason: body.holdReason };
}

async function heldOf(id: string) {
  const { body } = await workspace.api('GET', `/api/messages/${id}/timeline`);
  return body.events.filter(({ type }: { type: string }) => type === 'held');
}

const auditOf = async () =>
  (await owner('GET', `/api/audit-log?targetId=${workspace.lineId}&limit=200`)).body.entries.map(
    ({ action, channel, actor, reason }: Record<string, { name: string }>) => [
      action,
      channel,
      actor?.name,
      reason,
    ],
  );

describe('a line that its workspace pauses', () => {
  it('sends nothing until it is resumed, and its messages tell who paused it and why', async () => {
    const paused = await pausedBy(owner, { reason: 'Holidays' });
    expect(paused).toMatchObject({
      status: 200,
      body: { success: true, line: { _id: workspace.lineId, isPaused: true, isActive: true } },
    });
    // The first reason stays.
    expect(await pausedBy(workspace.api, { reason: 'Again' })).toMatchObject({
      status: 200,
      body: { line: { isPaused: true } },
    });
    const held = await post();
    const reply = { phone: held.to, message: 'Another' };
    const answered = await workspace.api('POST', '/api/inbox/send-reply', reply);
    expect([held.holdReason, answered.body.holdReason]).toEqual(['line_paused', 'line_paused']);
    await workspace.api('POST', `/api/messages/${answered.body._id}/cancel`);
    const message = await eventually(async () => {
      const { body } = await workspace.api('GET', `/api/messages/${held.id}`);
      return body.holdReason === 'line_paused' && body;
    });
    expect(message.status).toBe('pending');
    const [waiting] = await eventually(async () => {
      const found = await heldOf(held.id);
      return found.length > 0 && found;
    });
    expect(waiting).toMatchObject({
      text: 'Held: the line was paused by Owner (Holidays).',
      data: { reason: 'line_paused', by: 'Owner', note: 'Holidays', until: null },
    });
    expect(await sentTo(app, held.to)).toEqual([]);

    for (let turn = 0; turn < 2; turn += 1)
      expect(await resumedBy(workspace.api)).toMatchObject({
        status: 200,
        body: { success: true, line: { isPaused: false } },
      });
    await eventually(async () => (await sentTo(app, held.to)).length === 1);
    expect(await auditOf()).toEqual([
      ['line.resumed', 'api', 'Test', null],
      ['line.paused', 'session', 'Owner', 'Holidays'],
    ]);
  });

  it('is told with the author of each pause, however soon it follows', async () => {
    await pausedBy(owner, { reason: 'Holidays' });
    await resumedBy(owner);
    await pausedBy(workspace.api);
    const { id, to } = await post();
    const data = await eventually(async () => (await heldOf(id))[0]?.data);
    expect(data).toMatchObject({ by: 'Test', note: null, until: null });
    await resumedBy(owner);
    await eventually(async () => (await sentTo(app, to)).length === 1);
  });

  it('is the same line that an operator pauses', async () => {
    const target = { workflowId: linePacerId(workspace.lineId), workspaceId: workspace.id };
    await updateWorkflow(app.temporal, target, pauseLine, DANA);
    expect(await pausedBy(owner, { reason: 'Too' })).toMatchObject({ body: { line: { isPaused: true } } });
    expect(await resumedBy(owner)).toMatchObject({ body: { line: { isPaused: false } } });
    expect((await auditOf()).slice(0, 2)).toEqual([
      ['line.resumed', 'session', 'Owner', null],
      ['line.paused', 'operator', 'Dana', 'maintenance'],
    ]);
  });

  it('is refused to members, and with a reason that cannot be shown', async () => {
    const userId = newUserId();
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test` });
    await insertRow(app, 'workspace_members', {
      workspace_id: workspace.id,
      user_id: userId,
      role: 'org:member',
    });
    const member = await sessionClient(app, { userId, organizationId: workspace.id, role: 'org:member' });
    for (const refused of [await pausedBy(member), await resumedBy(member)])
      expect(refused).toMatchObject({ status: 403, body: { code: 'ADMIN_REQUIRED' } });
    for (const reason of [' ', '\n', 'x'.repeat(501)])
      expect(await pausedBy(owner, { reason })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR', issues: [{ path: 'reason' }] },
      });
  });
});
