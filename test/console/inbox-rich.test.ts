import { afterEach, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
afterEach(() => tab.page.unrouteAll({ behavior: 'ignoreErrors' }));

const log = () => tab.page.getByRole('log', { name: 'Messages' });
const said = (text: string) => log().getByText(text, { exact: true });
const box = () => tab.page.getByRole('textbox', { name: 'Reply' });
const answers = () => tab.page.getByRole('form', { name: 'Reply' }).getByText('Answers');
const quote = () => log().getByRole('button', { name: /^Answers/ });

interface Talk {
  workspace: WorkspaceWithLine;
  from: string;
  /** What the contact says next. @returns the carrier's id. */
  say(text: string, fields?: Parameters<typeof replyEvent>[2]): Promise<string>;
  type(isOn: boolean): Promise<number>;
  messages(): Promise<Record<string, unknown>[]>;
}

/** Opens the conversation with a contact who has just written. */
async function openTalk(text: string): Promise<Talk> {
  const { app } = tab;
  const workspace = await createWorkspaceWithLine(app);
  const from = phone();
  const path = `/api/conversations/${encodeURIComponent(from)}`;
  const talk: Talk = {
    workspace,
    from,
    async say(next, fields) {
      const event = replyEvent(from, next, fields);
      expect(await callBack(app, workspace.lineId, event)).toBe(200);
      return event.carrierMessageId;
    },
    type: (isOn) =>
      callBack(app, workspace.lineId, { kind: 'typing', eventId: newId(), at: new Date(), from, isOn }),
    messages: async () => (await workspace.api('GET', path)).body.messages,
  };
  await talk.say(text);
  await tab.signInAsOwner(workspace, `/inbox/${encodeURIComponent(from)}`);
  await said(text).waitFor();
  return talk;
}

const requestsTo = (path: string): { body: Record<string, unknown> }[] => {
  const sent: { body: Record<string, unknown> }[] = [];
  tab.page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes(path))
      sent.push({ body: request.postDataJSON() as Record<string, unknown> });
  });
  return sent;
};

test('a reply answers one message, by a key or its menu, which stays chosen until it is sent, and is shown above it', async () => {
  const { page } = tab;
  const { say, messages } = await openTalk('Is it still free?');
  await say('And is it quiet?');
  await said('And is it quiet?').waitFor();
  await page.getByRole('button', { name: 'Act on this message' }).last().waitFor();
  await page.keyboard.press('q');
  await page.keyboard.type('Very.');
  await expect.poll(() => box().inputValue()).toBe('Very.');
  const bar = page.getByRole('form', { name: 'Reply' });
  await bar.getByText('And is it quiet?').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Answer no single message' }).click();
  await answers().waitFor({ state: 'detached' });
  // The first message, by its menu, whose field goes on at once.
  await page.getByRole('button', { name: 'Act on this message' }).first().click();
  await page.getByRole('menuitem', { name: 'Reply to this message' }).click();
  await bar.getByText('Is it still free?').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Reply');
  await box().press('Escape');
  await page.reload();
  await bar.getByText('Is it still free?').waitFor();
  expect(await box().inputValue()).toBe('Very.');

  const send = async (): Promise<void> => box().press('Control+Enter');
  await send();
  await quote().getByText('Is it still free?').waitFor();
  await answers().waitFor({ state: 'detached' });
  await page.getByRole('region', { name: 'Notifications' }).getByRole('button', { name: 'Undo' }).click();
  await bar.getByText('Is it still free?').waitFor();
  expect(await box().inputValue()).toBe('Very.');
  await send();
  await quote().getByText('Is it still free?').waitFor();
  // What was undone may still be shown above.
  const saidIn = async (text: string) => (await messages()).find(({ message }) => message === text);
  const answer = await eventually(() => saidIn('Very.'));
  const first = await saidIn('Is it still free?');
  expect(answer).toMatchObject({ replyToMessageId: first?.['messageId'] });
  await quote().press('Enter');
  await expect
    .poll(() => page.evaluate('document.activeElement.id'))
    .toBe(`message-${String(first?.['messageId'])}`);
});

test('what a contact answers is shown as it is now, and their typing until they write', async () => {
  const { page } = tab;
  const { say, type, workspace } = await openTalk('At five?');
  const typing = page.getByText(/ is typing…$/);
  // The part of the page that shows it may not be loaded yet. Phones repeat it.
  const isShown = async (): Promise<boolean> => (await type(true)) === 200 && typing.isVisible();
  await expect.poll(isShown, { timeout: 20_000 }).toBe(true);
  expect(await inaccessible(page)).toEqual([]);
  expect(await type(false)).toBe(200);
  await typing.waitFor({ state: 'detached' });
  await type(true);
  await typing.waitFor();
  const carrierMessageId = await say('At six?');
  await said('At six?').waitFor();
  await typing.waitFor({ state: 'detached' });
  await say('Or later', { replyTo: carrierMessageId });
  await quote().getByText('At six?').waitFor();
  const change = { eventId: newId(), carrierMessageId, at: new Date() };
  await callBack(tab.app, workspace.lineId, { kind: 'edited', ...change, text: 'At seven?' });
  await quote().getByText('At seven?').waitFor();
  await callBack(tab.app, workspace.lineId, { kind: 'unsent', ...change, eventId: newId() });
  await quote().getByText('Removed by the contact').waitFor();
});

