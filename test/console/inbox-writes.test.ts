import type { Locator, Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createKey, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { arrive, callBack, replyEvent, writeIn } from '#test/support/inbound.ts';
import { signIn } from '#test/support/sessions.ts';
import { inaccessible, PIXEL } from './browser.ts';
import { openConsole } from './console-tab.ts';
import { countRequestsAfter, holdResponses } from './held-responses.ts';

const tab = openConsole();

// A test that fails does not hold up the requests of the next one.
afterEach(() => tab.page.unrouteAll({ behavior: 'ignoreErrors' }));

const CONVERSATIONS = '**/api/conversations?*';
const SEND = '**/api/inbox/send-reply';

/** Opens the inbox at the first of the contacts, who have each written a text. @returns their numbers. */
async function openInbox(...texts: string[]): Promise<{ workspace: WorkspaceWithLine; contacts: string[] }> {
  const workspace = await createWorkspaceWithLine(tab.app);
  const contacts = texts.map(() => phone());
  for (const [index, text] of texts.entries())
    await arrive(tab.app, { lineId: workspace.lineId, from: contacts[index] ?? '', text });
  await eventually(
    async () => (await workspace.api('GET', '/api/conversations')).body.conversations.length === texts.length,
  );
  await tab.signInAsOwner(workspace, pathOf(contacts[0]));
  await log(texts[0] ?? '').waitFor();
  return { workspace, contacts };
}

const pathOf = (contact = ''): string => `/inbox/${encodeURIComponent(contact)}`;
const log = (text: string) => tab.page.getByRole('log').getByText(text, { exact: true });
const box = () => tab.page.getByRole('textbox', { name: 'Reply' });
const notified = (text: string) =>
  tab.page.getByRole('region', { name: 'Notifications' }).getByText(text).waitFor();

async function openDraft() {
  const { page, app } = tab;
  const { workspace } = await openInbox('Hello');
  await workspace.api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
  const from = phone();
  await writeIn(app, { lineId: workspace.lineId, from, text: 'Are dogs allowed?' });
  await page.getByText('Are dogs allowed?').first().waitFor();
  await tab.go(pathOf(from));
  await draft().waitFor();
  await page.locator('[title="a"]').waitFor();
  return { workspace, from };
}
const draft = () => tab.page.getByRole('heading', { name: 'Draft' });
const DECIDE = '**/api/knowledge-base/auto-replies';

test('what is typed behind Ctrl K is searched, and does nothing else while the search is not there yet', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Is it still free?');
  // Before the page is painted again.
  await page.evaluate(`(() => {
    const press = (init) =>
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init }));
    press({ key: 'k', ctrlKey: true });
    for (const key of 'cams') press({ key });
    press({ key: 'Backspace' });
  })()`);
  const search = page.getByRole('combobox', { name: /Search/ });
  await expect.poll(() => search.inputValue()).toBe('cam');
  await page.keyboard.type('p');
  await page.getByRole('option', { name: 'New campaign' }).waitFor();
  expect(await search.inputValue()).toBe('camp');
  await page.keyboard.press('Escape');
  const { conversations } = (await workspace.api('GET', '/api/conversations')).body;
  expect(conversations).toMatchObject([{ status: 'open', assigneeId: null }]);
});

test('a reply that is typed while another is sent stays', async () => {
  const { page } = tab;
  await openInbox('Is it still free?');
  const list = await holdResponses(page, 'GET', CONVERSATIONS);
  const response = page.waitForResponse(SEND);
  await box().fill('It is.');
  await box().press('Control+Enter');
  await (await response).finished();
  await box().fill('See you then.');
  await expect.poll(list.count).toBeGreaterThan(0);
  list.release();
  await notified('The reply is on its way');
  await log('It is.').waitFor();
  expect(await box().inputValue()).toBe('See you then.');
});

test('a reply is in the thread at once, and never twice', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const send = await holdResponses(page, 'POST', SEND);
  // Also what is shown for a moment counts.
  await page.evaluate(`(() => {
    const log = document.querySelector('[role=log]');
    const count = () => [...log.querySelectorAll('p')].filter((p) => p.textContent === 'It is.').length;
    globalThis.most = 0;
    new MutationObserver(() => (globalThis.most = Math.max(globalThis.most, count())))
      .observe(log, { childList: true, subtree: true, characterData: true });
  })()`);
  await box().fill('It is.');
  await box().press('Control+Enter');
  await log('It is.').waitFor();
  expect(await box().inputValue()).toBe('');
  await expect.poll(send.count).toBe(1);
  await log('Sending').waitFor();
  // The thread is read again before the response arrives.
  await eventually(async () => (await workspace.api('GET', '/api/messages')).body.messages.length === 1);
  await writeIn(tab.app, { lineId: workspace.lineId, from: contacts[0] ?? '', text: 'Hello?' });
  await log('Hello?').waitFor();
  await log('Sending').waitFor({ state: 'detached' });
  await log('It is.').waitFor();
  send.release();
  await notified('The reply is on its way');
  await expect.poll(() => log('It is.').count()).toBe(1);
  expect(await page.evaluate('globalThis.most')).toBe(1);
});

