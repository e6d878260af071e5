import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import {
  createLead,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { PNG, wav } from '#test/support/files.ts';
import { callBack, writeIn } from '#test/support/inbound.ts';
import { firstMailTo } from '#test/support/mails.ts';
import { signIn } from '#test/support/sessions.ts';
import { buildConsole, inaccessible, openTab, sharedBrowser, TAB, type Tab } from './browser.ts';
import { signInTo } from './console-tab.ts';
import { docsPicture } from './docs-picture.ts';

/*
 * A working day of three people in one inbox, each in a browser of their own. It takes the pictures of docs/console.md:
 * RENEW_PICTURES=1 npm run test:system -- test/console/working-day.test.ts
 */

let app: TestApp;
let workspace: WorkspaceWithLine;
const tabs: Tab[] = [];
let lena: Page;
let mia: Page;
let jonas: Page;
let jonasIs: string;
let miasBrowser: BrowserContext;
/** Opens one more tab of Mia's browser. */
let openMia: (path: string) => Promise<Page>;
const ada = phone();

/** Notifications of the desktop that a page has shown. As a text: it runs in the page, whose types are not those of Node. */
const RECORD_NOTIFICATIONS = `
  globalThis.shown = [];
  globalThis.Notification = class extends EventTarget {
    static get permission() { return localStorage.getItem('test.permission') ?? 'default'; }
    static async requestPermission() {
      localStorage.setItem('test.permission', 'granted');
      return 'granted';
    }
    constructor(title, { body }) { super(); this.title = title; this.body = body; shown.push(this); }
    close() {}
  };`;

beforeAll(async () => {
  const [started, browser] = await Promise.all([sharedApp(), sharedBrowser(), buildConsole()]);
  app = started;
  workspace = await createWorkspaceWithLine(app, {
    workspace: { name: 'Harbour Homes' },
    line: { daily_new_limit: 1000, min_gap_seconds: 0 },
  });
  const { id, ownerId } = workspace;
  const join = async (name: string, userId = `user_${name.split(' ')[0]?.toLowerCase()}_${id}`) => {
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name });
    await insertRow(app, 'workspace_members', { workspace_id: id, user_id: userId, role: 'org:member' });
    return userId;
  };
  const [miaId, jonasId] = [await join('Mia Okafor'), await join('Jonas Brandt')];
  const open = async (
    userId: string,
    role: string,
    path?: string,
    context?: BrowserContext,
  ): Promise<Page> => {
    const tab = await openTab(browser, context);
    tabs.push(tab);
    await tab.page.addInitScript(RECORD_NOTIFICATIONS);
    await signInTo(tab.page, app, await signIn(app, { userId, organizationId: id, role }), path);
    return tab.page;
  };
  miasBrowser = await browser.newContext(TAB);
  openMia = (path) => open(miaId, 'org:member', path, miasBrowser);
  [lena, mia, jonas] = await Promise.all([
    open(ownerId, 'org:admin', '/inbox'),
    openMia('/inbox'),
    open(jonasId, 'org:member', '/inbox'),
  ]);
  jonasIs = jonasId;
});
afterEach(() => {
  const problems = tabs.flatMap((tab) => tab.takeProblems());
  if (problems.length > 0) throw new Error(problems.join('\n'));
});
afterAll(async () => {
  await Promise.all(tabs.map(({ page }) => page.close()));
  await miasBrowser.close();
});

const log = (page: Page) => page.getByRole('log', { name: 'Messages' });
const row = (page: Page, text: string) =>
  page.getByRole('list', { name: 'Conversations' }).getByRole('button', { name: text });
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const pick = (page: Page, name: string) => page.getByRole('menuitem', { name, exact: true }).click();
const shown = (page: Page) =>
  page.evaluate('shown.map(({ title, body }) => ({ title, body }))') as Promise<
    { title: string; body: string }[]
  >;

const write = (from: string, text: string, attachments: object[] = []) =>
  writeIn(app, { lineId: workspace.lineId, from, text, attachments });

