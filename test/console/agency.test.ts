import { expect, test } from 'vitest';
import { apiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createAgency, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

/** Opens a page as the owner of an agency with two workspaces, in the first of them. */
async function openAsAgencyOwner(path: string) {
  const agency = await createAgency(tab.app);
  const [own, client] = await Promise.all(
    ['Agency Office', 'Client Cafe'].map((name) => createWorkspace(tab.app, { name, agency_id: agency.id })),
  );
  if (!own || !client) throw new Error('no workspaces');
  await createLine(tab.app, client.id, 'imessage', { first_name: 'Cleo', last_name: 'Cafe' });
  await tab.signIn(
    await signIn(tab.app, { userId: agency.ownerId, organizationId: own.id, role: 'org:admin' }),
    path,
  );
}

test('somebody of an agency switches to a client, sees nothing of the other one, and transfers a line between them', async () => {
  const { page } = tab;
  await openAsAgencyOwner('/lines');
  await page.getByText('No lines yet').waitFor();
  await page.getByRole('button', { name: /Workspace: Agency Office/ }).click();
  await page.getByRole('menuitem', { name: 'Client Cafe' }).click();
  await page.getByText('Cleo Cafe').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('link', { name: 'Back to the agency' }).click();
  await page.getByRole('heading', { name: 'Agency' }).waitFor();

  // What was done in one workspace cannot be undone in another.
  await tab.go('/settings?tab=emails');
  await page.getByRole('checkbox', { name: /Campaigns/ }).uncheck();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('button', { name: /Workspace: Client Cafe/ }).click();
  await page.getByRole('menuitem', { name: 'Agency Office' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  expect(await page.getByRole('link', { name: 'Back to the agency' }).count()).toBe(0);
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
  const { page, app } = tab;
  await openAsAgencyOwner('/agency');
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
  await page.getByRole('button', { name: 'Choose the plan of Night Bakery' }).click();
  // The price is named before anything is charged.
  await page.getByText('· $99.00 a month').waitFor();
  await page.getByLabel('Growth').check();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Subscribe for $299.00 a month' }).click();
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
  await page.getByRole('row', { name: /Created the workspace.*Night Bakery/ }).press('Enter');
  const entry = page.getByRole('dialog', { name: 'Created the workspace' });
  await entry.getByText('Workspace: Night Bakery').waitFor();
  await page.keyboard.press('Escape');
  await entry.waitFor({ state: 'detached' });
  expect(await inaccessible(page)).toEqual([]);

  await page.getByRole('tab', { name: 'Billing' }).click();
  await page.getByRole('button', { name: 'Save or change the card' }).click();
  await page.getByRole('button', { name: 'Save a card' }).click();
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('heading', { name: 'Payment' }).waitFor();
});

test('an agency adds a webhook to all clients, deletes one, and turns all emails off', async () => {
  const { page } = tab;
  const endpoint = await startTestEndpoint();
  await openAsAgencyOwner('/agency');
  await page.getByRole('tab', { name: 'Webhooks' }).click();
  await page.getByText('No client has a webhook').waitFor();
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  const form = page.getByRole('dialog', { name: 'Add a webhook' });
  await form.getByLabel('URL').fill(endpoint.url);
  await form.getByLabel('Name (optional)').fill('All replies');
  expect(await inaccessible(page)).toEqual([]);
  await form.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('dialog', { name: 'The webhook was added' }).waitFor();
  const secrets = page.getByRole('dialog', { name: 'The webhook was added' }).getByLabel('Signing secret');
  expect(
    new Set(await secrets.evaluateAll((all) => all.map((e) => (e as { value?: string }).value))).size,
  ).toBe(2);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: /All replies.*Client Cafe/ }).press('Enter');
  const drawer = page.getByRole('dialog', { name: 'All replies' });
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the webhook' }).click();
  await page.getByText('Without a webhook: Client Cafe').waitFor();

  await page.getByRole('tab', { name: 'Emails' }).click();
  await page.getByRole('button', { name: 'Turn all off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Turn all off' }).click();
  const emails = page.getByRole('table', { name: 'Emails of all clients' });
  await emails.getByRole('row', { name: /Client Cafe.*None/ }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await emails.getByRole('row', { name: /Client Cafe/ }).press('Enter');
  await page.getByRole('button', { name: /Workspace: Client Cafe/ }).waitFor();
  expect(await page.getByRole('checkbox', { name: /Campaigns/ }).isChecked()).toBe(false);
});

test('the owner of an agency sees which client needs attention, finds it, and suppresses addresses for all', async () => {
  const { page, app } = tab;
  const agency = await createAgency(app);
  const names = ['Alpha Office', 'Café Zürich', 'Beta Dental'];
  const workspaces = await Promise.all(
    names.map((name) => createWorkspace(app, { name, agency_id: agency.id })),
  );
  const [office, cafe] = workspaces;
  if (!office || !cafe) throw new Error('no workspaces');
  const lineId = await createLine(app, cafe.id, 'imessage', { first_name: 'Cleo' });
  await apiClient(app.url, cafe.key)('POST', `/api/lines/${lineId}/pause`, {});
  const owner = { userId: agency.ownerId, organizationId: office.id, role: 'org:admin' };
  await tab.signIn(await signIn(app, owner), '/agency');
  const clients = page.getByRole('table', { name: 'Clients' });
  await clients.getByRole('row', { name: /Café Zürich.*1 line does not send/ }).waitFor();
  await expect
    .poll(async () => (await clients.getByRole('row').nth(1).textContent()) ?? '')
    .toContain('Café Zürich');
  await page.getByLabel('Order').selectOption('By name');
  await expect
    .poll(async () => (await clients.getByRole('row').nth(1).textContent()) ?? '')
    .toContain('Alpha Office');
  await page.getByLabel('Search clients').fill('cafe zur');
  await clients.getByRole('row', { name: /Alpha Office/ }).waitFor({ state: 'detached' });
  await clients.getByRole('row', { name: /Café Zürich/ }).waitFor();
  expect(await inaccessible(page)).toEqual([]);

  await page.getByRole('tab', { name: 'Suppressions' }).click();
  await page.getByText('Nothing is suppressed').waitFor();
  await page.getByRole('button', { name: 'Suppress', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Suppress for all clients' });
  await dialog.getByLabel('Addresses and domains').fill('+14155550188\nrival.example');
  await dialog.getByLabel('Reason').fill('A competitor, "sued"');
  expect(await inaccessible(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Suppress', exact: true }).click();
  await page.getByText('Suppressed: 2').waitFor();
  const row = page.getByRole('row', { name: /@rival\.example.*A competitor, "sued"/ });
  await row.waitFor();
  await page.getByRole('button', { name: 'Remove @rival.example' }).click();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await row.waitFor();
});

test('only the owner of the agency of a workspace is led to its plans', async () => {
  const { page, app } = tab;
  const [agency, foreign] = [await createAgency(app), await createAgency(app)];
  const ended = { subscription_status: 'canceled' };
  const [own, other] = [
    await createWorkspace(app, { agency_id: agency.id, ...ended }),
    await createWorkspace(app, { agency_id: foreign.id, ...ended }),
  ];
  await createLine(app, other.id, 'imessage');
  const member = { workspace_id: other.id, user_id: agency.ownerId, role: 'org:admin' };
  await insertRow(app, 'workspace_members', member);
  const open = async (organizationId: string): Promise<void> =>
    tab.signIn(await signIn(app, { userId: agency.ownerId, organizationId, role: 'org:admin' }));
  await open(own.id);
  await page.getByRole('status').getByRole('link', { name: 'Choose a plan' }).click();
  await page.getByRole('list', { name: 'Plans' }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  const clients = page.waitForResponse((response) => response.url().endsWith('/api/agency/subaccounts'));
  await open(other.id);
  await (await clients).finished();
  const matter = page.getByRole('link', { name: /The subscription has ended/ });
  await matter.waitFor();
  expect(await page.getByRole('link', { name: 'Choose a plan' }).count()).toBe(0);
  expect(await matter.getAttribute('href')).toBe('/console/messages');
});

test('the owner of an agency with many clients finds the one that owes, and where it is paid', async () => {
  const { page, app } = tab;
  const agency = await createAgency(app);
  const [owing, other] = await Promise.all(
    Array.from({ length: 9 }, (_, index) =>
      createWorkspace(app, {
        name: index === 0 ? 'Zürich Fitness' : `Client ${index}`,
        agency_id: agency.id,
        ...(index === 0 && { subscription_status: 'past_due' }),
      }),
    ),
  );
  if (!owing || !other) throw new Error('no workspaces');
  for (const first of ['Ana', 'Bo', 'Cy', 'Di', 'Eve', 'Flo'])
    await createLine(app, owing.id, 'imessage', { first_name: first, paused_at: new Date() });
  await registerWebhook(other.api, (await startTestEndpoint()).url);
  const owner = { userId: agency.ownerId, organizationId: owing.id, role: 'org:admin' };
  await tab.signIn(await signIn(app, owner));
  await page.getByRole('listitem').filter({ hasText: 'Ana' }).getByText('Past due').waitFor();
  // Many lines of one kind of trouble are one matter.
  await page.getByRole('link', { name: /6 lines need attention/ }).waitFor();
  const href = await page.getByRole('link', { name: /The subscription is past due/ }).getAttribute('href');
  expect(href).toBe('/console/agency?tab=billing');
  await page.getByRole('link', { name: 'Change the card' }).click();
  await page.getByRole('button', { name: 'Save or change the card' }).waitFor();
  const plans = page.getByRole('list', { name: 'Plans' }).getByRole('listitem');
  await expect.poll(() => plans.first().textContent()).toContain('Zürich Fitness');
  await page.getByLabel('Search clients').fill('zur');
  await expect.poll(() => plans.count()).toBe(1);
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('tab', { name: 'Lines' }).click();
  await page.getByRole('row', { name: /Flo.*Zürich Fitness.*Past due/ }).waitFor();
  await page.getByRole('tab', { name: 'Webhooks' }).click();
  await page.getByText('8 clients are without a webhook').click();
  await page.getByText('Client 2, Client 3').waitFor();
  expect(await inaccessible(page)).toEqual([]);
});
