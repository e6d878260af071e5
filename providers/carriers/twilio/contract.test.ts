import { expect, test } from 'vitest';
import { readContract, violations } from '#test/support/openapi-contract.ts';
import { recordTwilioRequests } from '#test/support/twilio-requests.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

/**
 * What is sent to Twilio is valid by its published OpenAPI document (github.com/twilio/twilio-oai), of which
 * `test/fixtures/contracts/twilio.json` has the operations that are used. `npm run prove -- twilio-contract` checks against the whole
 * document.
 */
const CONTRACT = readContract(new URL('../../../test/fixtures/contracts/twilio.json', import.meta.url));

test('each request is valid, and each operation is used', async () => {
  const requests = await recordTwilioRequests();
  expect(requests.flatMap((request) => violations(CONTRACT, request))).toEqual([]);
  const isUsed = (operation: (typeof CONTRACT)[number]): boolean =>
    requests.some((request) => violations([operation], request).length === 0);
  const unused = CONTRACT.filter((operation) => !isUsed(operation));
  // They are asked only about a service without numbers.
  expect(unused.map(({ path }) => path)).toEqual([
    '/v1/Services/{ServiceSid}/ShortCodes',
    '/v1/Services/{ServiceSid}/AlphaSenders',
  ]);
});

test('the check finds what is wrong', () => {
  const messages = `/2010-04-01/Accounts/${TWILIO_ACCOUNT.sid}/Messages.json`;
  const problems = (method: string, path: string, body = '') => violations(CONTRACT, { method, path, body });
  expect(problems('POST', messages, 'To=%2B14155550100&Text=Hi')).toEqual([
    'POST /2010-04-01/Accounts/{AccountSid}/Messages.json: Text is unknown',
  ]);
  expect(problems('POST', messages, 'Body=Hi')[0]).toContain('To is missing');
  expect(problems('GET', `${messages}?PageSize=many`)[0]).toContain('PageSize');
  expect(problems('GET', messages.replace(TWILIO_ACCOUNT.sid, 'AC1'))[0]).toContain('AccountSid');
  expect(problems('GET', '/v2/Services')).toHaveLength(1);
});
