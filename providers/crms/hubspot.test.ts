import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HubSpotStandIn, startHubSpot } from '#simulator/hubspot.ts';
import { createHubSpot } from './hubspot.ts';
import type { CrmPosition } from './crm.ts';

let hubspot: HubSpotStandIn;
beforeEach(async () => {
  hubspot = await startHubSpot();
});
afterEach(() => hubspot.stop());

test('opts out whom it has already, instead of making them a contact', async () => {
  const { connect, create } = createHubSpot({ apiUrl: hubspot.url, caFile: null });
  const account = await connect({ accountId: null, token: hubspot.token });
  const contactId = hubspot.addContact({ email: 'ada@example.test' });
  const person = { firstName: 'Ada', lastName: '', companyName: '', jobTitle: '', phones: ['+14155550123'] };
  const optedOut = { textsOptedOut: true, emailsOptedOut: true };
  expect(await create(account, { ...person, ...optedOut, emails: ['ada@example.test'] })).toBe(contactId);
  expect(hubspot.contact(contactId)['linepace_opt_out']).toBe('true');
  expect(hubspot.unsubscribed.has('ada@example.test')).toBe(true);
});

test('reads all contacts that changed at the same moment, also if there are more than a search returns', async () => {
  const imported = Array.from({ length: 10_201 }, () => ({ firstname: 'Ada' }));
  const ids = hubspot.importContacts(imported);
  const { readContacts } = createHubSpot({ apiUrl: hubspot.url, caFile: null });
  const account = { accountId: String(hubspot.portalId), token: hubspot.token };
  const read = new Set<string>();
  let position: CrmPosition = { readUntil: new Date(0), readAfter: null };
  // The search does not find new contacts yet, and another one does after these.
  const later = hubspot.addContact({ firstname: 'Grace' });
  await expect.poll(async () => (await readContacts(account, position)).contacts.length).toBeGreaterThan(0);
  for (let hasMore = true; hasMore;) {
    const page = await readContacts(account, position);
    for (const { id } of page.contacts) read.add(id);
    ({ position, hasMore } = page);
  }
  expect([ids.filter((id) => !read.has(id)).length, read.has(later), read.size]).toEqual([
    0,
    true,
    ids.length + 1,
  ]);
});
