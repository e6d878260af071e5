import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

/** What happens with a contact. */
const Fate = fc.constantFrom(
  'asked',
  'answered',
  'planned',
  'closed',
  'mine',
  'drafted',
  'drafted alone',
  'suspected',
  'suspected draft',
  'failed',
);

interface Fated {
  fate: string;
  address: string;
}

async function happen(
  { fate, address }: Fated,
  { api, lineId, ownerId }: { api: ApiClient; lineId: string; ownerId: string },
): Promise<void> {
  const path = `/api/conversations/${encodeURIComponent(address)}`;
  if (fate === 'failed') {
    const { body } = await api('POST', '/api/messages', { recipientPhone: address, message: 'Hello' });
    await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.status === 'failed');
    return;
  }
  if (fate === 'drafted alone') {
    await api('POST', '/api/knowledge-base/drafts', { phone: address, message: 'It is free.' });
    return;
  }
  const text = fate.startsWith('suspected') ? 'Please take me off your list' : 'Is it still free?';
  await writeIn(tab.app, { lineId, from: address, text });
  // A draft that is written before is superseded.
  await eventually(async () => (await api('GET', path)).status === 200);
  if (fate === 'answered') {
    await api('POST', '/api/inbox/send-reply', { phone: address, message: 'It is.' });
    await eventually(async () => (await api('GET', path)).body.conversation.lastDirection === 'out');
  }
  if (fate === 'planned') {
    const scheduledDate = new Date(Date.now() + 86_400_000).toISOString();
    await api('POST', '/api/inbox/send-reply', { phone: address, message: 'It will be.', scheduledDate });
  }
  if (fate === 'closed') await api('PATCH', path, { status: 'closed' });
  if (fate === 'mine') await api('PATCH', path, { assigneeId: ownerId });
  if (fate.endsWith('draft') || fate === 'drafted')
    await api('POST', '/api/knowledge-base/drafts', { phone: address, message: 'It is.' });
}

