import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, insertRow, type WorkspaceWithLine } from '#test/support/factories.ts';
import { arrive, writeIn } from '#test/support/inbound.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: WorkspaceWithLine;

/** @returns the contact's number. */
async function receive(text: string): Promise<string> {
  const from = phone();
  await arrive(tab.app, { lineId: workspace.lineId, from, text });
  return from;
}

beforeAll(async () => {
  workspace = await createWorkspaceWithLine(tab.app);
  await receive('Can I see it on Friday?');
  const { api } = workspace;
  await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 1);
  await tab.signInAsOwner(workspace, '/inbox');
});

describe('the inbox', () => {
  it('shows a conversation and sends a reply by keyboard alone', async () => {
    const { page } = tab;
    await page.getByText('Can I see it on Friday?').first().waitFor();
    await page.keyboard.press('j');
    await page.getByRole('log').getByText('Can I see it on Friday?').waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('Yes, at noon.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('log').getByText('Yes, at noon.').waitFor();
    await page.getByText('Delivered').waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('shows the whole name of a contact beside what can be done', async () => {
    const { page } = tab;
    const [firstName, lastName] = ['Maximiliana', 'Fernandez-Oberholzer'];
    const from = phone();
    await workspace.api('POST', '/api/leads', { leads: [{ firstName, lastName, phone: from }] });
    await writeIn(tab.app, { lineId: workspace.lineId, from, text: 'Is it quiet?' });
    const tags = ['Wants to see it', 'Needs a mortgage'];
    await eventually(
      async () => (await workspace.api('POST', `/api/conversations/${from}/tags`, { tags })).status === 200,
    );
    await page.getByText('Is it quiet?').first().click();
    await page.getByText('Needs a mortgage').last().waitFor();
    const name = page.getByRole('button', { name: `${firstName} ${lastName}`, exact: true });
    await name.waitFor();
    const hidden = await name.evaluate((element) => {
      const { scrollWidth, clientWidth } = element as unknown as Record<string, number>;
      return Number(scrollWidth) - Number(clientWidth);
    });
    expect(hidden).toBe(0);
    await tab.go('/inbox');
  });

  it('shows new messages within moments, over the one connection of the browser', async () => {
    const { page } = tab;
    const streams: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/events/stream')) streams.push(request.url());
    });
    await page.reload();
    await page.getByText('Yes, at noon.').first().waitFor();
    await receive('Just now!');
    // Without events the list would be read again after five seconds.
    await page.getByText('Just now!').first().waitFor({ timeout: 4000 });
    expect(streams).toHaveLength(1);
  });

  it('shows a draft and sends it as edited', async () => {
    const { page } = tab;
    const { api } = workspace;
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    const contact = await receive('Are dogs allowed?');
    await page.getByLabel('View').selectOption('drafts');
    await page.getByText('Are dogs allowed?').first().waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Draft' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.keyboard.press('e');
    await page.getByLabel('Edit the draft').fill('Dogs are welcome.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'Draft' }).waitFor({ state: 'detached' });
    await page.getByRole('log').getByText('Dogs are welcome.').waitFor();
    const { body } = await api('GET', '/api/knowledge-base/auto-replies?status=approved');
    expect(body.autoReplies).toMatchObject([
      { conversationRecipient: contact, approvalChannel: 'dashboard' },
    ]);
  });

  it('asks whether a contact opts out, and takes one key for an answer', async () => {
    const { page } = tab;
    const { api } = workspace;
    const open = async (): Promise<string[]> =>
      (await api('GET', '/api/opt-outs/suspected')).body.suspicions.map(
        ({ address }: { address: string }) => address,
      );
    const isOptedOut = async (address: string): Promise<boolean> =>
      (await api('GET', `/api/opt-outs/${encodeURIComponent(address)}`)).body.optedOut;
    const first = await receive('Please take me off your list');
    await page.getByRole('button', { name: '1 contact may want no more messages' }).waitFor();
    const second = await receive('I think you have the wrong number');
    const banner = page.getByRole('button', { name: '2 contacts may want no more messages' });
    await banner.click();
    const card = page.getByRole('region', { name: 'Suspected opt-out' });
    await card.getByText('Please take me off your list').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.locator('[title="o"]').waitFor();
    await page.keyboard.press('o');
    await page.getByRole('dialog').getByRole('button', { name: 'Opt out' }).click();
    await card.waitFor({ state: 'detached' });
    expect([await open(), await isOptedOut(first)]).toEqual([[second], true]);
    await page.getByRole('button', { name: '1 contact may want no more messages' }).click();
    await card.getByText('I think you have the wrong number').waitFor();
    await page.locator('[title="d"]').waitFor();
    await page.keyboard.press('d');
    await card.waitFor({ state: 'detached' });
    expect([await open(), await isOptedOut(second)]).toEqual([[], false]);
  });

  it('says why a message failed', async () => {
    const { page } = tab;
    const { api } = workspace;
    const to = phone('0002');
    const message = { recipientPhone: to, message: 'Anybody there?' };
    expect((await api('POST', '/api/messages', message)).status).toBe(201);
    const path = `/inbox/${encodeURIComponent(to)}`;
    const why: string = await eventually(
      async () =>
        (await api('GET', `/api/conversations/${encodeURIComponent(to)}`)).body.messages[0].errorMessage ??
        false,
    );
    await tab.go(path);
    await page.getByRole('log').getByText('Failed', { exact: true }).waitFor();
    await page.getByRole('log').getByText(why, { exact: true }).waitFor();
  });

  describe('of a team', () => {
    let colleague: string;
    beforeAll(async () => {
      const { id } = workspace;
      colleague = `user_mia_${id}`;
      await insertRow(tab.app, 'users', {
        id: colleague,
        email: `${colleague}@example.test`,
        name: 'Mia Okafor',
      });
      await insertRow(tab.app, 'workspace_members', {
        workspace_id: id,
        user_id: colleague,
        role: 'org:member',
      });
      await workspace.api('POST', '/api/snippets', {
        name: 'Viewing',
        text: 'Hi {{ firstName }}, see you there.',
      });
      await tab.page.reload();
    });
    const of = async (address: string) =>
      (await workspace.api('GET', `/api/conversations/${encodeURIComponent(address)}`)).body.conversation;
    const open = (address: string) => tab.go(`/inbox/${encodeURIComponent(address)}`);
    /** Chooses from an open menu by typing the name. */
    const choose = async (name: string): Promise<void> => {
      const { page } = tab;
      await page.getByRole('menuitem', { name }).waitFor();
      await page.locator('[role="menu"]:focus, [role="menu"]:focus-within').waitFor();
      await page.keyboard.type(name.slice(0, 3));
      await page.keyboard.press('Enter');
    };

    /** Writes a note about a new question up to the menu of mentions. @returns the contact. */
    async function openMentions(question: string): Promise<string> {
      const { page } = tab;
      const contact = await receive(question);
      await page.getByText(question).first().waitFor();
      await open(contact);
      await page.getByRole('log').getByText(question).waitFor();
      await page.keyboard.press('n');
      await page.getByPlaceholder('A note for your team').waitFor();
      await page.keyboard.type('Ask @');
      await page.locator('[role="menu"]:focus, [role="menu"]:focus-within').waitFor();
      return contact;
    }

    it('has one stop for Tab among its conversations, and arrows between them', async () => {
      const { page } = tab;
      const asked = [newId(), newId(), newId()];
      for (const id of asked) await receive(`Is ${id} free?`);
      const rows = page.getByRole('list', { name: 'Conversations' });
      const row = (id: string | undefined) => rows.getByRole('button', { name: `Is ${id} free?` });
      await row(asked[2]).waitFor();
      const rowsCount = await rows.getByRole('listitem').count();
      // A page that is still being loaded may take the focus.
      await eventually(async () => {
        await row(asked[2]).focus();
        await page.keyboard.press('ArrowDown');
        return (await row(asked[1]).and(page.locator(':focus')).count()) === 1;
      });
      await page.keyboard.press('Enter');
      await page.getByRole('log').getByText(`Is ${asked[1]} free?`).waitFor();
      // The focus stays in the list: a reader of the screen is told what the key did.
      const said = page.getByRole('status').getByText('The conversation with');
      const opened = await said.textContent();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('log').getByText(`Is ${asked[0]} free?`).waitFor();
      await eventually(async () => (await said.textContent()) !== opened);
      const reply = page.getByRole('textbox', { name: 'Reply' }).and(page.locator(':focus'));
      let stops = 0;
      while ((await reply.count()) === 0 && stops < 60) {
        await page.keyboard.press('Tab');
        stops += 1;
      }
      expect(stops).toBeLessThan(20);
      expect(rowsCount).toBeGreaterThan(3);
    });

    it('says that it is offline, and sends nothing by itself later', async () => {
      const { page } = tab;
      const question = `Is ${newId()} quiet?`;
      const contact = await receive(question);
      await page.getByText(question).first().waitFor();
      await open(contact);
      await page.getByRole('log').getByText(question).waitFor();
      await page.getByRole('textbox', { name: 'Reply' }).fill('It is.');
      await page.context().setOffline(true);
      try {
        await page.getByText('No connection: what is shown may be old').waitFor();
        await page.keyboard.press('Control+Enter');
        await page.getByText('That did not work').first().waitFor();
        expect(await page.getByRole('textbox', { name: 'Reply' }).inputValue()).toBe('It is.');
      } finally {
        await page.context().setOffline(false);
      }
      await page.getByText('No connection: what is shown may be old').waitFor({ state: 'detached' });
      // A request that comes after whatever would have been sent by itself.
      const response = page.waitForResponse('**/api/inbox/send-reply');
      await page.keyboard.press('Control+Enter');
      await (await response).finished();
      const { messages } = (await workspace.api('GET', '/api/messages')).body;
      expect(
        messages.filter(({ recipientPhone }: { recipientPhone: string }) => recipientPhone === contact),
      ).toHaveLength(1);
      tab.takeProblems();
    });

    it('leaves the focus in the menu of mentions when the contact writes meanwhile', async () => {
      const { page } = tab;
      const contact = await openMentions(`Is a cellar ${newId()} included?`);
      await writeIn(tab.app, { lineId: workspace.lineId, from: contact, text: 'And an attic?' });
      // Of the thread, which the menu hides from readers of the screen.
      await page.locator('[role="log"]').getByText('And an attic?').waitFor();
      await choose('Mia Okafor');
      await expect
        .poll(() => page.getByPlaceholder('A note for your team').inputValue())
        .toBe('Ask @Mia Okafor ');
      await page.keyboard.press('Escape');
    });

    it('takes keys that follow the choice of a mention for the note, however late the next frame is', async () => {
      const { page } = tab;
      await openMentions(`Is a bath ${newId()} included?`);
      await page.evaluate(
        'globalThis.nextFrame = requestAnimationFrame; globalThis.requestAnimationFrame = (call) => setTimeout(call, 1000, 0)',
      );
      await choose('Mia Okafor');
      await page.keyboard.press('Enter');
      await page.keyboard.type('today');
      expect(await page.getByPlaceholder('A note for your team').inputValue()).toBe(
        'Ask @Mia Okafor \ntoday',
      );
      await page.evaluate('globalThis.requestAnimationFrame = nextFrame');
      await page.keyboard.press('Escape');
    });

    it('assigns, notes, answers with a snippet, snoozes and closes by keyboard alone', async () => {
      const { page } = tab;
      // Another one each time, or else a repeated test finds the one before.
      const question = `Is garage ${newId()} included?`;
      const contact = await receive(question);
      await page.getByText(question).first().waitFor();
      await open(contact);
      await page.getByRole('log').getByText(question).waitFor();
      // What is shown is read.
      const session = await sessionClient(tab.app, {
        userId: workspace.ownerId,
        organizationId: workspace.id,
        role: 'org:admin',
      });
      await eventually(async () =>
        (await session('GET', '/api/conversations?unread=true')).body.conversations.every(
          ({ address }: { address: string }) => address !== contact,
        ),
      );
      await page.keyboard.press('i');
      await page.getByRole('menuitem', { name: 'Mia Okafor' }).waitFor();
      expect(await inaccessible(page)).toEqual([]);
      await choose('Mia Okafor');
      await page.getByRole('button', { name: 'Mia Okafor' }).waitFor();
      expect((await of(contact)).assigneeId).toBe(colleague);

      await page.keyboard.press('n');
      await page.getByPlaceholder('A note for your team').waitFor();
      await page.keyboard.type('Knows the owner, ask @');
      await choose('Mia Okafor');
      await page.getByRole('textbox', { name: 'Note' }).and(page.locator(':focus')).waitFor();
      await page.keyboard.type('first');
      await page.keyboard.press('Control+Enter');
      await page
        .getByRole('region', { name: 'Note' })
        .getByText('Knows the owner, ask @Mia Okafor first')
        .waitFor();
      expect(await inaccessible(page)).toEqual([]);
      const { notes } = (
        await workspace.api('GET', `/api/conversations/${encodeURIComponent(contact)}/notes`)
      ).body;
      expect(notes).toMatchObject([{ text: `Knows the owner, ask @[${colleague}] first` }]);

      await page.keyboard.press('p');
      await choose('Viewing');
      await page.getByRole('textbox', { name: 'Reply' }).and(page.locator(':focus')).waitFor();
      expect(await page.getByRole('textbox', { name: 'Reply' }).inputValue()).toContain('{{ firstName }}');
      await page.keyboard.press('Escape');

      await page.keyboard.press('s');
      await choose('For an hour');
      await eventually(async () => (await of(contact)).status === 'snoozed');
      // The next one is opened.
      await page.getByRole('log').getByText(question).waitFor({ state: 'detached' });
      await open(contact);
      await page.getByRole('button', { name: 'Open again' }).waitFor();
      await page.keyboard.press('c');
      await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
      await page.keyboard.press('c');
      await eventually(async () => (await of(contact)).status === 'closed');
    });

    it('shows who else looks at a conversation or answers it', async () => {
      const { page } = tab;
      const contact = await receive('Can I bring my sister?');
      await page.getByText('Can I bring my sister?').first().waitFor();
      await open(contact);
      await page.getByRole('log').getByText('Can I bring my sister?').waitFor();
      const mia = await sessionClient(tab.app, {
        userId: colleague,
        organizationId: workspace.id,
        role: 'org:member',
      });
      const report = (state: string) =>
        mia('POST', `/api/conversations/${encodeURIComponent(contact)}/presence`, { state });
      await report('typing');
      await page.getByText('Mia Okafor is answering').waitFor();
      await report('viewing');
      await page.getByText('Mia Okafor is here').waitFor();
      await report('left');
      await page.getByText('Mia Okafor is here').waitFor({ state: 'detached' });
    });

    it('closes several at once, and keeps a filter by its name', async () => {
      const { page } = tab;
      const contacts = [await receive('Bulk one'), await receive('Bulk two')];
      await page.getByLabel('Search conversations').fill('bulk');
      await page.getByText('Bulk one').first().waitFor();
      await eventually(async () => (await page.getByRole('checkbox', { name: /^Select/ }).count()) === 2);
      for (const box of await page.getByRole('checkbox', { name: /^Select/ }).all()) await box.check();
      await page.getByText('2 selected').waitFor();
      expect(await inaccessible(page)).toEqual([]);
      await page
        .getByRole('group', { name: 'Selected conversations' })
        .getByRole('button', { name: 'Close' })
        .click();
      await page.getByText('Nothing found').waitFor();
      expect(await Promise.all(contacts.map(async (contact) => (await of(contact)).status))).toEqual([
        'closed',
        'closed',
      ]);
      await page.getByLabel('View').selectOption('closed');
      await page.getByText('Bulk two').first().waitFor();
      await page.getByRole('button', { name: 'Saved filters' }).click();
      await page.getByRole('menuitem', { name: 'Save this filter' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Done in bulk');
      await page.getByLabel('Share it with the team').check();
      expect(await inaccessible(page)).toEqual([]);
      await page.getByLabel('Name', { exact: true }).press('Enter');
      await page.getByRole('dialog', { name: 'Save this filter' }).waitFor({ state: 'detached' });
      await page.getByLabel('View').selectOption('open');
      await page.getByRole('button', { name: 'Saved filters' }).click();
      await page.getByRole('menuitem', { name: 'Done in bulk' }).click();
      await page.getByText('Bulk two').first().waitFor();
      expect(await page.getByLabel('Search conversations').inputValue()).toBe('bulk');
      const { savedFilters } = (await workspace.api('GET', '/api/saved-filters')).body;
      expect(savedFilters).toMatchObject([
        { name: 'Done in bulk', view: 'closed', search: 'bulk', shared: true },
      ]);
      await page.getByRole('button', { name: 'Saved filters' }).click();
      await page.getByRole('menuitem', { name: 'Keep “Done in bulk” to yourself' }).click();
      await page.getByText('“Done in bulk” is only yours').waitFor();
      expect((await workspace.api('GET', '/api/saved-filters')).body.savedFilters).toEqual([]);
      await page.getByLabel('Search conversations').fill('');
    });
  });

  it('fits the screen of a phone', async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Back to the list' }).click();
    await page.getByLabel('View').selectOption('all');
    await page.getByText('Just now!').waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });
});
