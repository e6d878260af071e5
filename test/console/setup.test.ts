import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually } from '#test/support/app.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';
import { docsPicture } from './docs-picture.ts';

const tab = openConsole();

let twilio: TwilioStandIn;
beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
});
afterAll(() => twilio.stop());

/** Takes pictures for docs/console.md: RENEW_PICTURES=1 npm run test:system -- test/console/setup.test.ts */
const picture = (name: string) => docsPicture(tab.page, name);

const step = (name: string) => tab.page.getByRole('button', { name: new RegExp(`^(\\d )?${name}`) });
const press = (name: string) => tab.page.getByRole('button', { name, exact: true }).click();

test('an empty workspace gets its line, its first message and its first reply in place', async ({
  annotate,
}) => {
  const { page, app } = tab;
  const workspace = await createWorkspace(app, { name: 'Night Bakery' });
  await tab.signInAsOwner(workspace);
  await page.getByText('0 of 6 done').waitFor();
  await picture('first-steps');
  const startedAt = performance.now();
  const reached = (what: string) =>
    annotate(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the empty workspace`);

  // By keyboard alone.
  await page.getByRole('radio', { name: /Simulated carrier/ }).focus();
  await page.keyboard.press('Space');
  await page.getByLabel('First name').press('N');
  await page.keyboard.type('ina');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Baker');
  expect(await inaccessible(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByText('1 of 6 done').waitFor();
  await reached('The line is active');

  await press('Continue');
  // The number of a recipient who answers by itself is suggested.
  await eventually(async () => (await page.getByLabel('Your phone number').inputValue()) === '+14155550005');
  await press('Send');
  await page.getByText('Delivered').waitFor();
  await reached('The message is delivered');
  expect(await inaccessible(page)).toEqual([]);

  await step('Receive the reply').click();
  await page
    .getByText(/Sounds good, tell me more/)
    .first()
    .waitFor();
  await page.getByText('3 of 6 done').waitFor();
  await reached('The reply is there');
  await picture('first-steps-reply');
  expect(await inaccessible(page)).toEqual([]);
});

test('a webhook, contacts and the team follow in place, and the steps can be hidden', async () => {
  const { page } = tab;
  const endpoint = await startTestEndpoint();
  await press('Continue');
  await page.getByLabel('URL').fill('http://10.0.0.1/');
  await press('Register');
  await page.getByText(/private or reserved/).waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await page.getByLabel('URL').fill(endpoint.url);
  await press('Register');
  expect(await page.getByLabel('Signing secret').inputValue()).toMatch(/^whsec_/);
  await press('Send a test event');
  await page.getByText(/It answered 20\d in \d+ ms/).waitFor();
  expect(await inaccessible(page)).toEqual([]);

  await page.getByText('4 of 6 done').waitFor();
  await press('Continue');
  await page.getByLabel('List').fill('Regulars');
  await press('Choose a file');
  const buffer = Buffer.from('First name,Phone\nOmar,+14155550123\n');
  await page.getByLabel('CSV file').setInputFiles({ name: 'regulars.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByText('1 saved · 0 duplicates · 0 rejected').waitFor();
  await page.getByText('5 of 6 done').waitFor();

  await press('Continue');
  await page.getByLabel('Email address').fill('lena@example.com');
  await press('Invite');
  await page.getByText('lena@example.com was invited').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await press('Hide');
  await page.getByText('First steps').waitFor({ state: 'detached' });
  await page.getByRole('region', { name: 'Today' }).waitFor();
});

test('a line of one’s own is connected step by step, and what fails is named where it is entered', async () => {
  const { page, app } = tab;
  const workspace = await createWorkspace(app);
  await tab.signInAsOwner(workspace);
  await page.getByRole('radio', { name: /Twilio/ }).check();
  await page.getByText(/copy the Account SID and the Auth Token/).waitFor();
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await field('Base URL (optional)').fill(twilio.url);
  await field('Phone number').fill('+1 415 555 0137');
  await field('Account SID').fill(TWILIO_ACCOUNT.sid);
  await field('Auth token').fill('mistyped');
  await field('Auth token').blur();
  // Without pressing anything.
  const checks = page.getByRole('list', { name: 'Checks' });
  await checks.getByText('Works: 127.0.0.1').waitFor();
  await page
    .getByText(/Twilio refuses the credentials/)
    .nth(1)
    .waitFor();
  expect(await field('Auth token').getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByRole('button', { name: 'Connect the line' }).isDisabled()).toBe(true);
  await checks.scrollIntoViewIfNeeded();
  await picture('first-steps-wizard');
  expect(await inaccessible(page)).toEqual([]);

  await field('Auth token').fill(TWILIO_ACCOUNT.authToken);
  await press('Test the settings');
  await page.getByText('The account has no number +14155550137.').first().waitFor();
  twilio.numbers.set('+14155550137', { smsUrl: '', sms: true });
  await press('Test the settings');
  await checks.getByText(/has the number/).waitFor();
  await field('First name').fill('Dana');
  await field('Last name').fill('Lee');
  await press('Connect the line');
  await page.getByText('The line is connected.').waitFor();
  await page.getByText(/A message comes in/).waitFor();

  const callbackUrl = await field('Callback URL').inputValue();
  await press('Test the connection');
  await page.getByText(/reports replies to no URL/).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  twilio.numbers.set('+14155550137', { smsUrl: callbackUrl, sms: true });
  await press('Test the connection');
  await page.getByText('Replies to the number are reported to this line.').waitFor();
  await page.getByText('1 of 6 done').waitFor();
  const tooWide = async () =>
    page.evaluate(
      "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 391).length",
    );
  await page.setViewportSize({ width: 390, height: 844 });
  // The plot takes a moment to follow.
  await eventually(async () => (await tooWide()) === 0);
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('what the checks of a connection find is named in Spanish, beside what the carrier says', async () => {
  const { page, app } = tab;
  const workspace = await createWorkspace(app);
  await page.evaluate("localStorage.setItem('linepace.locale', 'es')");
  await tab.signInAsOwner(workspace);
  await page.getByRole('radio', { name: /Twilio/ }).check();
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await field('URL base (opcional)').fill(twilio.url);
  await field('Número de teléfono').fill('+1 415 555 0138');
  await field('SID de la cuenta').fill(TWILIO_ACCOUNT.sid);
  await field('Token de autenticación').fill('mistyped');
  await field('Token de autenticación').blur();
  const checks = page.getByRole('list', { name: 'Comprobaciones' });
  await checks.getByText('Funciona: Servidor').waitFor();
  await checks.getByText(/Falla: Credenciales\. Revisa el campo «Token de autenticación»\./).waitFor();
  await checks
    .locator('[lang=en]')
    .getByText(/Twilio refuses the credentials/)
    .waitFor();
  await page.getByText('No funciona: Credenciales').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.evaluate("localStorage.removeItem('linepace.locale')");
});

test('the signing secret of a webhook that is the last step stays until the steps are hidden', async () => {
  const { page, app } = tab;
  const workspace = await createWorkspace(app);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.route('**/api/workspace/setup', async (route) => {
    const response = await route.fetch();
    const { success, setup } = (await response.json()) as {
      success: true;
      setup: { steps: { step: string; done: boolean }[]; dismissed: boolean };
    };
    // As if all others were done.
    const steps = setup.steps.map(({ step: name, done }) => ({
      step: name,
      done: done || name !== 'webhook',
    }));
    const complete = steps.every(({ done }) => done);
    await route.fulfill({ response, json: { success, setup: { ...setup, steps, complete } } });
  });
  const endpoint = await startTestEndpoint();
  await tab.signInAsOwner(workspace);
  await page.getByText('5 of 6 done').waitFor();
  await page.getByLabel('URL').fill(endpoint.url);
  await press('Register');
  await page.getByText('6 of 6 done').waitFor();
  expect(await page.getByLabel('Signing secret').inputValue()).toMatch(/^whsec_/);
  await press('Hide');
  await page.getByText('First steps').waitFor({ state: 'detached' });
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});
