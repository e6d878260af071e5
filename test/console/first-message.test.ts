import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, type OwnApp } from '#test/support/app.ts';
import { startProductionApp } from '#test/support/production.ts';
import { environment } from '#test/support/process.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { ops } from '#workers/ops.ts';
import { buildConsole, inaccessible, openTab, sharedBrowser, type Tab } from './browser.ts';

vi.setConfig({ testTimeout: 120_000 });

const [LINE, TO] = ['+14155550137', '+14155550123'];
/** A folder for a picture of each step: `FRAMES=/tmp/frames npm run test:system -- test/console/first-message.test.ts`. */
const FRAMES = process.env['FRAMES'];

let twilio: TwilioStandIn;
let app: OwnApp;
let tab: Tab;
let frames = 0;

beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  twilio.quiet = true;
  twilio.numbers.set(LINE, { smsUrl: '', sms: true });
  [app] = await Promise.all([startProductionApp({ TWILIO_API_URL: twilio.url }), buildConsole()]);
  tab = await openTab(await sharedBrowser());
});
afterAll(async () => {
  await tab.page.context().close();
  await app.stop();
  await twilio.stop();
});

/** The receipt arrives at the public URL, which leads here. */
async function reportDelivered(): Promise<void> {
  const [sent] = twilio.sent;
  if (!sent) throw new Error('nothing was sent');
  const { sid, from, to, statusCallback: callback } = sent;
  if (callback === null) throw new Error('no status callback was given');
  const fields = { MessageSid: sid, MessageStatus: 'delivered', From: from ?? '', To: to };
  const { pathname, search } = new URL(callback);
  const signed = twilio.sign(callback, { ...fields, AccountSid: TWILIO_ACCOUNT.sid });
  const { status } = await fetch(app.url + pathname + search, { method: 'POST', ...signed });
  expect(status).toBe(200);
}

async function frame(name: string): Promise<void> {
  frames += 1;
  if (FRAMES === undefined) return;
  const number = String(frames).padStart(2, '0');
  await tab.page.screenshot({ path: join(FRAMES, `setup-${number}-${name}.png`) });
}

test('an installation is set up in the browser, from the page Set up to the first message at the carrier', async () => {
  const { page, takeProblems } = tab;
  const field = (label: string) => page.getByLabel(label, { exact: true });
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  await page.goto(`${app.url}/console`);
  await page.getByRole('heading', { name: 'Set up Linepace' }).waitFor();
  await frame('first-page');
  const { stdout } = await ops(['setup-code'], environment(app.config));
  await field('Setup code').fill((JSON.parse(stdout) as { code: string }).code);
  await field('Name of the workspace').fill('Harbour Homes');
  await field('Time zone').selectOption('America/New_York');
  await field('Country').fill('US');
  await field('Your email address').fill('ana@harbour.example');
  await field('First name (optional)').fill('Ana');
  await frame('filled-in');
  await press('Set up');
  await page.getByText('0 of 6 done').waitFor();
  await page.getByRole('radio', { name: /Twilio/ }).waitFor();
  await frame('first-steps');

  await page.getByRole('radio', { name: /Twilio/ }).check();
  await page.getByText(/copy the Account SID and the Auth Token/).waitFor();
  await frame('twilio');
  await field('Phone number').fill(LINE);
  await field('Account SID').fill(TWILIO_ACCOUNT.sid);
  await field('Auth token').fill(TWILIO_ACCOUNT.authToken);
  await press('Test the settings');
  await page
    .getByRole('list', { name: 'Checks' })
    .getByText(/has the number/)
    .waitFor();
  await field('First name').fill('Ana');
  await field('Last name').fill('Lopez');
  await frame('tested');
  expect(await inaccessible(page)).toEqual([]);
  await press('Connect the line');
  await page.getByText('The line is connected.').waitFor();
  const smsUrl = await field('Callback URL').inputValue();
  twilio.numbers.set(LINE, { smsUrl, sms: true });
  await frame('connected');
  await page.getByText('1 of 6 done').waitFor();

  await press('Continue');
  await field('Your phone number').fill(TO);
  await frame('message');
  await press('Send');
  await eventually(async () => twilio.sent.length === 1);
  expect(twilio.sent).toMatchObject([{ from: LINE, to: TO, body: expect.stringContaining('Hello') }]);
  await reportDelivered();
  await page.getByText('2 of 6 done').waitFor();
  await frame('sent');
  expect(await inaccessible(page)).toEqual([]);
  expect(takeProblems()).toEqual([]);
});
