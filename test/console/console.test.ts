import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { insertConsoleCode } from '#db/queries/console-codes.ts';
import { systemDb } from '#db/transactions.ts';
import { hashConsoleCode, newConsoleCode } from '#domain/console-code.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import {
  createAgency,
  createKey,
  createLine,
  createWorkspace,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';
import { buildConsole, inaccessible, openTab, startBrowser, type Tab } from './browser.ts';

/** A PNG of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let app: OwnApp;
let browser: Browser;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
let tab: Tab;
let page: Page;

beforeAll(async () => {
  [app, browser] = await Promise.all([startTestApp(), startBrowser(), buildConsole()]);
  workspace = await createWorkspace(app, { name: 'Harbour Homes', timezone: 'Asia/Tokyo' });
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id, 'imessage', { first_name: 'Dana', last_name: 'Lee' });
  tab = await openTab(browser);
  ({ page } = tab);
});
afterAll(async () => {
  await Promise.all([browser.close(), app.stop()]);
});

// What a test provokes on purpose it takes before.
afterEach(() => {
  const problems = tab.takeProblems();
  if (problems.length > 0) throw new Error(problems.join('\n'));
});

const open = (path: string) => page.goto(`${app.url}/console${path}`);

/** Signs the tab in as the next page that it opens. */
async function useCredential(token: string): Promise<void> {
  if (!page.url().startsWith(app.url)) await open('/');
  const session = JSON.stringify({ token, workspaceId: null });
  await page.evaluate(`sessionStorage.setItem('linepace.session', ${JSON.stringify(session)})`);
}

describe('the files of the console', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${app.url}/console${path}`, { headers });

  it('have a policy without inline scripts or styles, and a page for every path', async () => {
    const response = await get('/any/address');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).not.toMatch(/<style|<script>|style=/);
  });

  it('are cacheable for a year if their names contain a hash, and compressed for clients that accept it', async () => {
    const html = await (await get('')).text();
    const script = /assets\/index-[\w-]+\.js/.exec(html)?.[0];
    for (const encoding of ['br', 'gzip']) {
      const response = await get(`/${script}`, { 'accept-encoding': encoding });
      expect(response.headers.get('content-encoding')).toBe(encoding);
      expect(response.headers.get('cache-control')).toContain('immutable');
      expect(response.headers.get('vary')).toContain('Accept-Encoding');
    }
  });

  it('include nothing outside the build', async () => {
    for (const path of [
      '/assets/none-12345678.js',
      '/assets/..%2Findex.html',
      '/assets/%2e%2e%2f%2e%2e%2fbuild.ts',
    ])
      expect((await get(path)).status, path).toBe(404);
  });
});

describe('signing in', () => {
  it('refuses an invalid key and shows the error at the field', async () => {
    await open('/');
    await page.getByLabel('Workspace key').fill('svc_sk_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This key is not valid').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    expect(tab.takeProblems()).toEqual([expect.stringContaining('401')]);
  });

  it('keeps the key for the tab only, neither in local storage nor in a cookie', async () => {
    await page.getByLabel('Workspace key').fill(workspace.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    const kept = await page.evaluate('JSON.stringify(localStorage) + document.cookie');
    expect(kept).not.toContain('svc_');
    const other = await openTab(browser);
    await other.page.goto(`${app.url}/console`);
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.page.close();
  });

  it('ends when the API refuses the key, and shows nothing of it to whoever signs in next', async () => {
    const next = await createWorkspace(app, { name: 'Second Street' });
    const key = await createKey(app, 'workspace', next.id);
    await useCredential(key);
    await open('/');
    await page.getByText('Second Street').first().waitFor();
    const owner = { userId: next.ownerId, organizationId: next.id, role: 'org:admin' };
    const session = await sessionClient(app, owner);
    const { keys } = (await session('GET', '/api/keys')).body;
    for (const { _id } of keys) await session('DELETE', `/api/keys/${_id}`);
    await page.getByRole('link', { name: 'Messages' }).click();
    await page.getByLabel('Workspace key').fill(workspace.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Harbour Homes').first().waitFor();
    expect(await page.getByText('Second Street').count()).toBe(0);
    expect(new Set(tab.takeProblems())).toEqual(new Set([expect.stringContaining('401')]));
  });

  it('ends on signing out', async () => {
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate("sessionStorage.getItem('linepace.session')")).toBeNull();
  });

  it('accepts the one-time code of a link and removes it from the address', async () => {
    const code = newConsoleCode();
    await insertConsoleCode(systemDb(app.pools), hashConsoleCode(code), workspace.id);
    await page.goto('about:blank');
    await open(`#code=${code}`);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(page.url()).not.toContain('code');
  });
});

