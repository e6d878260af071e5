import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HighLevelStandIn, startHighLevel } from '#simulator/highlevel.ts';
import { createHighLevel } from './highlevel.ts';

let highlevel: HighLevelStandIn;
beforeAll(async () => {
  highlevel = await startHighLevel();
});
afterAll(() => highlevel.stop());

test('opts out whom it has already, instead of making them a contact', async () => {
  const { url: apiUrl, token, locationId: accountId } = highlevel;
  const { create } = createHighLevel({ apiUrl, caFile: null, webhookKey: null, app: null });
  const contactId = highlevel.addContact({ phone: '+14155550123' });
  const person = {
    firstName: 'Ada',
    lastName: '',
    companyName: '',
    jobTitle: '',
    emails: ['ada@example.test'],
    phones: ['+14155550123'],
    textsOptedOut: true,
    emailsOptedOut: true,
  };
  expect(await create({ accountId, token }, person)).toBe(contactId);
  const active = expect.objectContaining({ status: 'active' });
  expect(highlevel.contact(contactId)).toMatchObject({ dndSettings: { SMS: active, Email: active } });
});
