import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: WorkspaceWithLine;

/** @returns the contact's number. */
async function receive(text: string): Promise<string> {
  const from = phone();
  await writeIn(tab.app, { lineId: workspace.lineId, from, text });
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

  it('shows new messages within moments, over the one connection of the tab', async () => {
    const { page } = tab;
    const streams: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/api/events/stream')) streams.push(request.url());
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
    await page.getByRole('button', { name: /^Drafts/ }).click();
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
    await page.keyboard.press('o');
    await card.waitFor({ state: 'detached' });
    expect([await open(), await isOptedOut(first)]).toEqual([[second], true]);
    await page.getByRole('button', { name: '1 contact may want no more messages' }).click();
    await card.getByText('I think you have the wrong number').waitFor();
    await page.keyboard.press('d');
    await card.waitFor({ state: 'detached' });
    expect([await open(), await isOptedOut(second)]).toEqual([[], false]);
  });

  it('fits the screen of a phone', async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Back to the list' }).click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByText('Just now!').waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });
});