test('the conversation after the open one is shown without waiting', async () => {
  const { page } = tab;
  const { contacts } = await openInbox('First', 'Second', 'Third');
  const next = `**/api/conversations/${encodeURIComponent(contacts[1] ?? '')}?*`;
  const ahead = page.waitForResponse(next);
  await tab.go(pathOf(contacts[2]));
  await (await ahead).finished();
  await log('Third').waitFor();
  const again = await holdResponses(page, 'GET', next);
  await page.keyboard.press('j');
  await log('Second').waitFor();
  again.release();
});

test('a reply can be undone for some seconds, in which it is not sent', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const response = page.waitForResponse(SEND);
  await box().fill('It is.');
  await box().press('Control+Enter');
  const { _id } = (await (await response).json()) as { _id: string };
  await page.getByRole('button', { name: 'Undo' }).click();
  await notified('The message was canceled');
  expect(await box().inputValue()).toBe('It is.');
  await expect.poll(() => box().and(page.locator(':focus')).count()).toBe(1);
  expect((await workspace.api('GET', `/api/messages/${_id}`)).body).toMatchObject({
    status: 'canceled',
    recipientPhone: contacts[0],
    sentAt: null,
  });
});

test('a group is answered, unless somebody in it has opted out', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Hello');
  const { lineId, api } = workspace;
  const [ada, ben] = [phone(), phone()];
  const group = { id: 'iMessage;+;chat7', name: 'Flat 7', participants: [ada, ben] };
  await writeIn(tab.app, { lineId, from: ada, text: 'Is the flat free?', group });
  const { address } = await eventually(async () => {
    const { conversations } = (await api('GET', '/api/conversations')).body;
    return conversations.find(({ name }: { name: string }) => name === 'Flat 7');
  });
  await tab.go(pathOf(address));
  await log('Is the flat free?').waitFor();
  const response = page.waitForResponse(SEND);
  await box().fill('It is.');
  await box().press('Control+Enter');
  expect(await (await response).json()).toMatchObject({ groupId: address.slice('group:'.length) });
  await log('It is.').waitFor();
  await writeIn(tab.app, { lineId, from: ben, text: 'Stop', group });
  await page.getByText('Somebody in this group has opted out').waitFor();
});

test('a reply on a paused line names what it waits for', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  await workspace.api('POST', `/api/lines/${workspace.lineId}/pause`, {});
  await tab.signInAsOwner(workspace, pathOf(contacts[0]));
  await page.getByText(/: paused$/).waitFor();
  await box().fill('It is.');
  await box().press('Control+Enter');
  await notified('The reply waits');
});

test('a reply whose conversation is left before it is sent is not unsent', async () => {
  const { page } = tab;
  const { contacts } = await openInbox('Is it still free?', 'Where is it?');
  const send = await holdResponses(page, 'POST', SEND);
  await box().fill('It is.');
  await box().press('Control+Enter');
  await expect.poll(send.count).toBe(1);
  await tab.go(pathOf(contacts[1]));
  await log('Where is it?').waitFor();
  send.release();
  await notified('The reply is on its way');
  await tab.go(pathOf(contacts[0]));
  await log('It is.').waitFor();
  expect(await box().inputValue()).toBe('');
});

test('a refused reply is reported in any conversation, and remains unsent', async () => {
  const { page } = tab;
  const { contacts } = await openInbox('Is it still free?', 'Where is it?');
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  await page.route(SEND, async (route) => {
    await left;
    await route.fulfill({ status: 409, json: { error: 'Not now', code: 'INVALID_STATE' } });
  });
  const request = page.waitForRequest(SEND);
  await box().fill('It is.');
  await box().press('Control+Enter');
  await request;
  await tab.go(pathOf(contacts[1]));
  await log('Where is it?').waitFor();
  leave();
  await notified('Not now');
  await tab.go(pathOf(contacts[0]));
  await log('Is it still free?').waitFor();
  expect(await box().inputValue()).toBe('It is.');
  expect(tab.takeProblems()).toEqual([expect.stringContaining('409')]);
});

test('a draft that is gone before all lists are read again can be undone', async () => {
  const { page } = tab;
  await openDraft();
  const suspected = await holdResponses(page, 'GET', '**/api/opt-outs/suspected?*');
  await page.keyboard.press('a');
  await draft().waitFor({ state: 'detached' });
  await expect.poll(suspected.count).toBeGreaterThan(0);
  suspected.release();
  await notified('The reply is on its way');
  await page.getByRole('button', { name: 'Undo' }).click();
  await notified('The message was canceled');
});