/** How many conversations the API lists, page by page. */
async function listed(api: ApiClient, query: string): Promise<number> {
  let [count, cursor] = [0, ''];
  do {
    const { body } = await api('GET', `/api/conversations?limit=2&${query}${cursor}`);
    count += body.conversations.length;
    cursor = body.nextCursor === null ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`;
  } while (cursor !== '');
  return count;
}

test('every number of the inbox and of Home is what the API lists, whatever has happened', async () => {
  const { page, app } = tab;
  const [sampled = []] = fc.sample(fc.array(Fate, { minLength: 8, maxLength: 14 }), 1);
  const fates = [...sampled, 'drafted alone'];
  const workspace = await createWorkspaceWithLine(app);
  const { api, lineId, ownerId, id: organizationId } = workspace;
  const contacts = fates.map((fate) => ({ fate, address: phone(fate === 'failed' ? '0002' : '1111') }));
  for (const contact of contacts) await happen(contact, { api, lineId, ownerId });
  const owner = await sessionClient(app, { userId: ownerId, organizationId, role: 'org:admin' });
  const count = (...kinds: string[]): number => fates.filter((fate) => kinds.includes(fate)).length;

  const expected = {
    Open: await listed(owner, 'status=open'),
    Unread: await listed(owner, 'unread=true&status=open'),
    Mine: await listed(owner, 'assignee=me&status=open'),
    Unanswered: await listed(owner, 'unanswered=true'),
    // Also those to contacts without a conversation, which the API lists as drafts alone.
    Drafts: (await listed(owner, 'drafted=true')) + count('drafted alone'),
  };
  // By what has happened, too: a list and a number may be wrong alike.
  expect(expected, `fates: ${fates.join(', ')}`).toMatchObject({
    Mine: count('mine'),
    Unanswered: count('asked', 'mine', 'drafted', 'suspected', 'suspected draft'),
    Drafts: count('drafted', 'drafted alone'),
  });

  await tab.signInAsOwner(workspace, '/inbox');
  const views = page.getByRole('list', { name: 'Often used' });
  await expect
    .poll(async () => {
      const shown = await views.getByRole('button').allTextContents();
      return Object.fromEntries(
        shown.map((text) => [text.replace(/\d+$/, ''), Number(/\d+$/.exec(text)?.[0] ?? 0)]),
      );
    })
    .toEqual(expected);
  for (const [name, conversations] of Object.entries(expected)) {
    await views.getByRole('button', { name }).click();
    await expect
      .poll(() => page.getByRole('list', { name: 'Conversations' }).getByRole('listitem').count())
      .toBe(conversations);
  }

  await tab.go('/');
  const titles = [
    [count('suspected', 'suspected draft'), /^(\d+) suspected opt-outs?$/],
    [expected.Unanswered, /^(\d+) conversations? (?:is|are) unanswered$/],
    [expected.Drafts, /^(\d+) drafts? waits? for you$/],
    [count('failed'), /^(\d+) messages? failed in the last 24 hours$/],
  ] as const;
  for (const [value, title] of titles) {
    if (value > 0) await page.getByText(title).waitFor();
    const shown = await page.getByText(title).allTextContents();
    expect(shown.map((text) => Number(title.exec(text)?.[1]))).toEqual(value > 0 ? [value] : []);
  }
});

test('the numbers of a campaign are the same on all its tabs, and those of a line in the list and in its drawer', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app, {
    line: { first_name: 'Dana', last_name: 'Lee' },
  });
  const [fallbacks = 1, reached = 2, answers = 1] = [1, 3, 2].map(
    (most) => fc.sample(fc.integer({ min: 1, max: most }), 1)[0],
  );
  const listId = (await api('POST', '/api/lists', { name: 'Buyers' })).body.list._id;
  const phones = [
    ...Array.from({ length: reached }, () => phone()),
    ...Array.from({ length: fallbacks }, () => phone('0002')),
  ];
  await api('POST', '/api/leads', { listId, leads: phones.map((number) => ({ phones: [number] })) });
  const steps = [{ message: 'Hello', messageType: 'imessage' }];
  const { campaign } = (await api('POST', '/api/campaigns', { name: 'Spring', listId, steps, start: true }))
    .body;
  const funnel = async () => (await api('GET', `/api/campaigns/${campaign._id}/funnel`)).body.steps[0];
  await eventually(async () => {
    const { sent, failed } = await funnel();
    return sent + failed === phones.length;
  });
  for (const from of phones.slice(0, Math.min(answers, reached)))
    await writeIn(app, { lineId, from, text: 'Tell me more' });
  await eventually(async () => (await funnel()).replied.leads === Math.min(answers, reached));
  const { sent, failed, replied } = await funnel();

  // As links were before a campaign had a page.
  await tab.signIn(key, `/campaigns?campaign=${campaign._id}`);
  await page.getByRole('heading', { name: 'Spring' }).waitFor();
  expect(page.url()).toContain(`/campaigns/${campaign._id}`);
  const figure = (label: string) => page.locator('dl div', { hasText: label }).locator('dd').first();
  await expect.poll(() => figure('Sent').textContent()).toBe(String(sent));
  expect(await figure('Replies').textContent()).toMatch(new RegExp(`^${replied.leads} \\(`));
  const share = /\((.*)\)/.exec((await figure('Replies').textContent()) ?? '')?.[1] ?? '';
  if (failed > 0) expect(await figure('Failed').textContent()).toBe(String(failed));
  await page.getByRole('tab', { name: 'Funnel' }).click();
  const table = page.getByRole('table', { name: 'Messages of step 1' });
  await table.getByRole('row', { name: `Sent ${sent}` }).waitFor();
  await page
    .getByRole('region', { name: 'Replies to step 1' })
    .getByText(`${replied.leads} · ${share}`)
    .waitFor();

  const { usage } = (await api('GET', '/api/lines/by-user')).body.lines[0];
  await tab.go('/lines');
  const row = page.getByRole('row', { name: /Dana Lee/ });
  const [used, limit] = [usage.newMessages, usage.newMessagesLimit].map((count) =>
    count.toLocaleString('en-US'),
  );
  const shown = `${used} of ${limit}`;
  await row.getByText(shown).last().waitFor();
  await row.press('Enter');
  await page.getByRole('dialog').getByText(shown).first().waitFor();
});

test('the numbers of Home, Analytics, Contacts and Compliance are those of the API', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app);
  const [reached = 1, failed = 1, answered = 1, optedOut = 1] = [4, 2, 3, 3].map(
    (most) => fc.sample(fc.integer({ min: 1, max: most }), 1)[0],
  );
  const sizes = fc.sample(fc.integer({ min: 0, max: 5 }), 2);
  for (const [index, size] of sizes.entries()) {
    const listId = (await api('POST', '/api/lists', { name: `List ${index}` })).body.list._id;
    const leads = Array.from({ length: size }, () => ({ phones: [phone()] }));
    if (size > 0) await api('POST', '/api/leads', { listId, leads });
  }
  const contacts = Array.from({ length: reached }, () => phone());
  const unknown = Array.from({ length: failed }, () => phone('0002'));
  for (const recipientPhone of [...contacts, ...unknown])
    await api('POST', '/api/messages', { recipientPhone, message: 'Hello' });
  const replying = contacts.slice(0, answered);
  const metrics = async () => (await api('GET', '/api/analytics')).body.metrics;
  await eventually(async () => {
    const counted = await metrics();
    return counted.sent === reached && counted.failed === failed;
  });
  for (const from of replying) await writeIn(app, { lineId, from, text: 'Tell me more' });
  await eventually(async () => (await metrics()).replied === replying.length);
  const counted = await metrics();
  expect(counted).toMatchObject({ sent: reached, reached, failed, uniqueReplied: expect.any(Number) });
  const percent = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 });
  const shownOf = (name: string): string =>
    name.endsWith('Pct') ? percent.format(counted[name]) : String(counted[name]);

  await tab.signIn(key, '/analytics');
  const figures = page.getByRole('group', { name: 'Metrics' }).getByRole('button');
  const names = {
    'Messages sent': 'sent',
    'Contacts reached': 'reached',
    'Contacts who replied': 'uniqueReplied',
    'Reply rate': 'repliedPct',
    'Positive contacts': 'positiveReplied',
    'Positive rate': 'positivePct',
    'Messages received': 'replied',
    Fallbacks: 'fallback',
    Failed: 'failed',
  };
  const expected = Object.entries(names).map(([label, name]) => `${label}${shownOf(name)}`);
  await expect.poll(() => figures.allTextContents()).toEqual(expected);

  await tab.go('/');
  // The lines beside them count what has left, be it created before.
  await page.getByText(/counts on the day it was created/).waitFor();
  const today = page.getByRole('region', { name: 'Today' });
  for (const [label, name] of [
    ['Sent today', 'sent'],
    ['Contacts reached', 'reached'],
    ['Replied', 'uniqueReplied'],
    ['Failed', 'failed'],
  ] as const)
    await expect
      .poll(() =>
        today.getByText(label, { exact: true }).locator('xpath=following-sibling::p[1]').textContent(),
      )
      .toBe(shownOf(name));

  for (let count = 0; count < optedOut; count += 1)
    await writeIn(app, { lineId, from: phone(), text: 'STOP' });
  const optOuts = async () => (await api('GET', '/api/opt-outs')).body.optOuts;
  await eventually(async () => (await optOuts()).length === optedOut);

  await tab.go('/contacts');
  const { lists } = (await api('GET', '/api/lists')).body as { lists: { name: string; leadCount: number }[] };
  const entries = page.getByRole('navigation', { name: 'Lists' }).getByRole('button', { name: /^List / });
  expect(
    lists
      .filter(({ name }) => name.startsWith('List'))
      .map(({ leadCount }) => leadCount)
      .toSorted(),
  ).toEqual(sizes.toSorted());
  await expect
    .poll(async () => (await entries.allTextContents()).toSorted())
    .toEqual(sizes.map((size, index) => `List ${index}${size}`).toSorted());
  await page.getByRole('button', { name: 'Opt-outs' }).click();
  await expect
    .poll(() => page.getByRole('table', { name: 'Opt-outs' }).getAttribute('aria-rowcount'))
    .toBe(String(optedOut + 1));

  await tab.go('/compliance?tab=opt-outs');
  const { weeks } = (await api('GET', '/api/opt-outs/weeks')).body;
  const week = weeks.find(({ optedOut: count }: { optedOut: number }) => count > 0);
  expect(week).toMatchObject({ optedOut });
  await page
    .getByRole('row', {
      name: new RegExp(
        `${week.optedOut}.*${week.optedIn}.*${week.sent}.*${percent.format(week.optedOutShare)}`,
      ),
    })
    .first()
    .waitFor();
});
