import { setTimeout as pause } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, insertRow, type WorkspaceWithLine } from '#test/support/factories.ts';
import { arrive, callBack } from '#test/support/inbound.ts';
import { signIn } from '#test/support/sessions.ts';
import { buildConsole, openTab, sharedBrowser, TAB } from './browser.ts';
import { signInTo } from './console-tab.ts';

/* Several tabs of one browser, which opens six connections to a server for all of them together. */

const TABS = 8;
/** Longer than a tab collects events before it reads again. */
const QUIET_MS = 3000;

let app: TestApp;
let browser: BrowserContext;
let workspace: WorkspaceWithLine;
let elsewhere: WorkspaceWithLine;
/** Contacts of both workspaces. */
const contact = phone();
const tabs: Page[] = [];

/** Opens a tab with the conversation in a workspace, in which the owner of the first one is signed in. */
async function open({ id }: WorkspaceWithLine): Promise<Page> {
  const { page } = await openTab(await sharedBrowser(), browser);
  page.setDefaultTimeout(20_000);
  const session = { userId: workspace.ownerId, organizationId: id, role: 'org:admin' };
  await signInTo(page, app, await signIn(app, session), `/inbox/${encodeURIComponent(contact)}`);
  await page.getByRole('log').getByText('At five?').waitFor();
  return page;
}

const write = ({ lineId }: WorkspaceWithLine, text: string): Promise<void> =>
  arrive(app, { lineId, from: contact, text });

const sees = (page: Page, text: string): Promise<void> => page.getByRole('log').getByText(text).waitFor();

/** Waits until a tab shows that the contact types, which only the stream tells. */
async function hearsTyping(page: Page): Promise<void> {
  const { lineId } = workspace;
  const type = (isOn: boolean) =>
    callBack(app, lineId, { kind: 'typing', eventId: newId(), at: new Date(), from: contact, isOn });
  const typing = page.getByText(/ is typing…$/);
  await eventually(async () => (await type(true)) === 200 && typing.isVisible());
}

const streams = ({ id }: WorkspaceWithLine): Promise<number> =>
  systemDb(app.pools).oneFirst(
    sql.type(z.object({ count: z.int() }))`select count(*) from event_streams where workspace_id = ${id}`,
  );

beforeAll(async () => {
  const [started, chromium] = await Promise.all([sharedApp(), sharedBrowser(), buildConsole()]);
  app = started;
  browser = await chromium.newContext(TAB);
  workspace = await createWorkspaceWithLine(app);
  elsewhere = await createWorkspaceWithLine(app);
  const membership = { workspace_id: elsewhere.id, user_id: workspace.ownerId, role: 'org:admin' };
  await insertRow(app, 'workspace_members', membership);
  for (const one of [workspace, elsewhere]) await write(one, 'At five?');
});
afterAll(() => browser.close());

test('more tabs than a browser opens connections load, and all are live over one stream', async () => {
  for (let tab = 0; tab < TABS; tab += 1) tabs.push(await open(workspace));
  await Promise.all(tabs.map(hearsTyping));
  await write(workspace, 'To all tabs');
  await Promise.all(tabs.map((page) => sees(page, 'To all tabs')));
  await eventually(async () => (await streams(workspace)) === 1);
}, 240_000);

test('when the tab with the stream is closed, another one goes on where it was', async () => {
  for (const text of ['After the first', 'After the second']) {
    // The one that was opened last has it.
    const closed = tabs.pop()?.close();
    await write(workspace, text);
    await closed;
    await Promise.all(tabs.map((page) => sees(page, text)));
    await Promise.all(tabs.map(hearsTyping));
  }
  await eventually(async () => (await streams(workspace)) === 1);
}, 90_000);

test('a tab of another workspace hears nothing of it', async () => {
  const other = await open(elsewhere);
  await write(elsewhere, 'To the other workspace');
  await sees(other, 'To the other workspace');
  const typing = other.getByText(/ is typing…$/);
  await Promise.all(tabs.map(hearsTyping));
  const reads: string[] = [];
  const note = (method: string, url: string): void => {
    // Notes are also read whenever a colleague shows that they are there.
    if (method === 'GET' && !/\/notes\b/.test(url)) reads.push(url);
  };
  for (const page of tabs) page.on('request', (request) => note(request.method(), request.url()));
  // What was written to them before is read at intervals.
  await eventually(async () => {
    const before = reads.length;
    await pause(QUIET_MS);
    return reads.length === before;
  });
  reads.length = 0;
  await write(elsewhere, 'Again to the other');
  await sees(other, 'Again to the other');
  expect(reads).toEqual([]);
  expect(await typing.isVisible()).toBe(false);
  expect(await Promise.all([streams(workspace), streams(elsewhere)])).toEqual([1, 1]);
}, 90_000);