test('whoever decides about a draft by keyboard goes on by keyboard', async () => {
  const { page } = tab;
  await openDraft();
  const approve = page.getByRole('button', { name: 'Approve and send' });
  await approve.focus();
  await page.keyboard.press('Enter');
  await notified('The reply is on its way');
  await draft().waitFor({ state: 'detached' });
  await page.getByRole('group', { name: 'What was said' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('r');
  await box().and(page.locator(':focus')).waitFor();
});

test('whoever opens a conversation and answers at once types into its reply, however slow it is', async () => {
  const { page } = tab;
  const { contacts } = await openInbox('Is it still free?', 'Where is it?');
  const thread = await holdResponses(
    page,
    'GET',
    `**/api/conversations/${encodeURIComponent(contacts[1] ?? '')}?*`,
  );
  // The list may be slower than the thread.
  await page.getByText('Where is it?').first().waitFor();
  await page.keyboard.press('k');
  await expect.poll(thread.count).toBeGreaterThan(0);
  await page.keyboard.press('r');
  await page.keyboard.type('As close as can be.');
  thread.release();
  await log('Where is it?').waitFor();
  await page.keyboard.type(' Look:');
  expect(await box().inputValue()).toBe('As close as can be. Look:');
  expect(await page.getByRole('dialog').count()).toBe(0);
});

test('a draft is decided once, and its edited text stays', async () => {
  const { page } = tab;
  await openDraft();
  await page.keyboard.press('e');
  const editor = page.getByLabel('Edit the draft');
  await editor.fill('Dogs are welcome.');
  await editor.blur();
  await page.keyboard.press('e');
  await page.locator('textarea:focus').waitFor();
  expect(await editor.inputValue()).toBe('Dogs are welcome.');
  await editor.blur();
  const decisions = await holdResponses(page, 'POST', DECIDE);
  await page.keyboard.press('a');
  await expect.poll(decisions.count).toBe(1);
  await page.keyboard.press('x');
  await page.keyboard.press('a');
  decisions.release();
  await log('Dogs are welcome.').waitFor();
  await draft().waitFor({ state: 'detached' });
  expect(decisions.count()).toBe(1);
});

test('a key acts from the moment in which it is shown, and one that decides once that was seen', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Hello');
  await workspace.api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
  const from = phone();
  await writeIn(tab.app, { lineId: workspace.lineId, from, text: 'Are dogs allowed?' });
  await page.getByText('Are dogs allowed?').first().waitFor();
  const decisions = await holdResponses(page, 'POST', DECIDE);
  decisions.release();
  // In the same task in which the page names the key, before the page does anything else. Nobody has read the draft by then.
  await page.evaluate(`new MutationObserver((_, observer) => {
    if (!document.querySelector('[title="e"]')) return;
    observer.disconnect();
    for (const key of ['a', 'x', 'e'])
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  }).observe(document.body, { subtree: true, childList: true, attributes: true })`);
  await tab.go(pathOf(from));
  await page.getByLabel('Edit the draft').waitFor({ timeout: 5000 });
  await page.locator('[title="a"]').waitFor();
  expect(decisions.count()).toBe(0);
});

test('the edit of a draft stays when the contact writes again, and letters that go on decide nothing', async () => {
  const { page } = tab;
  const { workspace, from } = await openDraft();
  await page.keyboard.press('e');
  const editor = page.getByLabel('Edit the draft');
  await page.locator('textarea:focus').waitFor();
  await editor.fill('Dogs are welcome');
  const decisions = await holdResponses(page, 'POST', DECIDE);
  decisions.release();
  await writeIn(tab.app, { lineId: workspace.lineId, from, text: 'And cats?' });
  await page.getByText('Your text is kept.').waitFor();
  await page.keyboard.type(', all about a contract and xo');
  const written = 'Dogs are welcome, all about a contract and xo';
  expect(await editor.inputValue()).toBe(written);
  expect(decisions.count()).toBe(0);
  await page.reload();
  await page.getByText('Your text is kept.').waitFor();
  expect(await editor.inputValue()).toBe(written);
  await page.getByRole('button', { name: 'Send as a reply' }).click();
  await log(written).waitFor();
  await page.getByText('Your text is kept.').waitFor({ state: 'detached' });
});

test('letters that were meant for a field that has disappeared do nothing', async () => {
  const { page } = tab;
  await openInbox('Hello');
  await box().pressSequentially('We are all about a ');
  await page.evaluate(`document.activeElement.remove()`);
  await page.keyboard.type('contract');
  expect(await page.getByRole('form', { name: 'Note' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
});

test('a reply and a note survive Escape, another conversation, a reload and the end of the session', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?', 'Where is it?');
  await box().fill('It is.');
  await page.getByRole('button', { name: 'Write a note' }).click();
  const note = page.getByRole('textbox', { name: 'Note' });
  await note.fill('Ask Mia.');
  await note.press('Escape');
  const isKept = async (): Promise<void> => {
    await expect.poll(() => box().inputValue()).toBe('It is.');
    await page.getByRole('button', { name: 'Write a note' }).click();
    expect(await note.inputValue()).toBe('Ask Mia.');
    await note.press('Escape');
  };
  await isKept();
  await tab.go(pathOf(contacts[1]));
  await log('Where is it?').waitFor();
  expect(await box().inputValue()).toBe('');
  await tab.go(pathOf(contacts[0]));
  await isKept();
  await page.reload();
  await isKept();
  await page.evaluate(`sessionStorage.removeItem('linepace.session')`);
  await tab.signInAsOwner(workspace, pathOf(contacts[0]));
  await isKept();
});

test('a reply that is refused because the session has ended is back in its box, and nowhere else', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Is it still free?');
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  await page.route(SEND, async (route) => {
    await ended;
    await route.fulfill({ status: 401, json: { error: 'The session has ended', code: 'UNAUTHORIZED' } });
  });
  await box().fill('It is.');
  await box().press('Control+Enter');
  await log('Sending').waitFor();
  await box().fill('See you then.');
  const typing = page.keyboard.type('a'.repeat(60), { delay: 30 });
  end();
  await page.getByText('Your session ended').waitFor();
  await typing;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  expect(tab.takeProblems().filter((problem) => !problem.includes('401'))).toEqual([]);
  const credential = page.getByLabel('Workspace key');
  // What is typed on meanwhile is no key.
  expect(await credential.inputValue()).toBe('');
  await expect.poll(() => credential.and(page.locator(':focus')).count()).toBe(1);
  const owner = { userId: workspace.ownerId, organizationId: workspace.id, role: 'org:admin' };
  await credential.fill(await signIn(tab.app, owner));
  await credential.press('Enter');
  await log('Is it still free?').waitFor();
  await expect.poll(() => box().inputValue()).toMatch(/^It is\.\nSee you then\.a*$/);
  expect(await log('Sending').count()).toBe(0);
  expect(await log('It is.').count()).toBe(0);
});

test('a reply that was accepted before its session ended is not in its box again', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Is it still free?');
  const send = await holdResponses(page, 'POST', SEND);
  await box().fill('It is.');
  await box().press('Control+Enter');
  await expect.poll(send.count).toBe(1);
  await page.route('**/api/conversations/*', (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ status: 401, json: { error: 'The session has ended', code: 'UNAUTHORIZED' } })
      : route.fallback(),
  );
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByText('Your session ended').waitFor();
  const answered = page.waitForResponse(SEND);
  send.release();
  await (await answered).finished();
  expect(tab.takeProblems().filter((problem) => !problem.includes('401'))).toEqual([]);
  await tab.signInAsOwner(workspace, page.url().split('/console')[1]);
  await log('It is.').waitFor();
  expect(await box().inputValue()).toBe('');
});