describe('Home', () => {
  it('lists what needs attention, with links', async () => {
    const contact = phone();
    await writeIn(app, { lineId, from: contact, text: 'Is the flat still free?' });
    await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 1);
    await open('/');
    await page.getByRole('link', { name: /1 conversation is unanswered/ }).waitFor();
    await page.getByText('Dana Lee').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('link', { name: /1 conversation is unanswered/ }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  });

  it('can be reached by keyboard from every page', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.getByRole('heading', { name: 'Lines', exact: true }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /Search/ }).waitFor();
    await page.keyboard.type('hom');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
  });
});

describe('the inbox', () => {
  it('shows a conversation and sends a reply by keyboard alone', async () => {
    const contact = phone();
    await writeIn(app, { lineId, from: contact, text: 'Can I see it on Friday?' });
    await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 2);
    await open('/inbox');
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

  it('shows new messages within moments over one connection, without polling', async () => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await open('/inbox');
    await page.getByText('Yes, at noon.').first().waitFor();
    await writeIn(app, { lineId, from: phone(), text: 'Just now!' });
    // Without events the list would be read again after five seconds.
    await page.getByText('Just now!').first().waitFor({ timeout: 4000 });
    expect(requests.filter((path) => path === '/api/events/stream')).toHaveLength(1);
    page.removeAllListeners('request');
  });

  it('shows a draft and sends it as edited', async () => {
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    const contact = phone();
    await writeIn(app, { lineId, from: contact, text: 'Are dogs allowed?' });
    await open('/inbox?filter=drafts');
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

  it('lists its keyboard shortcuts, which can be turned off', async () => {
    await page.getByRole('heading', { name: 'Inbox' }).click();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Approve the draft').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await help.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    expect(await help.count()).toBe(0);
    await page.evaluate('localStorage.clear()');
  });

  it('fits the screen of a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Back to the list' }).click();
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await page.getByRole('link', { name: 'Lines' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    for (const path of ['/', '/lines']) {
      await open(path);
      await page.getByText('Dana Lee').waitFor();
      // What is wider would be cut off.
      const tooWide = await page.evaluate(
        "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 391).length",
      );
      expect(tooWide, path).toBe(0);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

describe('the lines', () => {
  it('show their usage, the next messages and why those wait', async () => {
    await api('PATCH', `/api/lines/${lineId}`, { dailyTotalMessagesLimit: 1 });
    await api('POST', '/api/messages', { message: 'Later', recipientPhone: phone(), fromLineId: lineId });
    await open('/lines');
    await page.getByRole('row', { name: /Dana Lee/ }).press('Enter');
    const drawer = page.getByRole('dialog');
    await drawer.getByText('One message waits.').waitFor();
    await drawer.getByRole('meter', { name: 'Messages' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('show a refusal of the API at the field, and can undo a saved change', async () => {
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('tab', { name: 'Limits' }).click();
    const field = drawer.getByLabel('Messages a day');
    await field.fill('99999');
    await drawer.getByRole('button', { name: 'Save' }).click();
    await drawer.getByText(/10000/).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    await field.fill('200');
    await drawer.getByRole('button', { name: 'Save' }).click();
    const limit = async () => (await api('GET', '/api/lines/by-user')).body.lines[0].dailyTotalMessagesLimit;
    await eventually(async () => (await limit()) === 200);
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await limit()) === 1);
    const tells = async () => (await api('GET', '/api/lines/by-user')).body.lines[0].lineDownNotifications;
    const before = await tells();
    await drawer.getByRole('checkbox', { name: 'Send an email when this line is down' }).click();
    await eventually(async () => (await tells()) === !before);
  });

  it('offer a form made from the schema of the carrier', async () => {
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('tab', { name: 'Carrier' }).click();
    await drawer.getByRole('combobox', { name: 'Carrier' }).selectOption('bluebubbles');
    await drawer.getByLabel('URL', { exact: true }).fill('http://mac.example');
    expect(await drawer.getByLabel('Password').getAttribute('type')).toBe('password');
    await drawer.getByLabel('Method (optional)').selectOption('private-api');
    expect(await inaccessible(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });
});

describe('the messages', () => {
  it('can be filtered, explain what they wait for, and can be canceled', async () => {
    const contact = phone();
    const scheduledDate = new Date(Date.now() + 86_400_000).toISOString();
    const { body: message } = await api('POST', '/api/messages', {
      message: 'See you tomorrow',
      recipientPhone: contact,
      scheduledDate,
      correlationId: 'visit-7',
    });
    const { body: timeline } = await api('GET', `/api/messages/${message._id}/timeline`);
    await open('/messages?status=failed');
    await page.getByText('No message matches').waitFor();
    await page.getByRole('combobox', { name: 'Status' }).selectOption('scheduled');
    await page.getByLabel('Correlation ID').fill('visit-7');
    await page.keyboard.press('Enter');
    const row = page.getByRole('row', { name: /See you tomorrow/ });
    await row.waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await row.press('Enter');
    const drawer = page.getByRole('dialog', { name: /^To / });
    await drawer.getByText(timeline.waitingFor.text).waitFor();
    expect(page.url()).toContain(`message=${message._id}`);
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('button', { name: 'Cancel the message' }).click();
    const question = page.getByRole('dialog', { name: 'Cancel this message?' });
    await question.getByRole('button', { name: 'Cancel the message' }).click();
    await drawer.getByText('Canceled before it was sent.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('No message matches').waitFor();
  });
});

describe('the webhooks', () => {
  it('are added with a secret that is shown once, tested, and deliver again on request', async () => {
    const endpoint = await startTestEndpoint();
    await open('/webhooks');
    await page.getByText('No webhooks yet').waitFor();
    await page.getByRole('button', { name: 'Add a webhook' }).first().click();
    const form = page.getByRole('dialog', { name: 'Add a webhook' });
    await form.getByLabel('URL').fill(endpoint.url);
    await form.getByLabel('Name (optional)').fill('Our CRM');
    expect(await inaccessible(page)).toEqual([]);
    await form.getByRole('button', { name: 'Add' }).click();
    expect(await page.getByLabel('Signing secret').inputValue()).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /Our CRM/ }).press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Our CRM' });
    await drawer.getByRole('button', { name: 'Send a test event' }).click();
    await drawer.getByRole('button', { name: /webhook\.ping/ }).click();
    await drawer.getByText('204').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('button', { name: 'Replay' }).click();
    await drawer.getByRole('button', { name: /webhook\.ping Replay/ }).waitFor();
    expect(endpoint.received.map(({ headers }) => headers['x-svc-replay'])).toEqual([undefined, 'true']);
    await drawer.getByRole('tab', { name: 'Settings' }).click();
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the webhook' }).click();
    await page.getByText('No webhooks yet').waitFor();
  });
});

describe('analytics', () => {
  it('show the metrics of the period in the address, over time, and export them', async () => {
    await open(`/analytics?period=7&metric=replied&line=${lineId}`);
    const received = page.getByRole('button', { name: /^Messages received/ });
    await received.getByText(/[1-9]/).waitFor();
    expect(await received.getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('heading', { name: 'Messages received by day' }).waitFor();
    const table = page.getByRole('table', { name: 'Metrics of each interval' });
    expect(await table.getAttribute('aria-rowcount')).toBe('8');
    await page.locator('canvas').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Period').selectOption('1');
    await page.getByRole('heading', { name: 'Messages received by hour' }).waitFor();
    expect(page.url()).toContain('period=1');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    expect((await saving).suggestedFilename()).toMatch(/^analytics-.*\.csv$/);
  });
});

describe('the settings', () => {
  it('show a new API key once, and revoke it', async () => {
    await open('/settings?tab=keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('CRM sync');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'The key CRM sync' });
    const key = await dialog.getByLabel('API key').inputValue();
    expect(await inaccessible(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const client = apiClient(app.url, key);
    expect((await client('GET', '/api/workspace')).status).toBe(200);
    await page.getByRole('button', { name: 'Revoke CRM sync' }).click();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText(/^Revoked/).waitFor();
    expect((await client('GET', '/api/workspace')).status).toBe(401);
    expect(await inaccessible(page)).toEqual([]);
  });

  it('invite somebody to the team', async () => {
    await page.getByRole('tab', { name: 'Team' }).click();
    await page.getByLabel('Email address').fill('noor@example.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('button', { name: 'Revoke the invitation of noor@example.test' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('change what the copilot knows, with an undo', async () => {
    await page.getByRole('tab', { name: 'AI copilot' }).click();
    await page.getByRole('button', { name: 'Add a document' }).click();
    await page.getByLabel('Title of document 1').fill('Pets');
    await page.getByLabel('Text of document 1').fill('Dogs are welcome.');
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    const titles = async () =>
      (await api('GET', '/api/knowledge-base')).body.documents.map(({ title }: { title: string }) => title);
    await eventually(async () => (await titles())[0] === 'Pets');
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await titles()).length === 0);
  });

  it('configure the SMS fallback and the emails', async () => {
    await page.getByRole('tab', { name: 'SMS fallback' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is required for twilio').waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Provider').selectOption('simulated');
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually(
      async () => (await api('GET', '/api/workspace/fallback-config')).body.config?.provider === 'simulated',
    );
    await page.getByRole('tab', { name: 'Emails' }).click();
    await page.getByRole('checkbox', { name: /Campaigns/ }).uncheck();
    await eventually(
      async () => !(await api('GET', '/api/email-preferences')).body.preferences.campaign.enabled,
    );
    expect(await inaccessible(page)).toEqual([]);
  });

  it('show who changed what', async () => {
    await page.getByRole('tab', { name: 'Audit log' }).click();
    await page.getByLabel('Action').selectOption('key.created');
    await page.getByRole('row', { name: /Created an API key/ }).press('Enter');
    await page.getByRole('dialog', { name: 'Created an API key' }).getByText('CRM sync').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'All changes to this API key' }).click();
    await page.getByRole('row', { name: /Revoked an API key/ }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });
});

describe('the contacts', () => {
  it('are imported from a file, with progress', async () => {
    await open('/contacts');
    await page.getByRole('button', { name: 'New list' }).first().click();
    await page.getByLabel('Name').fill('Spring viewings');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Actions for the list Spring viewings' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search leads' }).fill('Nobody');
    await page.getByText('No leads found').waitFor();
    await page.getByRole('button', { name: 'Import' }).click();
    const buffer = Buffer.from('Who,Phone,Flat,Secret\nAda,+14155550161,12b,s3cr3t\nBob,,3,\n');
    await page.getByLabel('CSV file').setInputFiles({ name: 'leads.csv', mimeType: 'text/csv', buffer });
    await page.getByLabel('Column Who').selectOption('First name');
    await page.getByLabel('Column Secret').selectOption('Leave out');
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await page.getByText('1 saved · 0 duplicates · 1 rejected').waitFor();
    await page.getByRole('button', { name: 'Rejected rows' }).waitFor();
    await page.getByRole('row', { name: /Ada/ }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('are found by a search, changed, undone and erased', async () => {
    await page.getByRole('searchbox', { name: 'Search leads' }).fill('0161');
    await page.getByRole('row', { name: /Ada/ }).press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Ada' });
    await drawer.getByText('12b').waitFor();
    expect(await drawer.getByText('s3cr3t').count()).toBe(0);
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('tab', { name: 'Edit' }).click();
    await drawer.getByLabel('Company').fill('Engines Ltd');
    await drawer.getByRole('button', { name: 'Save' }).click();
    const company = async () => (await api('GET', '/api/leads?search=0161')).body.leads[0]?.companyName;
    await eventually(async () => (await company()) === 'Engines Ltd');
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await company()) === '');
    await drawer.getByRole('button', { name: 'Erase' }).click();
    await page.getByRole('button', { name: 'Erase the contact' }).click();
    await page.getByText('No leads found').waitFor();
    await eventually(async () => (await company()) === undefined);
  });

  it('are opted out and in again', async () => {
    await page.getByRole('button', { name: 'Opt-outs' }).click();
    await page.getByRole('button', { name: 'Opt an address out' }).click();
    await page.getByLabel('Phone number or email address').fill('+14155550162');
    await page.getByRole('button', { name: 'Opt out', exact: true }).click();
    await page.getByRole('row', { name: /415 555 0162/ }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Opt in +1 415 555 0162 again' }).click();
    await page.getByText('No opt-outs').waitFor();
  });
});

describe('the campaigns', () => {
  it('are written as a draft, previewed for a lead, started and paused', async () => {
    await api('POST', '/api/leads', { leads: [{ firstName: 'Grace', phone: '+14155550163' }] });
    await open('/campaigns');
    await page.getByRole('button', { name: 'New campaign' }).first().click();
    await page.getByLabel('Name').fill('Spring viewings');
    await page.getByLabel('List').selectOption({ label: 'Quick Sends' });
    await page.getByLabel('Days', { exact: true }).first().fill('1');
    await page.getByLabel('Files to attach').setInputFiles({
      name: 'plan.png',
      mimeType: 'image/png',
      buffer: Buffer.from(PIXEL, 'base64'),
    });
    await page.getByRole('button', { name: 'Remove plan.png' }).waitFor();
    await page.getByRole('checkbox', { name: /Dana Lee/ }).check();
    await page.getByRole('button', { name: 'Monday' }).click();
    await page.getByLabel('Time zone').selectOption('Europe/Paris');
    await page.getByRole('textbox', { name: 'Message' }).fill('Hi {{ firstName');
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create draft' }).click();
    await page.getByRole('textbox', { name: 'Message' }).and(page.locator('[aria-invalid=true]')).waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    await page.getByRole('textbox', { name: 'Message' }).fill('Hi {{ firstName }}');
    await page.getByRole('button', { name: 'Create draft' }).click();
    const drawer = page.getByRole('dialog', { name: 'Spring viewings' });
    await drawer.getByText('No lead has entered yet.').waitFor();
    expect((await api('GET', '/api/campaigns')).body.campaigns).toMatchObject([
      {
        eligibleLineIds: [lineId],
        allowedDaysOfWeek: [1],
        timezone: 'Europe/Paris',
        steps: [{ attachmentUrls: [expect.stringContaining('plan.png')] }],
      },
    ]);
    await drawer.getByRole('tab', { name: 'Preview' }).click();
    await drawer.getByRole('button', { name: /Grace/ }).click();
    await drawer.getByText('Hi Grace').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('button', { name: 'Start the campaign' }).click();
    await drawer.getByRole('button', { name: 'Pause' }).click();
    await drawer.getByRole('tab', { name: 'Overview' }).click();
    await drawer.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });
});

test("times are shown in the workspace's time zone", async () => {
  await open('/');
  const day = new Intl.DateTimeFormat('en-US', { timeZone: 'Asia/Tokyo', weekday: 'long' }).format(
    new Date(),
  );
  await page.getByText(day).first().waitFor();
});

test('somebody of an agency switches to a client, sees nothing of the other one, and transfers a line between them', async () => {
  const agency = await createAgency(app);
  const [own, client] = await Promise.all(
    ['Agency Office', 'Client Cafe'].map((name) => createWorkspace(app, { name, agency_id: agency.id })),
  );
  if (!own || !client) throw new Error('no workspaces');
  await createLine(app, client.id, 'imessage', { first_name: 'Cleo', last_name: 'Cafe' });
  const token = await signIn(app, { userId: agency.ownerId, organizationId: own.id, role: 'org:admin' });
  await useCredential(token);
  await open('/lines');
  await page.getByText('No lines yet').waitFor();
  await page.getByRole('button', { name: /Workspace: Agency Office/ }).click();
  await page.getByRole('menuitem', { name: 'Client Cafe' }).click();
  await page.getByText('Cleo Cafe').waitFor();
  expect(await inaccessible(page)).toEqual([]);

  // What was done in one workspace cannot be undone in another.
  await open('/settings?tab=emails');
  await page.getByRole('checkbox', { name: /Campaigns/ }).uncheck();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('button', { name: /Workspace: Client Cafe/ }).click();
  await page.getByRole('menuitem', { name: 'Agency Office' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached', timeout: 3000 });

  await page.getByRole('link', { name: 'Agency' }).click();
  const clients = page.getByRole('table', { name: 'Clients' });
  await clients.getByRole('row', { name: /Agency Office/ }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('tab', { name: 'Lines' }).click();
  await page.getByRole('row', { name: /Cleo Cafe/ }).press('Enter');
  await page.getByLabel('To the client').selectOption('Agency Office');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Transfer' }).click();
  await page.getByRole('row', { name: /Cleo Cafe.*Agency Office/ }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('row', { name: /Cleo Cafe.*Client Cafe/ }).waitFor();
});

test('the owner of an agency creates a client, puts it on a plan, and manages co-admins, keys and the card', async () => {
  await open('/agency');
  await page.getByRole('button', { name: 'New client' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Night Bakery');
  await page.getByLabel('Time zone').selectOption('Europe/Paris');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const created = page.getByRole('dialog', { name: 'Night Bakery was created' });
  const client = apiClient(app.url, await created.getByLabel('First API key').inputValue());
  expect((await client('GET', '/api/workspace')).body.workspace).toMatchObject({
    name: 'Night Bakery',
    timezone: 'Europe/Paris',
    subscriptionStatus: 'none',
  });
  await created.getByRole('button', { name: 'Done' }).click();

  await page.getByRole('tab', { name: 'Billing' }).click();
  await page.getByRole('button', { name: 'Plan of Night Bakery' }).click();
  await page.getByLabel('Growth').check();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Subscribe' }).click();
  await page.getByText('Night Bakery is on the plan Growth').waitFor();
  expect((await client('GET', '/api/workspace')).body.workspace.subscriptionStatus).toBe('active');

  await page.getByRole('tab', { name: 'Co-admins' }).click();
  await page.getByLabel('Email address').fill('kim@example.test');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('button', { name: 'Revoke the invitation of kim@example.test' }).click();
  await page.getByText('No open invitations').waitFor();

  await page.getByRole('tab', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill('Reports');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const key = await page.getByLabel('API key', { exact: true }).inputValue();
  expect((await apiClient(app.url, key)('GET', '/api/agency/overview')).status).toBe(200);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('tab', { name: 'Audit log' }).click();
  await page.getByRole('row', { name: /Created an API key/ }).waitFor();
  expect(await inaccessible(page)).toEqual([]);

  await page.getByRole('tab', { name: 'Billing' }).click();
  await page.getByRole('button', { name: 'Save or change the card' }).click();
  await page.getByRole('button', { name: 'Save a card' }).click();
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('heading', { name: 'Payment' }).waitFor();
});
