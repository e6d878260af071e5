import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { transferLine } from '#test/support/agency-lines.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { deliverMessage } from '#test/support/messages.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLead,
  createLine,
  createWorkspaceWithLine,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));

describe('GET /api/replies', () => {
  it('lists one item per conversation, newest first, in pages', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    const contacts = [phone(), phone(), phone()] as const;
    for (const [index, from] of contacts.entries()) {
      await callBack(app, lineId, replyEvent(from, `first ${index}`, { at: at(index) }));
      await callBack(app, lineId, replyEvent(from, `second ${index}`, { at: at(10 + index) }));
    }
    const first = (await api('GET', '/api/replies?limit=2')).body;
    expect(first.replies.map(({ recipientPhone }: { recipientPhone: string }) => recipientPhone)).toEqual([
      contacts[2],
      contacts[1],
    ]);
    const second = (await api('GET', `/api/replies?limit=2&cursor=${first.nextCursor}`)).body;
    expect(second).toMatchObject({
      success: true,
      nextCursor: null,
      replies: [{ recipientPhone: contacts[0], respondedAtUtc: at(10).toISOString() }],
    });
    expect(second.replies[0].recentReplies.map(({ message }: { message: string }) => message)).toEqual([
      'second 0',
      'first 0',
    ]);
    // Of another list: the pages must not just end.
    const foreign = await api('GET', `/api/replies?cursor=${newId()}`);
    expect([foreign.status, foreign.body.issues?.[0]?.path]).toEqual([400, 'cursor']);
  });

  it('filters by lead, line and time', async () => {
    const { id: workspaceId, lineId, api } = await createWorkspaceWithLine(app);
    const otherLine = await createLine(app, workspaceId);
    const [ada, eve] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, { phones: [ada] });
    await callBack(app, lineId, replyEvent(ada, 'early', { at: at(1) }));
    await callBack(app, lineId, replyEvent(eve, 'middle', { at: at(2) }));
    await callBack(app, otherLine, replyEvent(ada, 'late', { at: at(3) }));
    const ids = async (query: string): Promise<string[]> =>
      (await api('GET', `/api/replies?${query}`)).body.replies.map(
        ({ respondedAtUtc }: { respondedAtUtc: string }) => respondedAtUtc,
      );
    const [early, middle, late] = [at(1), at(2), at(3)].map((date) => date.toISOString());
    expect(await ids('')).toEqual([late, middle]);
    expect(await ids(`leadId=${leadId}`)).toEqual([late]);
    expect(await ids(`lineId=${lineId}`)).toEqual([middle, early]);
    expect(await ids(`since=${late}`)).toEqual([late]);
    expect(await ids(`since=${encodeURIComponent(at(3).toISOString().replace('Z', '+0000'))}`)).toEqual([
      late,
    ]);
    expect(await ids(`until=${middle}`)).toEqual([middle, early]);
    expect(await ids('since=2026-01-01&until=2026-01-01')).toEqual([late, middle]);
    expect(await ids('until=2025-12-31')).toEqual([]);
    expect(await api('GET', '/api/replies?since=yesterday')).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR' },
    });
  });

  it('shows the lead that has the address if the lead of the answered message was deleted', async () => {
    const { lineId, api, id } = await createWorkspaceWithLine(app);
    const from = phone();
    const write = (text: string) => callBack(app, lineId, replyEvent(from, text, { at: new Date() }));
    const first = await createLead(app, id, { phones: [from], first_name: 'Ada' });
    await deliverMessage(api, { leadId: first });
    await write('Hello');
    await api('DELETE', `/api/leads/${first}`);
    const shown = async () => ({
      reply: (await api('GET', '/api/replies')).body.replies[0].leadId,
      conversation: (await api('GET', '/api/conversations')).body.conversations[0].leadId,
    });
    expect(await shown()).toEqual({ reply: null, conversation: null });
    const { body } = await api('POST', '/api/leads', { leads: [{ firstName: 'Ada', phone: from }] });
    const second = body.leadIds[0];
    await write('Hello again');
    expect(await shown()).toEqual({ reply: second, conversation: second });
    const { replies } = (await api('GET', `/api/replies?leadId=${second}`)).body;
    expect(replies).toMatchObject([{ recipientPhone: from, name: 'Ada' }]);
  });
});

describe('POST /api/inbox/send-reply', () => {
  it('replies to the address that wrote last, from the line it wrote to', async () => {
    const { id: workspaceId, lineId, api } = await createWorkspaceWithLine(app);
    const wroteTo = await createLine(app, workspaceId, 'sms');
    const [old, current] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, { phones: [old, current] });
    await callBack(app, lineId, replyEvent(old, 'long ago', { at: at(1) }));
    await callBack(app, wroteTo, replyEvent(current, 'now', { at: at(2) }));
    const { status, body } = await api('POST', '/api/inbox/send-reply', { leadId, message: 'Hi' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      source: 'inbox',
      fromLineId: wroteTo,
      messageType: 'sms',
      recipientPhone: current,
      leadId,
    });
    await eventually(async () => (await sentTo(app, current))[0]?.lineId === wroteTo);
    expect(await api('POST', '/api/inbox/send-reply', { phone: old, message: 'Hi' })).toMatchObject({
      status: 201,
      body: { fromLineId: lineId },
    });
    expect(
      await api('POST', '/api/inbox/send-reply', { phone: current, message: 'Hi', fromLineId: lineId }),
    ).toMatchObject({ body: { fromLineId: lineId } });
  });

  it('replies through another line of the workspace if the one that was written to has left', async () => {
    const { agency, first, second } = await createAgencyWithTwoWorkspaces(app);
    const [wroteTo, other] = [await createLine(app, first.id, 'sms'), await createLine(app, first.id, 'sms')];
    const contact = phone();
    await callBack(app, wroteTo, replyEvent(contact, 'Hello?'));
    await eventually(async () => (await first.api('GET', '/api/replies')).body.replies.length === 1);
    expect((await transferLine(agency.api, wroteTo, second)).status).toBe(200);
    const reply = { phone: contact, message: 'Hi' };
    expect(await first.api('POST', '/api/inbox/send-reply', reply)).toMatchObject({
      status: 201,
      body: { messageType: 'sms', fromLineId: other },
    });
    const { draft } = (await first.api('POST', '/api/knowledge-base/drafts', reply)).body;
    const approval = { replyId: draft.replyId, action: 'approve' };
    expect((await first.api('POST', '/api/knowledge-base/auto-replies', approval)).status).toBe(200);
    await eventually(async () => (await sentTo(app, contact)).length === 2);
  });

  it.each([
    ['no contact', { message: 'x' }, 400, 'VALIDATION_ERROR'],
    ['no text', { phone: '+14155550177' }, 400, 'VALIDATION_ERROR'],
    ['an unknown lead', { leadId: '0123456789abcdef01234567', message: 'x' }, 404, 'NOT_FOUND'],
    [
      'an unknown line',
      { phone: '+14155550177', message: 'x', fromLineId: '0123456789abcdef01234567' },
      404,
      'NOT_FOUND',
    ],
  ])('refuses %s', async (_what, body, status, code) => {
    const { api } = await createWorkspaceWithLine(app);
    expect(await api('POST', '/api/inbox/send-reply', body)).toMatchObject({ status, body: { code } });
  });
});