test('what is written with one key of a workspace is there for whoever signs in with another, and in no other workspace', async () => {
  const { page, app } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const endSession = () => page.evaluate(`sessionStorage.removeItem('linepace.session')`);
  await endSession();
  await tab.signIn(workspace.key, pathOf(contacts[0]));
  await log('Is it still free?').waitFor();
  expect(await box().inputValue()).toBe('');
  await box().fill('It is.');
  await endSession();
  await tab.signIn(await createKey(app, 'workspace', workspace.id), pathOf(contacts[0]));
  await expect.poll(() => box().inputValue()).toBe('It is.');
  await endSession();
  const other = await createWorkspaceWithLine(app);
  await arrive(app, { lineId: other.lineId, from: contacts[0] ?? '', text: 'And this one?' });
  await tab.signIn(other.key, pathOf(contacts[0]));
  await log('And this one?').waitFor();
  expect(await box().inputValue()).toBe('');
});

const selectAll = async (page: Page): Promise<Locator> => {
  await page
    .getByRole('checkbox', { name: /^Select/ })
    .nth(1)
    .waitFor({ state: 'attached' });
  for (const name of await page.getByRole('checkbox', { name: /^Select/ }).all()) await name.check();
  await page.getByText('2 selected').waitFor();
  return page.getByRole('group', { name: 'Selected conversations' });
};

test('several conversations are changed by one request, and come back with Undo', async () => {
  const { page } = tab;
  await openInbox('Undone one', 'Undone two');
  await tab.go('/inbox');
  const selected = await selectAll(page);
  const changes = await holdResponses(page, 'POST', '**/api/conversations/bulk');
  changes.release();
  await selected.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Closed: 2').waitFor();
  await page.getByText('No open conversations').waitFor();
  expect(changes.count()).toBe(1);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 2').waitFor();
  await page
    .getByRole('checkbox', { name: /^Select/ })
    .nth(1)
    .waitFor();
});