test('the contact sees that somebody writes a reply, and not that they write a note or read a draft', async () => {
  const { page } = tab;
  await openTalk('Is it still free?');
  const told = requestsTo('/typing');
  const states = () => told.map(({ body }) => body['state']);
  await page.getByText(/^From /).waitFor();
  await page.keyboard.press('n');
  await page.keyboard.type('Ask Mia.');
  await page.getByRole('textbox', { name: 'Note' }).press('Escape');
  await box().pressSequentially('It is');
  await expect.poll(states).toEqual(['on']);
  await box().fill('');
  await expect.poll(states).toEqual(['on', 'off']);
  await box().pressSequentially('Yes');
  await box().press('Escape');
  await expect.poll(states).toEqual(['on', 'off', 'on', 'off']);
});

test('a text is sent as separate messages, the first with an effect, and undone as one', async () => {
  const { page } = tab;
  const { messages } = await openTalk('Tell me about it');
  const sent = requestsTo('/api/inbox/send-reply');
  await box().fill('Two rooms.\n\n62 square metres.\n\nShall we see it?');
  await page.getByRole('checkbox', { name: /As 3 separate messages/ }).check();
  await page.getByRole('button', { name: 'Send with an effect' }).click();
  await page.getByRole('menuitem', { name: 'Confetti' }).click();
  await page.getByText('With the effect Confetti').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.reload();
  await page.getByText('With the effect Confetti').waitFor();
  await box().press('Control+Enter');
  await said('Shall we see it?').waitFor();
  await page.getByRole('region', { name: 'Notifications' }).getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => box().inputValue()).toBe('Two rooms.\n\n62 square metres.\n\nShall we see it?');
  await said('Shall we see it?').waitFor({ state: 'detached' });
  expect(await messages()).toHaveLength(1);
  await box().press('Control+Enter');
  await said('Shall we see it?').waitFor();
  await said('Confetti').waitFor();
  expect(sent).toHaveLength(2);
  expect(sent[1]?.body).toMatchObject({
    message: ['Two rooms.', '62 square metres.', 'Shall we see it?'],
    effect: 'confetti',
  });
  await box().fill('One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.\n\nSix.');
  expect(await page.getByRole('checkbox', { name: /5 at most/ }).isDisabled()).toBe(true);
});

test('a draft that is approved shows what it answers, if that was asked for', async () => {
  const { page } = tab;
  const { workspace, from, messages } = await openTalk('Is it still free?');
  const drafted = await workspace.api('POST', '/api/knowledge-base/drafts', {
    phone: from,
    message: 'It is.',
  });
  expect(drafted.status).toBe(201);
  const draft = page.getByRole('region', { name: 'Draft' });
  await draft.getByRole('checkbox', { name: 'Show on the phone which message it answers' }).check();
  await page.reload();
  await expect.poll(() => draft.getByRole('checkbox').isChecked()).toBe(true);
  expect(await inaccessible(page)).toEqual([]);
  await draft.getByRole('button', { name: 'Approve and send' }).click();
  await quote().getByText('Is it still free?').waitFor();
  const said = await messages();
  const idOf = (text: string) => said.find(({ message }) => message === text)?.['messageId'];
  expect(said).toContainEqual(
    expect.objectContaining({ messageId: idOf('It is.'), replyToMessageId: idOf('Is it still free?') }),
  );
});

test('the edit of a draft that has ended still answers what the draft answered', async () => {
  const { page } = tab;
  const { workspace, from, messages } = await openTalk('Is it still free?');
  await workspace.api('POST', '/api/knowledge-base/drafts', { phone: from, message: 'It is.' });
  const draft = page.getByRole('region', { name: 'Draft' });
  await draft.getByRole('checkbox', { name: 'Show on the phone which message it answers' }).check();
  await draft.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Edit the draft').fill('It is, until Friday.');
  const { autoReplies } = (await workspace.api('GET', '/api/knowledge-base/auto-replies?status=drafted'))
    .body;
  const decision = { replyId: autoReplies[0].replyId, action: 'reject' };
  expect((await workspace.api('POST', '/api/knowledge-base/auto-replies', decision)).status).toBe(200);
  await draft.getByText('Your text is kept.').waitFor();
  await page.reload();
  await draft.getByText('Your text is kept.').waitFor();
  expect(await draft.getByRole('checkbox').isChecked()).toBe(true);
  await draft.getByRole('button', { name: 'Send as a reply' }).click();
  await quote().getByText('Is it still free?').waitFor();
  expect((await messages()).find(({ message }) => message === 'It is, until Friday.')).toMatchObject({
    replyToMessageId: expect.any(String),
  });
});

test('a group shows who is in it, and who wrote what, on a phone too', async () => {
  const { page, app } = tab;
  const { workspace, from } = await openTalk('Hello');
  const [ada, ben] = [from, phone()];
  const group = { id: 'the-group', name: 'Us', participants: [ada, ben] };
  for (const [index, writer] of [ada, ben].entries())
    await callBack(app, workspace.lineId, replyEvent(writer, `Message ${index}`, { group }));
  const { body } = await eventually(async () => {
    const listed = await workspace.api('GET', '/api/conversations');
    return listed.body.conversations.length === 2 && listed;
  });
  const { address } = body.conversations.find(({ name }: { name: string }) => name === 'Us');
  await tab.go(`/inbox/${encodeURIComponent(address)}`);
  await said('Message 1').waitFor();
  const shown = (number: string) => number.replaceAll(/\D/g, '').slice(-4);
  expect(await log().innerText()).toContain(shown(ben));
  await page.setViewportSize({ width: 390, height: 780 });
  await page.locator('summary').click();
  const people = page.getByRole('list', { name: 'In this group' });
  expect(await people.getByRole('listitem').count()).toBe(2);
  expect(await inaccessible(page)).toEqual([]);
  const overflows = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  expect(overflows).toBe(false);
  await page.setViewportSize({ width: 1280, height: 800 });
});
