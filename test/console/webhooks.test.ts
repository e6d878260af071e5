import { expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { WORKSPACE_LIMITS } from '#domain/accounts/limits.ts';
import { eventually } from '#test/support/app.ts';
import { type Received, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace, insertRow } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

test('webhooks are added with a secret that is shown once, tested, and deliver again on request', async () => {
  const { page, app } = tab;
  const [endpoint, { key, api }] = await Promise.all([startTestEndpoint(), createWorkspace(app)]);
  await tab.signIn(key, '/webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await page.getByRole('button', { name: 'Add a webhook' }).first().click();
  const form = page.getByRole('dialog', { name: 'Add a webhook' });
  await form.getByLabel('URL').fill(endpoint.url);
  await form.getByLabel('Name (optional)').fill('Our CRM');
  await form.getByLabel('If a delivery fails').selectOption('standard');
  await form.getByText('Only some of the events').click();
  await form.getByLabel('Only about contacts with a tag').fill('vip, buyer');
  expect(await inaccessible(page)).toEqual([]);
  await form.getByRole('button', { name: 'Add' }).click();
  expect(await page.getByLabel('Signing secret').inputValue()).toMatch(/^whsec_/);
  await page.getByRole('button', { name: 'Done' }).click();
  const filters = { retries: 'standard', tags: ['vip', 'buyer'], lineIds: [], campaignIds: [] };
  expect((await api('GET', '/api/webhooks')).body.webhooks).toMatchObject([filters]);
  await page.getByRole('row', { name: /Our CRM/ }).press('Enter');
  const drawer = page.getByRole('dialog', { name: 'Our CRM' });
  await drawer.getByRole('button', { name: 'Send a test event' }).click();
  await drawer.getByRole('button', { name: /webhook\.ping/ }).click();
  await drawer.getByText('204').first().waitFor();
  const { body } = endpoint.received[0] as Received;
  const request = drawer.getByRole('region', { name: 'Request' });
  expect(JSON.parse((await request.locator('pre').textContent()) ?? '')).toEqual(JSON.parse(body));
  await drawer.getByText('The bodies of successful responses are not kept.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Replay' }).click();
  await drawer.getByRole('button', { name: /webhook\.ping Replay/ }).waitFor();
  expect(endpoint.received.map(({ headers }) => headers['x-svc-replay'])).toEqual([undefined, 'true']);
  await drawer.getByRole('tab', { name: 'Settings' }).click();
  await drawer.getByLabel('If a delivery fails').selectOption('none');
  await drawer.getByRole('tab', { name: 'Deliveries' }).click();
  await drawer.getByRole('tab', { name: 'Settings' }).click();
  await drawer.getByText('What you wrote before is here again').waitFor();
  await drawer.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The webhook was changed').waitFor();
  const changed = { ...filters, retries: 'none' };
  expect((await api('GET', '/api/webhooks')).body.webhooks).toMatchObject([changed]);
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the webhook' }).click();
  await page.getByText('No webhooks yet').waitFor();
});

test('what has failed is sent again at once', async () => {
  const { page, app } = tab;
  const [endpoint, { key, api }] = await Promise.all([startTestEndpoint(), createWorkspace(app)]);
  const made = await api('POST', '/api/webhooks', {
    url: endpoint.url,
    name: 'Our CRM',
    events: ['lead.created'],
  });
  const id = made.body.webhook._id;
  endpoint.behave(503);
  for (const phones of [['+14155550171'], ['+14155550172']])
    await api('POST', '/api/leads', { leads: [{ phones }] });
  const deliveries = async (): Promise<{ success: boolean | null; isReplayOf?: string }[]> =>
    (await api('GET', `/api/webhooks/${id}/deliveries`)).body.deliveries;
  await eventually(async () => (await deliveries()).filter(({ success }) => success === false).length === 2);
  endpoint.behave(204);
  await tab.signIn(key, `/webhooks?webhook=${id}`);
  const drawer = page.getByRole('dialog', { name: 'Our CRM' });
  await drawer
    .getByRole('button', { name: /^Failed 503/ })
    .first()
    .waitFor();
  await drawer.getByRole('button', { name: 'Replay all failed' }).click();
  const question = page.getByRole('dialog', { name: 'Send again what has failed?' });
  await question.getByLabel('Failed in the').selectOption('Last hour');
  expect(await inaccessible(page)).toEqual([]);
  await question.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('2 events are sent again').waitFor();
  await eventually(
    async () =>
      (await deliveries()).filter((one) => one.success === true && one.isReplayOf !== undefined).length === 2,
  );
});

test('a limit that is near is shown where it will be reached', async () => {
  const { page, app } = tab;
  const { id, key } = await createWorkspace(app);
  const { max } = WORKSPACE_LIMITS.webhooks;
  const columns = { workspace_id: id, name: '', url: 'https://hooks.example/', secret_sealed: 'sealed' };
  for (let count = 0; count < max * 0.9; count += 1)
    await insertRow(app, 'webhooks', { ...columns, id: newId(), events: ['message.sent'] });
  await tab.signIn(key, '/webhooks');
  await page.getByText(`45 of at most ${max} webhooks.`).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.goto(page.url().replace('/webhooks', '/campaigns'));
  await page.getByRole('heading', { name: 'Campaigns' }).waitFor();
  expect(await page.getByText('at most').count()).toBe(0);
});