test('a change of several conversations is not offered to be undone in another workspace', async () => {
  const { page } = tab;
  await openInbox('Bulk one', 'Bulk two');
  // Else the presence of the user ends in the other workspace, which has no such conversation.
  await tab.go('/inbox');
  const changes = await holdResponses(page, 'POST', '**/api/conversations/bulk');
  const selected = await selectAll(page);
  await selected.getByRole('button', { name: 'Close' }).click();
  await expect.poll(changes.count).toBe(1);
  await page.getByRole('button', { name: /Account/ }).click();
  await page.getByRole('menuitem', { name: 'Test mode' }).click();
  await page.getByText('Test mode: nothing').waitFor();
  await tab.go('/inbox');
  await page.getByText('No open conversations').waitFor();
  const refetches = countRequestsAfter(page, 'POST', '/api/conversations');
  changes.release();
  await expect.poll(refetches).toBeGreaterThan(0);
  expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
});

test('a conversation is snoozed for an hour from the moment of the choice', async () => {
  const { page } = tab;
  await openInbox('Is it still free?');
  await page.keyboard.press('s');
  const item = page.getByRole('menuitem', { name: 'For an hour' });
  await item.waitFor();
  const later = Date.now() + 1_800_000;
  await page.evaluate(`const real = Date.now; Date.now = () => real() + 1_800_000`);
  const request = page.waitForRequest((sent) => sent.method() === 'PATCH');
  await item.click();
  const { snoozedUntil } = (await request).postDataJSON() as { snoozedUntil: string };
  expect(Date.parse(snoozedUntil)).toBeGreaterThanOrEqual(later + 3_600_000);
});

test('a message that arrives in a hidden tab is read once the tab is shown', async () => {
  const { page, app } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const show = (hidden: boolean): Promise<unknown> =>
    page.evaluate(`(() => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event('visibilitychange'));
    })()`);
  const [contact = ''] = contacts;
  const unread = page.locator('li', { hasText: ', unread' });
  await unread.waitFor({ state: 'detached' });
  await show(true);
  await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Hello?' });
  await log('Hello?').waitFor();
  await unread.waitFor();
  await show(false);
  await unread.waitFor({ state: 'detached' });
});

test('a file that is attached to a reply stays in another conversation and after a reload', async () => {
  const { page } = tab;
  const { contacts } = await openInbox('Is it still free?', 'Where is it?');
  const file = { name: 'plan.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') };
  await page.getByLabel('Files to attach').setInputFiles(file);
  const attached = page.getByRole('button', { name: 'Remove plan.png' });
  await attached.waitFor();
  await tab.go(pathOf(contacts[1]));
  await log('Where is it?').waitFor();
  expect(await attached.count()).toBe(0);
  await tab.go(pathOf(contacts[0]));
  await attached.waitFor();
  await page.reload();
  await attached.waitFor();
});

test('a rejected draft comes back with Undo', async () => {
  const { page } = tab;
  await openDraft();
  const card = page.getByRole('region', { name: 'Draft', exact: true });
  const text = await card.locator('p').first().textContent();
  await page.keyboard.press('x');
  await notified('The draft was rejected');
  await card.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await card.waitFor();
  expect(await card.locator('p').first().textContent()).toBe(text);
});

test('a key opts nobody out without a question', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Please take me off your list');
  await page.locator('[title="o"]').waitFor();
  await page.keyboard.press('o');
  const question = page.getByRole('dialog', { name: 'Opt this contact out?' });
  await question.getByRole('button', { name: 'Go back' }).click();
  const isOptedOut = async (): Promise<boolean> =>
    (await workspace.api('GET', `/api/conversations/${encodeURIComponent(contacts[0] ?? '')}`)).body
      .conversation.optedOut;
  expect(await isOptedOut()).toBe(false);
  await question.waitFor({ state: 'detached' });
  await page.keyboard.press('o');
  await question.getByRole('button', { name: 'Opt out' }).click();
  await expect.poll(isOptedOut).toBe(true);
});

test('who closes or answers a conversation goes on from its place in the list', async () => {
  const { page } = tab;
  const { contacts } = await openInbox('One', 'Two', 'Three', 'Four');
  // The newest is the first.
  await tab.go(pathOf(contacts[2]));
  await log('Three').waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
  await page.keyboard.press('c');
  await log('Two').waitFor();
  await page.keyboard.press('z');
  const rows = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem');
  await rows.nth(3).waitFor();
  await box().fill('It is.');
  await box().press('Control+Enter');
  await box().press('Escape');
  await rows.first().getByText('You: It is.').waitFor();
  await page.keyboard.press('j');
  await log('One').waitFor();
});

