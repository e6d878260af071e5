import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { deliverMessage } from '#test/support/messages.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const call = (method: string, path: string, body?: object) => workspace.api(method, path, body);
const thread = async (of: string) =>
  (await call('GET', `/api/conversations/${encodeURIComponent(of)}`)).body.messages ?? [];
const codes = (body: { warnings: { code: string; capability?: string }[] }) =>
  body.warnings.map(({ capability }) => capability).filter((capability) => capability !== undefined);

/** The id of what a contact writes. */
async function heard(from: string, lineId = workspace.lineId): Promise<string> {
  await writeIn(app, { lineId, from, text: 'Which one?' });
  const found = await eventually(async () =>
    (await thread(from)).find(({ direction }: { direction: string }) => direction === 'in'),
  );
  return found.messageId;
}

describe('a message that answers another', () => {
  it('names it at the carrier and in the conversation, whoever wrote that one', async () => {
    const to = phone();
    const question = await heard(to);
    const first = await call('POST', '/api/inbox/send-reply', {
      phone: to,
      message: 'The red one',
      replyToMessageId: question,
      effect: 'confetti',
    });
    expect([first.status, codes(first.body)]).toEqual([201, []]);
    expect(first.body).toMatchObject({ replyToMessageId: question, effect: 'confetti' });
    await eventually(async () => (await sentTo(app, to)).length === 1);
    await eventually(async () => (await call('GET', `/api/messages/${first.body._id}`)).body.sentAt !== null);
    await deliverMessage(workspace.api, { recipientPhone: to, replyToMessageId: first.body._id });
    const [own, second] = await sentTo(app, to);
    expect(own?.replyTo).toBeTruthy();
    expect(own?.effect).toBe('confetti');
    expect(second?.replyTo).toBe(own?.id);
    expect(await thread(to)).toMatchObject([
      { replyToMessageId: first.body._id },
      { replyToMessageId: question, effect: 'confetti' },
      { replyToMessageId: null },
    ]);
  });

  it('is the answer to a draft', async () => {
    const to = phone();
    const question = await heard(to);
    const drafted = await call('POST', '/api/knowledge-base/drafts', { phone: to, message: 'Tuesday?' });
    const { replyId } = drafted.body.draft;
    const approve = (replyToMessageId: string) =>
      call('POST', '/api/knowledge-base/auto-replies', { replyId, action: 'approve', replyToMessageId });
    expect((await approve('000000000000000000000000')).body).toMatchObject({ code: 'NOT_FOUND' });
    expect((await approve(question)).status).toBe(200);
    const [sent] = await eventually(async () => {
      const found = await sentTo(app, to);
      return found.length > 0 && found;
    });
    expect(sent?.replyTo).toBeTruthy();
  });

  it('must have been exchanged with the same contact', async () => {
    const to = phone();
    const post = (replyToMessageId: string) =>
      call('POST', '/api/messages', { message: 'Hi', recipientPhone: to, replyToMessageId });
    const unknown = await post('000000000000000000000000');
    expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
    expect(unknown.body.error).toContain('replyToMessageId');
    const later = await call('POST', '/api/messages', {
      message: 'Later',
      recipientPhone: to,
      scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
    });
    for (const id of [await heard(phone()), later.body._id]) {
      const { status, body } = await post(id);
      expect([status, body.code, body.issues?.[0]?.path]).toEqual([
        400,
        'VALIDATION_ERROR',
        'replyToMessageId',
      ]);
    }
  });
});

describe('what a line cannot send', () => {
  it('is left out, and the response says so', async () => {
    await createLine(app, workspace.id, 'sms');
    const to = phone();
    const question = await heard(to);
    const { status, body } = await call('POST', '/api/messages', {
      message: 'The red one',
      messageType: 'sms',
      recipientPhone: to,
      replyToMessageId: question,
      effect: 'slam',
    });
    expect([status, codes(body)]).toEqual([201, ['replies', 'effects']]);
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect((await sentTo(app, to))[0]?.replyTo).toBeUndefined();
    await eventually(async () => (await call('GET', `/api/messages/${body._id}`)).body.transport === 'sms');
    const unknown = await call('POST', '/api/messages', {
      message: 'Hi',
      recipientPhone: to,
      effect: 'explosion',
    });
    expect([unknown.status, unknown.body.issues?.[0]?.path]).toEqual([400, 'effect']);
  });
});
