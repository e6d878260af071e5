import { beforeAll, describe, expect, it, test } from 'vitest';
import { newId, newUserId } from '#domain/base/ids.ts';
import { eventually } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { signIn } from '#test/support/sessions.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await createWorkspace(tab.app);
  await tab.signInAsOwner(workspace, '/settings?tab=keys');
});

describe('the settings', () => {
  it('show a new API key once, roll it, and revoke its successor', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('CRM sync');
    await page.getByLabel('Change lines').uncheck();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'The key CRM sync' });
    const key = await dialog.getByLabel('API key').inputValue();
    expect(await inaccessible(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    let client = apiClient(tab.app.url, key);
    expect((await client('GET', '/api/workspace')).status).toBe(200);
    await page.getByRole('button', { name: 'Roll CRM sync' }).click();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('The old key ends').selectOption('At once');
    await page.getByRole('button', { name: 'Roll the key' }).click();
    const successor = await dialog.getByLabel('API key').inputValue();
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect((await client('GET', '/api/workspace')).status).toBe(401);
    client = apiClient(tab.app.url, successor);
    expect((await client('GET', '/api/workspace')).status).toBe(200);
    expect((await client('POST', '/api/webhooks', {})).body.code).toBe('INSUFFICIENT_SCOPE');
    await page.getByRole('button', { name: 'Revoke CRM sync' }).click();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText(/^Revoked/).waitFor();
    expect((await client('GET', '/api/workspace')).status).toBe(401);
    expect(await inaccessible(page)).toEqual([]);
  });

  it('rename the workspace, and move it to another time zone', async () => {
    const { page } = tab;
    await page.getByRole('tab', { name: 'Team' }).click();
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('Harbour Homes');
    await page.getByRole('tab', { name: 'AI copilot' }).click();
    await page.getByLabel('Tokens per day').fill('1234');
    // Another tab does not lose what is not saved, nor does a reload.
    await page.getByRole('tab', { name: 'Team' }).click();
    expect(await name.inputValue()).toBe('Harbour Homes');
    await page.getByRole('tab', { name: 'AI copilot' }).click();
    await page.reload();
    await page.getByText('What you wrote before is here again').waitFor();
    expect(await page.getByLabel('Tokens per day').inputValue()).toBe('1234');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    expect(await page.getByLabel('Tokens per day').inputValue()).not.toBe('1234');
    await page.getByRole('tab', { name: 'Team' }).click();
    await page.getByText('What you wrote before is here again').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
    await page.getByRole('button', { name: 'Save the workspace' }).click();
    await page.getByText('The workspace was saved').waitFor();
    await page.getByRole('button', { name: 'Save the workspace', disabled: true }).waitFor();
    expect((await workspace.api('GET', '/api/workspace')).body.workspace).toMatchObject({
      name: 'Harbour Homes',
      timezone: 'Asia/Tokyo',
    });
    expect(await inaccessible(page)).toEqual([]);
  });

  it('invite somebody to the team', async () => {
    const { page } = tab;
    await page.getByRole('tab', { name: 'Team' }).click();
    await page.getByLabel('Email address').fill('noor@example.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('button', { name: 'Revoke the invitation of noor@example.test' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('change the role of a member, and remove them', async () => {
    const { page } = tab;
    const userId = newUserId();
    await insertRow(tab.app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Lena' });
    const member = { workspace_id: workspace.id, user_id: userId, role: 'org:member' };
    await insertRow(tab.app, 'workspace_members', member);
    const roleOfLena = async () =>
      (await workspace.api('GET', '/api/team')).body.members.find(
        ({ name }: { name: string }) => name === 'Lena',
      )?.role;
    await page.reload();
    await page.getByLabel('Role of Lena').selectOption('Admin');
    await eventually(async () => (await roleOfLena()) === 'org:admin');
    await page.getByRole('button', { name: 'Remove Lena' }).click();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove the member' }).click();
    await eventually(async () => (await roleOfLena()) === undefined);
  });

  it('show connected CRMs with what was refused and why, connect one, and disconnect it', async () => {
    const { page } = tab;
    const id = newId();
    const workspaceId = workspace.id;
    await insertRow(tab.app, 'crm_connections', {
      workspace_id: workspaceId,
      id,
      provider: 'hubspot',
      account_id: '12345678',
      token_sealed: 'sealed',
      status: 'broken',
      error: 'HubSpot refuses the token: EXPIRED_AUTHENTICATION',
      read_until: new Date(0).toISOString(),
    });
    const entry = { workspace_id: workspaceId, connection_id: id, contact_id: '512' };
    for (const given of [
      { direction: 'in', subject: 'contact', outcome: 'refused', reason: 'no_address' },
      { direction: 'in', subject: 'contact', outcome: 'conflict', reason: 'companyName_kept_crm' },
      { direction: 'out', subject: 'reply', outcome: 'synced' },
    ])
      await insertRow(tab.app, 'crm_log', { ...entry, id: newId(), ...given });
    await page.getByRole('tab', { name: 'CRMs' }).click();
    await page.getByText('HubSpot refuses the token: EXPIRED_AUTHENTICATION').waitFor();
    const log = page.getByRole('list', { name: 'Log of HubSpot' }).getByRole('listitem');
    await log.nth(2).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Show').selectOption('Refused');
    await eventually(async () => (await log.count()) === 1);
    await log.getByText('From HubSpot · Contact · no_address').waitFor();
    await page.getByRole('button', { name: 'Connect a CRM' }).click();
    const form = page.getByRole('dialog', { name: 'Connect a CRM' });
    await form.getByLabel('CRM').selectOption('HighLevel');
    await form.getByLabel('Token').fill('pit-11111111-2222-3333-4444-555555555555');
    expect(await inaccessible(page)).toEqual([]);
    await form.getByRole('button', { name: 'Connect' }).click();
    await form.getByText('needs the id of the location').waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Disconnect the CRM' }).click();
    await page.getByText('No CRM is connected yet').waitFor();
    expect((await workspace.api('GET', '/api/crm-connections')).body.crmConnections).toEqual([]);
  });

  it('change what the copilot knows, with an undo', async () => {
    const { page } = tab;
    await page.getByRole('tab', { name: 'AI copilot' }).click();
    await page.getByRole('button', { name: 'Add a document' }).click();
    await page.getByLabel('Title of document 1').fill('Pets');
    await page.getByLabel('Text of document 1').fill('Dogs are welcome.');
    // Another page does not lose what is not saved.
    await page.getByRole('tab', { name: 'Team' }).click();
    await page.getByRole('tab', { name: 'AI copilot' }).click();
    expect(await page.getByLabel('Text of document 1').inputValue()).toBe('Dogs are welcome.');
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const titles = async () =>
      (await workspace.api('GET', '/api/knowledge-base')).body.documents.map(
        ({ title }: { title: string }) => title,
      );
    await eventually(async () => (await titles())[0] === 'Pets');
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await titles()).length === 0);
  });

  it('let the copilot answer by itself, within limits that are written beside it', async () => {
    const { page } = tab;
    await page.getByRole('tab', { name: 'AI copilot' }).click();
    expect(await page.getByLabel('Answers a day').count()).toBe(0);
    const contact = phone();
    await writeIn(tab.app, {
      lineId: await createLine(tab.app, workspace.id),
      from: contact,
      text: 'How much is it?',
    });
    await workspace.api('POST', '/api/inbox/send-reply', { phone: contact, message: 'It is free' });
    await eventually(async () => (await sentTo(tab.app, contact)).length === 1);
    await page
      .getByLabel('Copilot', { exact: true })
      .selectOption({ label: 'Answer by itself, within limits' });
    await page.getByLabel('Sure by at least, in percent').fill('90');
    await page.getByLabel('Answers a day').fill('20');
    await page.getByLabel('Answers in a conversation').fill('3');
    await page.getByRole('checkbox', { name: /Objections/ }).uncheck();
    await page.getByLabel('What contacts are told').fill('I am a program.');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    expect(await save.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Try it on past conversations' }).click();
    await page.getByText('it would have answered none.').waitFor();
    const [tried] = await page.getByRole('list', { name: 'Conversations that were tried' }).allInnerTexts();
    expect(tried).toMatch(/Prices and money[^]*How much is it\?[^]*It is free/u);
    expect(await inaccessible(page)).toEqual([]);
    await save.click();
    await page.getByText('The copilot’s settings were saved').waitFor();
    const { body } = await workspace.api('GET', '/api/knowledge-base');
    expect(body).toMatchObject({
      mode: 'autopilot',
      autopilot: {
        minConfidence: 0.9,
        maxPerDay: 20,
        maxPerConversation: 3,
        handOver: ['legal', 'opt_out_doubt', 'asks_for_person', 'price', 'wrong_person', 'negative'],
      },
      disclosure: 'I am a program.',
    });
  });

  it('configure the SMS fallback and the emails', async () => {
    const { page } = tab;
    await page.getByRole('tab', { name: 'SMS fallback' }).click();
    expect(await page.getByLabel('State').inputValue()).toBe('false');
    await page.getByLabel('State').selectOption('On');
    await page.getByRole('tab', { name: 'Emails' }).click();
    await page.getByRole('tab', { name: 'SMS fallback' }).click();
    await page.getByText('What you wrote before is here again').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is required for twilio').waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Provider').selectOption('simulated');
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually(
      async () =>
        (await workspace.api('GET', '/api/workspace/fallback-config')).body.config?.provider === 'simulated',
    );
    await page.getByRole('tab', { name: 'Emails' }).click();
    await page.getByRole('checkbox', { name: /Campaigns/ }).uncheck();
    await eventually(
      async () => !(await workspace.api('GET', '/api/email-preferences')).body.preferences.campaign.enabled,
    );
    expect(await inaccessible(page)).toEqual([]);
  });

  it('show who changed what', async () => {
    const { page } = tab;
    await page.getByRole('tab', { name: 'Audit log' }).click();
    await page.getByLabel('Action').selectOption('key.created');
    await page
      .getByRole('row', { name: /Created an API key/ })
      .first()
      .press('Enter');
    await page.getByRole('dialog', { name: 'Created an API key' }).getByText('CRM sync').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'All changes to this API key' }).click();
    await page.getByRole('row', { name: /Revoked an API key/ }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });
});

test('an admin who becomes a member keeps no controls of an admin', async () => {
  const { page, app } = tab;
  const { id } = await createWorkspace(app);
  const userId = newUserId();
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Lena' });
  await insertRow(app, 'workspace_members', { workspace_id: id, user_id: userId, role: 'org:admin' });
  const admin = { userId, organizationId: id, role: 'org:admin' };
  await tab.signIn(await signIn(app, admin), '/settings?tab=team');
  await page.getByLabel('Role of Lena').selectOption('Member');
  await page.getByText('Lena has another role now').waitFor();
  await page.getByLabel('Role of Lena').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Invite' }).waitFor({ state: 'detached' });
});