test('a conversation is marked as unread with a key, and counted', async () => {
  const { page } = tab;
  await openInbox('Is it still free?');
  const unread = page.locator('li', { hasText: ', unread' });
  await unread.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Mark as unread' }).waitFor();
  await page.keyboard.press('u');
  await unread.waitFor();
  await page.getByRole('link', { name: /Inbox 1 unread/ }).waitFor();
  await expect.poll(() => page.title()).toBe('(1) Inbox · Linepace');
});

test('what is planned is folded, and what was said is in sight, also at 200 %', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const scheduledDate = new Date(Date.now() + 2 * 86_400_000).toISOString();
  const planned = { recipientPhone: contacts[0], message: 'Our new offers', scheduledDate };
  expect((await workspace.api('POST', '/api/messages', planned)).status).toBe(201);
  await page.reload();
  const fold = page.getByRole('button', { name: /1 message is planned/ });
  await fold.waitFor();
  expect(await log('Our new offers').count()).toBe(0);
  await fold.click();
  await log('Our new offers').waitFor();
  await fold.click();
  await page.setViewportSize({ width: 640, height: 360 });
  const said = page.getByRole('group', { name: 'What was said' });
  expect((await said.boundingBox())?.height).toBeGreaterThan(200);
  await page.setViewportSize({ width: 1280, height: 720 });
  expect((await said.boundingBox())?.height).toBeGreaterThan(450);
  expect(await inaccessible(page)).toEqual([]);
});

test('an address in a message is a link', async () => {
  const { page } = tab;
  await openInbox('See https://example.com/plan?floor=3.');
  const link = page
    .getByRole('log')
    .getByRole('link', { name: 'https://example.com/plan?floor=3', exact: true });
  expect(await link.getAttribute('href')).toBe('https://example.com/plan?floor=3');
});

test('the contact of a conversation is shown beside it', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  await workspace.api('POST', '/api/leads', {
    leads: [{ firstName: 'Grace', companyName: 'Navy', phone: contacts[0] }],
  });
  await page.reload();
  await page.getByRole('button', { name: 'Grace', exact: true }).click();
  await page.getByRole('dialog', { name: 'Grace' }).getByText('Navy').first().waitFor();
  expect(new URL(page.url()).pathname).toContain('/inbox/');
});

test('a message of the contact gets a reaction by key, and one of ours is edited and taken back', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const path = `/api/conversations/${encodeURIComponent(contacts[0] ?? '')}`;
  const itemOf = async (text: string) =>
    (await workspace.api('GET', path)).body.messages.find(
      ({ message }: { message: string }) => message === text,
    );
  await page.getByRole('button', { name: 'Act on this message' }).waitFor();
  await page.keyboard.press('t');
  await page.getByRole('menuitem', { name: 'Love' }).click();
  await expect.poll(async () => (await itemOf('Is it still free?')).reactions[0]?.status).toBe('sent');
  expect((await itemOf('Is it still free?')).reactions).toMatchObject([{ by: 'us', reaction: 'love' }]);

  const reply = { phone: contacts[0], message: 'It is frei.' };
  expect((await workspace.api('POST', '/api/inbox/send-reply', reply)).status).toBe(201);
  await page.getByText('Delivered').waitFor();
  const act = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: 'Act on this message' }).last().click();
    await page.getByRole('menuitem', { name }).click();
  };
  await act('Edit');
  await page.getByRole('dialog').getByLabel('Message').fill('It is free.');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await log('It is free.').waitFor();
  const row = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem').first();
  await row.getByText('You: It is free.').waitFor();
  await act('Take back');
  await page.getByRole('dialog').getByRole('button', { name: 'Take it back' }).click();
  await log('Taken back').waitFor();
  await row.getByText('You: Taken back').waitFor();

  const { lineId } = workspace;
  const heard = replyEvent(contacts[0] ?? '', 'A secret', { at: new Date(Date.now() + 1000) });
  await callBack(tab.app, lineId, heard);
  await row.getByText('A secret').waitFor();
  await callBack(tab.app, lineId, { ...heard, kind: 'unsent', eventId: newId() });
  await row.getByText('Removed by the contact', { exact: true }).waitFor();
});

