import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withTenant } from '#db/connection/transactions.ts';
import { TYPING_MS } from '#domain/messages/message-action.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const call = (method: string, path: string, body?: object) => workspace.api(method, path, body);
const type = (address: string, state: 'on' | 'off') =>
  call('POST', `/api/conversations/${encodeURIComponent(address)}/typing`, { state });

/** What the carrier was asked to do in the conversation, in order. */
async function done(to: string): Promise<{ kind: string; on?: boolean }[]> {
  const response = await fetch(`${app.url}/simulated/carrier/actions?to=${encodeURIComponent(to)}`);
  const { actions } = (await response.json()) as { actions: { action: { kind: string; on?: boolean } }[] };
  return actions.map(({ action }) => action);
}
const doneAfter = (to: string, count: number) =>
  eventually(async () => {
    const found = await done(to);
    return found.length >= count && found;
  });

async function heard(from: string, lineId = workspace.lineId): Promise<string> {
  await writeIn(app, { lineId, from, text: 'Which one?' });
  const path = `/api/conversations/${encodeURIComponent(from)}`;
  const [item] = await eventually(async () => {
    const { messages = [] } = (await call('GET', path)).body;
    return messages.length > 0 && messages;
  });
  return item.messageId;
}

const ON = { kind: 'typing', on: true };
const OFF = { kind: 'typing', on: false };

describe('typing', () => {
  it('is shown to a contact who has just written, until it is ended', async () => {
    const from = phone();
    await heard(from);
    const started = await type(from, 'on');
    expect([started.status, started.body]).toEqual([202, { success: true, status: 'pending' }]);
    await doneAfter(from, 1);
    // Still the same typing.
    expect((await type(from, 'on')).status).toBe(202);
    expect((await type(from, 'off')).status).toBe(202);
    expect(await doneAfter(from, 2)).toEqual([ON, OFF]);
    expect((await type(from, 'off')).status).toBe(202);
    expect(await done(from)).toHaveLength(2);
  });

  it('ends by itself after 30 seconds', async () => {
    const from = phone();
    await heard(from);
    await type(from, 'on');
    await doneAfter(from, 1);
    const [row] = await withTenant(app.pools, workspace.id, (db) =>
      db.any(sql.type(z.object({ wait: z.number() }))`
        select extract(epoch from due_at - created_at)::float8 wait from message_actions
        where workspace_id = ${db.workspaceId} and kind = 'typing' and status = 'pending'`),
    );
    expect(Math.round(row?.wait ?? 0)).toBe(TYPING_MS / 1000);
    await age(app.pools, 'message_actions', ['due_at'], '30 seconds', `workspace_id = '${workspace.id}'`);
    await call('PATCH', `/api/lines/${workspace.lineId}`, { minGapSeconds: 0 });
    expect(await doneAfter(from, 2)).toEqual([ON, OFF]);
  });

  it('needs a contact who wrote within 5 minutes, and a line that can', async () => {
    const from = phone();
    expect((await type(from, 'on')).body.code).toBe('NOT_FOUND');
    await heard(from);
    await age(app.pools, 'inbound_messages', ['received_at'], '6 minutes', `address = '${from}'`);
    const late = await type(from, 'on');
    expect([late.status, late.body.code]).toEqual([409, 'INVALID_STATE']);

    const viaSms = phone();
    await heard(viaSms, await createLine(app, workspace.id, 'sms'));
    const { status, body } = await type(viaSms, 'on');
    expect([status, body.code, body.capability]).toEqual([409, 'UNSUPPORTED_BY_CARRIER', 'typing']);
    expect((await call('POST', `/api/conversations/${from}/typing`, {})).body.issues[0].path).toBe('state');
  });

  it('comes before the answer of a draft', async () => {
    const from = phone();
    await heard(from);
    const { body } = await call('POST', '/api/knowledge-base/drafts', {
      phone: from,
      message: 'The red one is still there; shall I keep it for you?',
    });
    const { replyId } = body.draft;
    const approved = await call('POST', '/api/knowledge-base/auto-replies', { replyId, action: 'approve' });
    await eventually(async () => (await sentTo(app, from)).length === 1);
    expect(await doneAfter(from, 1)).toContainEqual(ON);
    const message = (await call('GET', `/api/messages/${approved.body.messageId}`)).body;
    // A second for each 12 characters.
    expect(Date.parse(message.scheduledDate) - Date.parse(message.createdAt)).toBeGreaterThan(4000);
  });
});

describe('read receipts of a line', () => {
  const set = (readReceipts: string) => call('PATCH', `/api/lines/${workspace.lineId}`, { readReceipts });
  const open = async (address: string) => {
    const { id: organizationId, ownerId: userId } = workspace;
    const session = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
    return session('POST', `/api/conversations/${encodeURIComponent(address)}/read`);
  };
  const answer = async (to: string) => {
    const { body } = await call('POST', '/api/inbox/send-reply', { phone: to, message: 'The red one' });
    await eventually(
      async () => (await call('GET', `/api/messages/${body._id}`)).body.status === 'delivered',
    );
  };
  const READ = { kind: 'read' };

  it('are off, and then tell nothing', async () => {
    const from = phone();
    await heard(from);
    expect((await call('GET', `/api/lines/${workspace.lineId}`)).body.line.readReceipts).toBe('off');
    await open(from);
    await answer(from);
    expect(await done(from)).toEqual([]);
  });

  it('tell once that a member has opened the conversation', async () => {
    const from = phone();
    expect((await set('on_open')).body.line.readReceipts).toBe('on_open');
    await heard(from);
    for (let times = 0; times < 2; times += 1) expect((await open(from)).status).toBe(200);
    await answer(from);
    expect(await doneAfter(from, 1)).toEqual([READ]);
  });

  it('tell only of an answer', async () => {
    const from = phone();
    await set('on_reply');
    await heard(from);
    await open(from);
    expect(await done(from)).toEqual([]);
    await answer(from);
    expect(await doneAfter(from, 1)).toEqual([READ]);
  });

  it('need a line that can', async () => {
    const smsLine = await createLine(app, workspace.id, 'sms');
    const { status, body } = await call('PATCH', `/api/lines/${smsLine}`, { readReceipts: 'on_open' });
    expect([status, body.code, body.capability]).toEqual([409, 'UNSUPPORTED_BY_CARRIER', 'read_receipts']);
  });
});