test('three people share an inbox for a day', async ({ annotate }) => {
  const { api, id, lineId } = workspace;
  await createLead(app, id, { first_name: 'Ada', last_name: 'Lovelace', phones: [ada] });
  const startedAt = performance.now();
  const reached = (what: string) =>
    annotate(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the first message`);

  // In the morning, messages wait for everybody.
  await write(phone(), 'Parking: is there a place?', [
    { name: 'Yard.png', contentType: 'image/png', base64: PNG.toString('base64') },
  ]);
  await write(phone(), 'Thanks, we found something else');
  await write(ada, 'Is the flat on Harbour Street free from May?');
  for (const page of [lena, mia, jonas]) await row(page, 'Is the flat on Harbour Street').waitFor();
  await reached('All three see the message');

  // Mia turns notifications on, by a click.
  await press(mia, 'Account: Mia Okafor');
  await pick(mia, 'Desktop notifications');
  await mia.getByText('This browser notifies you').waitFor();

  await row(mia, 'Is the flat on Harbour Street').click();
  await row(lena, 'Is the flat on Harbour Street').click();
  await lena.getByText('Mia Okafor is here').waitFor();
  await press(lena, 'Assign');
  await pick(lena, 'Mia Okafor');
  await mia.getByRole('button', { name: 'Mia Okafor', exact: true }).waitFor();
  await reached('Lena sees Mia there, and assigns the conversation to her');

  await mia.keyboard.press('n');
  await mia.keyboard.type('Who has the key? @');
  await pick(mia, 'Jonas Brandt');
  await mia.keyboard.press('Control+Enter');
  await lena.getByRole('region', { name: 'Note', exact: true }).getByText('@Jonas Brandt').waitFor();
  const mail = await firstMailTo(app, `user_jonas_${id}@example.test`);
  expect(mail.text).toContain('Who has the key? @Jonas Brandt');
  await reached('Jonas has the email about the note that mentions him');

  // Mia answers with a voice note; Ada reads it, and reacts.
  await mia.getByLabel('Files to attach').setInputFiles({
    name: 'Viewing on Friday.wav',
    mimeType: 'audio/wav',
    buffer: wav(8),
  });
  await mia.getByRole('button', { name: 'Remove Viewing on Friday.wav' }).waitFor();
  await mia.keyboard.press('r');
  await mia.keyboard.type('Yes, it is. I have said the times:');
  await mia.keyboard.press('Control+Enter');
  await log(lena).getByRole('group', { name: 'Audio Viewing on Friday.wav' }).waitFor();
  const carrierMessageId = await eventually(async () => (await sentTo(app, ada))[0]?.id);
  const about = { carrierMessageId, at: new Date() };
  await callBack(
    app,
    lineId,
    { kind: 'read', eventId: newId(), ...about },
    { kind: 'reaction', eventId: newId(), ...about, reaction: 'love', removed: false, from: ada },
  );
  for (const page of [lena, mia]) {
    await log(page)
      .getByText(/^Read \d/)
      .waitFor();
    await log(page).getByRole('list', { name: 'Reactions' }).getByText('Ada Lovelace').waitFor();
  }
  await reached('Ada has read the answer, and reacted to it');

  // Ada answers with a voice note. Mia looks at another conversation, so she is notified.
  await row(mia, 'Parking').click();
  await log(mia).getByRole('img', { name: 'Yard.png', exact: true }).waitFor();
  await eventually(() =>
    mia.evaluate<boolean>('document.querySelector("[role=log] img").naturalWidth === 1'),
  );
  const bytes = wav(12);
  await write(ada, 'Here is when I can come', [
    { name: 'Audio message.wav', contentType: 'audio/wav', base64: bytes.toString('base64') },
    {
      name: 'Reference.pdf',
      contentType: 'application/pdf',
      base64: Buffer.from('%PDF-1.4').toString('base64'),
    },
  ]);
  // What came with a picture in the morning may be told only now, when the picture is there.
  const ofAda = async () => (await shown(mia)).filter(({ body }) => !body.startsWith('Parking'));
  await eventually(async () => (await ofAda()).length > 0);
  expect(await ofAda()).toEqual([{ title: 'Ada Lovelace', body: 'Here is when I can come' }]);
  // The others have not asked for notifications.
  expect([await shown(lena), await shown(jonas)]).toEqual([[], []]);
  await mia.evaluate('shown.find(({ title }) => title === "Ada Lovelace").dispatchEvent(new Event("click"))');
  const player = log(mia).getByRole('group', { name: 'Audio Audio message.wav' });
  await player.getByText('0:00 / 0:12').waitFor();
  await log(mia).getByRole('link', { name: 'Reference.pdf PDF · 1 kB' }).waitFor();
  await reached('Mia has clicked the notification, and sees the voice note');
  await player.getByRole('button', { name: 'Play', exact: true }).focus();
  await mia.keyboard.press('Space');
  await player.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  await player.getByRole('button', { name: 'Speed 1×', exact: true }).press('Enter');
  expect(
    await mia.evaluate('[...document.querySelectorAll("audio")].map((audio) => audio.playbackRate)'),
  ).toContain(1.5);
  await player.getByText(/^0:0[1-9]/).waitFor();
  await player.getByRole('slider', { name: 'Position', exact: true }).press('Space');
  await player.getByRole('button', { name: 'Play', exact: true }).waitFor();
  await mia.keyboard.press('ArrowRight');
  await player.getByText(/^0:(0[6-9]|1[0-2])/).waitFor();
  expect(await inaccessible(mia)).toEqual([]);
  await reached('She has heard it');
  await docsPicture(mia, 'inbox-day-thread');

  // Until Ada decides, it is out of sight; Jonas closes what is done.
  await row(jonas, 'Here is when I can come').waitFor();
  await press(mia, 'Snooze');
  await pick(mia, 'For an hour');
  await row(jonas, 'Here is when I can come').waitFor({ state: 'detached' });
  const boxes = jonas.getByRole('checkbox', { name: /^Select/ });
  await eventually(async () => (await boxes.count()) === 2);
  for (const box of await boxes.all()) await box.check();
  await jonas.getByText('2 selected').waitFor();
  await docsPicture(jonas, 'inbox-day-bulk');
  await jonas
    .getByRole('group', { name: 'Selected conversations' })
    .getByRole('button', { name: 'Close', exact: true })
    .click();
  for (const page of [jonas, lena]) await page.getByText('No open conversations').waitFor();
  await reached('Everything is answered, snoozed or closed');

  // It is back when she writes, and Lena finds everything about her in one place.
  await write(ada, 'Friday at ten, please');
  for (const page of [jonas, lena]) await row(page, 'Friday at ten').waitFor();
  await lena.getByRole('button', { name: 'Ada Lovelace', exact: true }).click();
  const drawer = lena.getByRole('dialog', { name: 'Ada Lovelace' });
  await drawer.getByText('Note by Mia Okafor').waitFor();
  await drawer.getByRole('group', { name: 'Audio Audio message.wav' }).getByText('0:12').waitFor();
  expect(await inaccessible(lena)).toEqual([]);
  await docsPicture(lena, 'inbox-day-contact');
  await reached('Lena sees all of it on the page of the contact');
  const conversations = (await api('GET', '/api/conversations')).body.conversations as { status: string }[];
  expect(conversations.map(({ status }) => status).toSorted()).toEqual(['closed', 'closed', 'open']);
});

test('one tab of a browser notifies: of what is the user’s or nobody’s, and is not in sight', async () => {
  // Mia has Ada's conversation in sight in one tab, and another page in the other.
  await row(mia, 'Friday at ten').click();
  await log(mia).getByText('Friday at ten, please').waitFor();
  const other = await openMia('/lines');
  await other.getByRole('heading', { name: 'Lines', exact: true }).waitFor();
  const before = (await shown(mia)).length;
  const bodies = async (): Promise<string[]> =>
    [...(await shown(mia)).slice(before), ...(await shown(other))].map(({ body }) => body);
  const ofJonas = phone();
  await write(ofJonas, 'For Jonas, at first');
  await eventually(async () => (await bodies()).length === 1);
  await workspace.api('PATCH', `/api/conversations/${encodeURIComponent(ofJonas)}`, { assigneeId: jonasIs });
  await write(ofJonas, 'For Jonas alone');
  await write(ada, 'In sight');
  await log(mia).getByText('In sight', { exact: true }).waitFor();
  await mia.evaluate("history.pushState(null, '', '/console/inbox')");
  await log(mia).waitFor({ state: 'detached' });
  await write(ada, 'Out of sight');
  await eventually(async () => (await bodies()).includes('Out of sight'));
  expect(await bodies()).toEqual(['For Jonas, at first', 'Out of sight']);
  // Once the tab that does it is closed, the other one goes on: the one that was opened last does it.
  const shownBefore = (await shown(mia)).length;
  await other.close();
  await write(ada, 'Still there?');
  await eventually(async () => (await shown(mia)).length > shownBefore);
  expect((await shown(mia)).slice(shownBefore).map(({ body }) => body)).toEqual(['Still there?']);
});