test('the menu of reactions finds what is typed, and gives no key to the page', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Is it still free?');
  const posted: unknown[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/reactions')) posted.push(request.postDataJSON());
  });
  const opened = page.locator('[role=menu]:focus, [role=menu] :focus');
  const chosen = (name: string) =>
    page.getByRole('menuitem', { name, exact: true }).and(page.locator(':focus'));
  const act = page.getByRole('button', { name: 'Act on this message' });
  await act.waitFor();
  // The second key comes before the menu is shown, and would close the conversation.
  await page.keyboard.type('tc');
  await opened.waitFor();
  await page.keyboard.press('Home');
  await chosen('Love').waitFor();
  // No entry begins with them.
  await page.keyboard.type('xy ');
  await page.keyboard.press('Escape');
  await act.and(page.locator(':focus')).waitFor();
  await page.keyboard.press('t');
  await opened.waitFor();
  await page.keyboard.type('lik');
  await chosen('Like').waitFor();
  await page.keyboard.press('Enter');
  const path = `/api/conversations/${encodeURIComponent(contacts[0] ?? '')}`;
  const read = async () => (await workspace.api('GET', path)).body;
  await expect.poll(async () => (await read()).messages[0].reactions[0]?.reaction).toBe('like');
  expect(posted).toEqual([{ reaction: 'like' }]);
  expect((await read()).conversation.status).toBe('open');
});

test('a reload keeps the place in a list of which the first page is not enough', async () => {
  const { page, app } = tab;
  const { workspace } = await openInbox('First of all');
  const { lineId } = workspace;
  const heard = Array.from({ length: 52 }, (_, at) =>
    replyEvent(phone(), `Hello ${at}`, { at: new Date(Date.now() - 60_000 * at - 60_000) }),
  );
  await callBack(app, lineId, ...heard);
  await page.reload();
  const row = (at: number) => page.getByRole('button', { name: `Hello ${at}`, exact: false });
  await row(0).focus();
  const opened = page.locator('[aria-current=true]');
  const last = page.getByRole('listitem').filter({ hasText: 'Hello 51' });
  // The rows after the first page come with the scrolling.
  await eventually(async () => {
    await page.keyboard.press('End');
    return (await last.count()) > 0;
  });
  await last.getByRole('button').click();
  await log('Hello 51').waitFor();
  await page.reload();
  await opened.getByText('Hello 51').waitFor();
  await page.keyboard.press('k');
  await log('Hello 50').waitFor();
  await opened.getByText('Hello 50').waitFor();
});

test('a reload keeps the place in a conversation, also above its latest messages', async () => {
  const { page, app } = tab;
  const { workspace, contacts } = await openInbox('First of all');
  const heard = Array.from({ length: 70 }, (_, at) =>
    replyEvent(contacts[0] ?? '', `Hello ${at}`, { at: new Date(Date.now() + 1000 * at) }),
  );
  await callBack(app, workspace.lineId, ...heard);
  await log('Hello 69').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Show earlier messages' }).click();
  await log('First of all').waitFor();
  const isInSight = async (text: string): Promise<boolean> => {
    const frame = await page.getByRole('group', { name: 'What was said' }).boundingBox();
    const found = await log(text).boundingBox();
    return frame !== null && found !== null && found.y > frame.y && found.y < frame.y + frame.height;
  };
  await log('Hello 9').scrollIntoViewIfNeeded();
  expect(await isInSight('Hello 9')).toBe(true);
  await page.reload();
  await log('Hello 9').waitFor();
  await expect.poll(() => isInSight('Hello 9')).toBe(true);
  expect(await isInSight('Hello 69')).toBe(false);
  // It is kept for the reload alone.
  await page.evaluate(`document.querySelector('[aria-label="What was said"]').scrollTop = 1e6`);
  await expect.poll(() => isInSight('Hello 69')).toBe(true);
  await page.reload();
  await log('Hello 69').waitFor();
  await expect.poll(() => isInSight('Hello 69')).toBe(true);
});

test.each([
  [390, 844],
  // As a window of 1280 by 720 at 200 %.
  [640, 360],
])('the menu of a message is opened, walked and closed by keyboard at %i px', async (width, height) => {
  const { page } = tab;
  await openInbox('Is it still free?');
  await page.setViewportSize({ width, height });
  const button = page.getByRole('button', { name: 'Act on this message' });
  const hasFocus = () => button.and(page.locator(':focus')).count();
  await button.waitFor();
  await page.getByRole('group', { name: 'What was said' }).focus();
  for (let tabs = 0; tabs < 5 && (await hasFocus()) === 0; tabs += 1) await page.keyboard.press('Tab');
  expect(await hasFocus()).toBe(1);
  await page.keyboard.press('Enter');
  await page.locator('[role=menu]:focus, [role=menu] :focus').waitFor();
  await page.keyboard.press('Home');
  for (const name of ['Love', 'Like', 'Dislike', 'Laugh', 'Emphasize', 'Question']) {
    const entry = page.getByRole('menuitem', { name, exact: true }).and(page.locator(':focus'));
    await entry.waitFor();
    const { x = 0, y = 0, width: wide = 0, height: high = 0 } = (await entry.boundingBox()) ?? {};
    expect([x >= 0, y >= 0, x + wide <= width, y + high <= height]).toEqual([true, true, true, true]);
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Escape');
  await expect.poll(hasFocus).toBe(1);
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('a reply is sent later, at a time by the clock of the workspace', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Call me next year');
  await box().fill('Happy new year!');
  await page.getByRole('button', { name: 'Send later' }).click();
  await page.getByRole('menuitem', { name: 'At another time' }).click();
  const year = new Date().getFullYear() + 1;
  await page.getByLabel('Time', { exact: true }).fill(`${year}-07-01T09:30`);
  await page.getByRole('button', { name: 'Send then' }).click();
  await notified('The reply is planned');
  await page.getByRole('button', { name: /1 message is planned/ }).waitFor();
  const { timezone } = (await workspace.api('GET', '/api/workspace')).body.workspace;
  const { scheduledDate } = (await workspace.api('GET', '/api/messages?status=scheduled')).body.messages[0];
  const shown = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  expect(shown.format(new Date(scheduledDate))).toBe(`${year}-07-01 09:30`);
});

test('a snippet is made from what is written, changed, and inserted at the cursor', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Where is it?');
  await box().fill('Third floor, left.');
  const open = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: 'Insert a snippet' }).click();
    await page.getByRole('menuitem', { name }).click();
  };
  await open('Add a snippet');
  const dialog = page.getByRole('dialog', { name: 'Snippets' });
  await dialog.getByLabel('Name').fill('Way');
  // It is kept, and so it closes without a question.
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await open('Add a snippet');
  await dialog.getByText('What you wrote before is here again').waitFor();
  expect(await dialog.getByLabel('Name').inputValue()).toBe('Way');
  expect(await dialog.getByLabel('Text').inputValue()).toBe('Third floor, left.');
  expect(await inaccessible(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByRole('button', { name: 'Change Way' }).click();
  await dialog.getByLabel('Text').fill('Fourth floor.');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The snippet was changed').waitFor();
  expect((await workspace.api('GET', '/api/snippets')).body.snippets).toMatchObject([
    { name: 'Way', text: 'Fourth floor.' },
  ]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await box().fill('Hello.  Bye.');
  await box().press('Home');
  for (const _ of 'Hello. ') await box().press('ArrowRight');
  await open('Way');
  await expect.poll(() => box().inputValue()).toBe('Hello. Fourth floor. Bye.');
  // By what is typed, which does nothing within a word, and stays if nothing is chosen.
  await box().fill('and');
  await box().pressSequentially('/or ');
  expect(await page.getByRole('menu').count()).toBe(0);
  await page.keyboard.press('/');
  const way = page.getByRole('menuitem', { name: 'Way' });
  await way.waitFor();
  await page.keyboard.press('Escape');
  await way.waitFor({ state: 'detached' });
  expect(await box().inputValue()).toBe('and/or /');
  await page.keyboard.press('Backspace');
  await page.keyboard.press('/');
  await way.waitFor();
  await expect.poll(() => page.evaluate("document.activeElement?.closest('[role=menu]') != null")).toBe(true);
  await page.keyboard.type('wa');
  await page.keyboard.press('Enter');
  await expect.poll(() => box().inputValue()).toBe('and/or Fourth floor.');
});

test('while somebody may want to be left alone, no draft is offered and no key sends one', async () => {
  const { page } = tab;
  const { workspace, contacts } = await openInbox('Are dogs allowed?');
  await workspace.api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
  const [from = ''] = contacts;
  await writeIn(tab.app, { lineId: workspace.lineId, from, text: 'And cats?' });
  await draft().waitFor();
  await writeIn(tab.app, { lineId: workspace.lineId, from, text: 'Please take me off your list' });
  await page.getByRole('region', { name: 'Suspected opt-out' }).waitFor();
  await draft().waitFor({ state: 'detached' });
  const decisions = await holdResponses(page, 'POST', DECIDE);
  decisions.release();
  await page.locator('[title="d"]').waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('d');
  await page.getByRole('region', { name: 'Suspected opt-out' }).waitFor({ state: 'detached' });
  expect(decisions.count()).toBe(0);
});

test('the box of the reply names its line and channel, and a message that failed is tried again', async () => {
  const { page } = tab;
  const { workspace } = await openInbox('Hello');
  await page.getByText(/^From .* · iMessage$/).waitFor();
  const to = phone('0002');
  await workspace.api('POST', '/api/messages', { recipientPhone: to, message: 'Anybody there?' });
  await tab.go(pathOf(to));
  const failed = page.getByRole('log').getByText('Failed', { exact: true });
  await failed.first().waitFor();
  await page.getByRole('button', { name: 'Act on this message' }).click();
  await page.getByRole('menuitem', { name: 'Try again' }).click();
  await expect.poll(() => failed.count()).toBe(2);
  const { messages } = (await workspace.api('GET', `/api/conversations/${encodeURIComponent(to)}`)).body;
  expect(messages.map(({ message }: { message: string }) => message)).toEqual([
    'Anybody there?',
    'Anybody there?',
  ]);
});
