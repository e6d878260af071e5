import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analyze } from '#test/setup/database.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { lock, race } from '#test/support/locks.ts';

let app: OwnApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});
afterAll(() => app.stop());

async function newList(client: ApiClient = api): Promise<string> {
  return (await client('POST', '/api/lists', { name: 'Prospects' })).body.list._id;
}

const leadsOf = async (listId: string) =>
  (await api('GET', `/api/leads?listId=${listId}&limit=200`)).body.leads;

describe('saving leads', () => {
  it('warns of numbers that their country does not have', async () => {
    const save = async (...phones: string[]) =>
      (await api('POST', '/api/leads', { listId, leads: phones.map((number) => ({ phone: number })) })).body;
    const listId = await newList();
    expect((await save('(415) 555-2671')).warnings).toEqual([]);
    const { savedCount, warnings } = await save('141 555 5013', '+1 999 555 2671', '415 555 2672');
    expect([savedCount, warnings]).toMatchObject([3, [{ code: 'number_unlikely' }]]);
    expect(warnings[0].text).toContain('+11415555013 is not known');
    expect(warnings[0].text).toContain('1 more');
  });

  it('adds them to Quick Sends if no list is given', async () => {
    const saved = await api('POST', '/api/leads', { leads: [{ firstName: 'Ada', phone: '(415) 555-2671' }] });
    expect(saved.status).toBe(201);
    const quickSends = (await api('GET', '/api/lists')).body.lists.find(
      ({ name }: { name: string }) => name === 'Quick Sends',
    );
    expect(saved.body).toMatchObject({
      savedCount: 1,
      duplicateCount: 0,
      totalProcessed: 1,
      listId: quickSends._id,
    });
    expect(quickSends.leadCount).toBe(1);
    const { body } = await api('GET', `/api/leads/${saved.body.leadIds[0]}`);
    expect(body.lead).toMatchObject({
      firstName: 'Ada',
      phone: '+14155552671',
      phones: ['+14155552671'],
      listId: quickSends._id,
    });
  });

  it('stores several emails and phones, normalized with the default country code', async () => {
    const listId = await newList();
    const saved = await api('POST', '/api/leads', {
      listId,
      defaultCountryCode: '+49',
      leads: [
        {
          email: 'Ada@Example.com ',
          emails: ['ada@example.com', 'second@example.com'],
          phone: '0151 23456789',
          phones: ['+44 20 7183 8750'],
          customFields: { city: 'London' },
        },
      ],
    });
    expect(saved.status).toBe(201);
    expect((await leadsOf(listId))[0]).toMatchObject({
      email: 'ada@example.com',
      emails: ['ada@example.com', 'second@example.com'],
      phones: ['+4915123456789', '+442071838750'],
      customFields: { city: 'London' },
    });
  });

  it.each(['+999', '+1234', '+210'])('refuses %s, which is no calling code', async (defaultCountryCode) => {
    const refused = { code: 'VALIDATION_ERROR', issues: [{ path: 'defaultCountryCode' }] };
    const listId = await newList();
    const lead = { phone: '020 7946 0003' };
    const posted = await api('POST', '/api/leads', { listId, defaultCountryCode, leads: [lead] });
    expect(posted).toMatchObject({ status: 400, body: refused });
    const { body } = await api('POST', '/api/leads', { listId, leads: [{ email: 'ada@example.com' }] });
    const patched = await api('PATCH', `/api/leads/${body.leadIds[0]}`, { ...lead, defaultCountryCode });
    expect(patched).toMatchObject({ status: 400, body: refused });
    const imported = await fetch(
      `${app.url}/api/lists/${listId}/import?defaultCountryCode=${encodeURIComponent(defaultCountryCode)}`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'text/csv' },
        body: 'phone\n020 7946 0003\n',
      },
    );
    expect(imported.status).toBe(400);
    expect(await imported.json()).toMatchObject(refused);
  });

  it('skips and counts duplicates of any email or phone, in the request and in the list', async () => {
    const listId = await newList();
    await api('POST', '/api/leads', {
      listId,
      leads: [{ phone: '+14155550100', emails: ['one@example.com', 'two@example.com'] }],
    });
    const again = await api('POST', '/api/leads', {
      listId,
      leads: [
        { email: 'TWO@example.com' },
        { phone: '+14155550101', email: 'three@example.com' },
        { phone: '(415) 555-0101' },
        { phone: '+14155550100', email: 'new@example.com' },
      ],
    });
    expect(again.body).toMatchObject({ savedCount: 1, duplicateCount: 3, totalProcessed: 4 });
    expect(again.body.leadIds[2]).toBe(again.body.leadIds[1]);
    expect(await leadsOf(listId)).toHaveLength(2);
    const elsewhere = await api('POST', '/api/leads', {
      listId: await newList(),
      leads: [{ phone: '+14155550100' }],
    });
    expect(elsewhere.body).toMatchObject({ savedCount: 1, duplicateCount: 0 });
  });

  it('does not reserve the addresses of a skipped duplicate', async () => {
    const listId = await newList();
    await api('POST', '/api/leads', { listId, leads: [{ email: 'known@example.com' }] });
    const mixed = await api('POST', '/api/leads', {
      listId,
      leads: [
        { email: 'known@example.com', phone: '+14155550160' },
        { phone: '+14155550160', email: 'fresh@example.com' },
        { email: 'fresh@example.com' },
      ],
    });
    expect(mixed.body).toMatchObject({ savedCount: 1, duplicateCount: 2 });
    expect(
      (await leadsOf(listId)).map(({ _id, phones }: { _id: string; phones: string[] }) => [_id, phones]),
    ).toContainEqual([mixed.body.leadIds[1], ['+14155550160']]);
    const again = await api('POST', '/api/leads', { listId, leads: [{ phone: '+14155550160' }] });
    expect(again.body.leadIds).toEqual([mixed.body.leadIds[1]]);
  });

  it('stores a lead once when simultaneous requests save it', async () => {
    const listId = await newList();
    const lead = { phone: '+14155550199' };
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => api('POST', '/api/leads', { listId, leads: [lead] })),
    );
    expect(responses.map(({ body }) => body.savedCount).toSorted()).toEqual([0, 0, 0, 0, 0, 1]);
    expect(await leadsOf(listId)).toHaveLength(1);
  });

  it('saves nothing if one lead of the request is invalid', async () => {
    const listId = await newList();
    const refused = await api('POST', '/api/leads', {
      listId,
      leads: [
        { email: 'fine@example.com' },
        { email: 'not an address' },
        { phone: '12' },
        { firstName: 'Nobody' },
      ],
    });
    expect(refused.status).toBe(400);
    expect(refused.body.issues.map(({ path }: { path: string }) => path)).toEqual([
      'leads.1.email',
      'leads.2.phone',
      'leads.3.phone',
    ]);
    expect(await leadsOf(listId)).toHaveLength(0);
    for (const leads of [undefined, [], 'x', [{ customFields: { age: 5 }, phone: '+14155550100' }]]) {
      expect((await api('POST', '/api/leads', { listId, leads })).status).toBe(400);
    }
  });

  it('sets the contact owner to the given user of the workspace, else to the first user', async () => {
    const listId = await newList();
    await api('POST', '/api/leads', {
      listId,
      leads: [
        { phone: '+14155550111', contactOwnerEmail: `${workspace.ownerId.toUpperCase()}@EXAMPLE.TEST` },
        { phone: '+14155550112', contactOwnerEmail: 'stranger@example.test' },
        { phone: '+14155550113' },
      ],
    });
    const owner = `${workspace.ownerId}@example.test`;
    expect(
      (await leadsOf(listId)).map((lead: { contactOwnerEmail: string }) => lead.contactOwnerEmail),
    ).toEqual([owner, owner, owner]);
  });

  it('returns the first response for a repeated Idempotency-Key', async () => {
    const listId = await newList();
    const body = { listId, leads: [{ phone: '+14155550120' }] };
    const first = await api('POST', '/api/leads', body, { 'idempotency-key': 'leads-1' });
    const second = await api('POST', '/api/leads', body, { 'idempotency-key': 'leads-1' });
    expect(second.body).toEqual(first.body);
    expect(second.body.savedCount).toBe(1);
  });
});

describe('reading and changing leads', () => {
  it('lists in pages, newest first, and searches', async () => {
    const listId = await newList();
    const leads = Array.from({ length: 7 }, (_, index) => ({
      firstName: `Person ${index}`,
      email: `page${index}@example.com`,
    }));
    await api('POST', '/api/leads', { listId, leads });
    const first = await api('GET', `/api/leads?listId=${listId}&limit=5`);
    const second = await api('GET', `/api/leads?listId=${listId}&limit=5&cursor=${first.body.nextCursor}`);
    const ids = [...first.body.leads, ...second.body.leads].map(({ _id }: { _id: string }) => _id);
    expect(new Set(ids).size).toBe(7);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(second.body.nextCursor).toBeNull();
    const found = await api('GET', '/api/leads?search=PAGE3%40');
    expect(found.body.leads.map(({ firstName }: { firstName: string }) => firstName)).toEqual(['Person 3']);
    expect((await api('GET', '/api/leads?search=page%25')).body.leads).toEqual([]);
    await api('POST', '/api/leads', {
      listId,
      leads: [{ firstName: 'Zoë', lastName: 'Łukasz-Øye', email: 'zo@example.com' }],
    });
    for (const search of ['zoe', 'ZOË', 'łuk', 'luk', 'oye', 'Zo', 'lu'])
      expect(
        (await api('GET', `/api/leads?listId=${listId}&search=${encodeURIComponent(search)}`)).body.leads,
        search,
      ).toMatchObject([{ firstName: 'Zoë' }]);
  });

  it('finds a number in the format in which it is displayed', async () => {
    const listId = await newList();
    await api('POST', '/api/leads', {
      listId,
      leads: [
        { firstName: 'Ada', phone: '+14155557788' },
        { firstName: 'Bob', companyName: '555-7788 Inc', email: 'bob@numbers.example' },
        { firstName: 'Cy', phone: '+14155557799' },
      ],
    });
    const found = async (search: string) => {
      const query = new URLSearchParams({ listId, search });
      const { body } = await api('GET', `/api/leads?${query}`);
      return body.leads.map(({ firstName }: { firstName: string }) => firstName);
    };
    expect(await found('(415) 555-7788')).toEqual(['Ada']);
    expect(await found('+1 415 555 7788')).toEqual(['Ada']);
    expect(await found('555-7788')).toEqual(['Bob', 'Ada']);
    expect(await found('---')).toEqual([]);
  });

  it('finds a rare name among many leads by an index, in its own workspace only', async () => {
    const found = async (caller: ApiClient, query: string): Promise<string[]> =>
      (await caller('GET', `/api/leads?${query}`)).body.leads.map(
        ({ firstName }: { firstName: string }) => firstName,
      );
    const [home, other] = [await createWorkspace(app), await createWorkspace(app)];
    const [mine, theirs] = [apiClient(app.url, home.key), apiClient(app.url, other.key)];
    const save = async (caller: ApiClient, firstName: string) =>
      (await caller('POST', '/api/leads', { leads: [{ firstName, lastName: 'Quixote', phone: phone() }] }))
        .body.listId as string;
    const listId = await save(mine, 'Alonso');
    await save(theirs, 'Miguel');
    const owner = new pg.Client({ connectionString: app.ownerUrl });
    await owner.connect();
    try {
      await owner.query(
        `insert into leads (workspace_id, id, list_id, first_name, emails)
         select $1, lpad(to_hex(n), 24, '0'), $2, 'Person ' || n, array['person' || n || '@example.com']
         from generate_series(1, 20000) n`,
        [home.id, listId],
      );
      await analyze(owner, 'leads');
      const scans = async (): Promise<number> => {
        const { rows } = await owner.query(
          `select idx_scan from pg_stat_user_indexes where indexrelname = 'leads_search_form'`,
        );
        return Number(rows[0].idx_scan);
      };
      const before = await scans();
      expect(await found(mine, 'search=QUIXOTE')).toEqual(['Alonso']);
      expect(await found(mine, 'search=N7777%40')).toEqual(['Person 7777']);
      expect(await found(mine, `search=uixot&listId=${listId}`)).toEqual(['Alonso']);
      expect(await found(theirs, 'search=quixote')).toEqual(['Miguel']);
      await eventually(async () => (await scans()) > before);
      // One or two letters find words that begin with them.
      const beforeShort = await scans();
      expect(await found(mine, 'search=AL')).toEqual(['Alonso']);
      expect(await found(mine, 'search=qu')).toEqual(['Alonso']);
      expect(await found(mine, `search=q&listId=${listId}`)).toEqual(['Alonso']);
      expect(await found(mine, 'search=zz')).toEqual([]);
      expect(await found(mine, 'search=m')).toEqual([]);
      await eventually(async () => (await scans()) >= beforeShort + 5);
    } finally {
      await owner.end();
    }
  });

  it('changes fields and addresses, and refuses an address of another lead in the list', async () => {
    const listId = await newList();
    const { body } = await api('POST', '/api/leads', {
      listId,
      leads: [{ phone: '+14155550130', email: 'a@example.com' }, { phone: '+14155550131' }],
    });
    const [first, second] = body.leadIds as [string, string];
    const changed = await api('PATCH', `/api/leads/${first}`, {
      firstName: 'Grace',
      phone: '+14155550139',
      customFields: { city: 'Rome' },
    });
    expect(changed.body.lead).toMatchObject({
      firstName: 'Grace',
      phones: ['+14155550139'],
      emails: ['a@example.com'],
      customFields: { city: 'Rome' },
    });
    expect(await api('PATCH', `/api/leads/${second}`, { phone: '+14155550139' })).toMatchObject({
      status: 409,
      body: { code: 'DUPLICATE_LEAD' },
    });
    expect((await api('PATCH', `/api/leads/${second}`, { phone: '+14155550130' })).status).toBe(200);
    expect((await api('PATCH', `/api/leads/${second}`, { phone: '' })).status).toBe(400);
  });

  it('deletes a lead and frees its address', async () => {
    const listId = await newList();
    const { body } = await api('POST', '/api/leads', { listId, leads: [{ phone: '+14155550140' }] });
    const leadId = body.leadIds[0];
    expect((await api('DELETE', `/api/leads/${leadId}`)).status).toBe(200);
    expect((await api('GET', `/api/leads/${leadId}`)).status).toBe(404);
    expect(
      (await api('GET', '/api/lists')).body.lists.find(({ _id }: { _id: string }) => _id === listId)
        .leadCount,
    ).toBe(0);
    expect(
      (await api('POST', '/api/leads', { listId, leads: [{ phone: '+14155550140' }] })).body.savedCount,
    ).toBe(1);
  });

  it("hides another workspace's leads and lists", async () => {
    const listId = await newList();
    const { body } = await api('POST', '/api/leads', { listId, leads: [{ phone: '+14155550150' }] });
    const stranger = apiClient(app.url, (await createWorkspace(app)).key);
    expect((await stranger('GET', `/api/leads/${body.leadIds[0]}`)).status).toBe(404);
    expect((await stranger('PATCH', `/api/leads/${body.leadIds[0]}`, { firstName: 'x' })).status).toBe(404);
    expect((await stranger('DELETE', `/api/leads/${body.leadIds[0]}`)).status).toBe(404);
    expect(
      (await stranger('POST', '/api/leads', { listId, leads: [{ phone: '+14155550150' }] })).status,
    ).toBe(404);
    expect((await stranger('GET', '/api/leads')).body.leads).toEqual([]);
  });
});

describe('a lead that two requests change at a time', () => {
  const setUp = async () => {
    const listId = await newList();
    const [before, after] = [phone(), phone()];
    const { leadIds } = (await api('POST', '/api/leads', { listId, leads: [{ phone: before }] })).body;
    return { listId, before, after, path: `/api/leads/${leadIds[0]}` };
  };

  it('keeps both changes', async () => {
    const { listId, before, after, path } = await setUp();
    const changed = await race(
      app,
      await lock(app, 'lead_lists', listId),
      () => api('PATCH', path, { phone: after }),
      () => api('PATCH', path, { firstName: 'Grace' }),
    );
    expect(changed.map(({ status }) => status)).toEqual([200, 200]);
    expect((await api('GET', path)).body.lead).toMatchObject({ firstName: 'Grace', phones: [after] });
    const leads = [{ phone: before }, { phone: after }];
    expect((await api('POST', '/api/leads', { listId, leads })).body).toMatchObject({
      savedCount: 1,
      duplicateCount: 1,
    });
  });

  it.each([
    ['deleted', '', 200],
    ['erased', '?erase=true', 202],
  ])('is %s with the address that it has got meanwhile', async (_, query, status) => {
    const { listId, after, path } = await setUp();
    const [changed, deleted] = await race(
      app,
      await lock(app, 'lead_lists', listId),
      () => api('PATCH', path, { phone: after }),
      () => api('DELETE', `${path}${query}`),
    );
    expect([changed.status, deleted.status]).toEqual([200, status]);
    expect(
      (await api('GET', '/api/lists')).body.lists.find(({ _id }: { _id: string }) => _id === listId),
    ).toMatchObject({ leadCount: 0 });
    expect((await api('POST', '/api/leads', { listId, leads: [{ phone: after }] })).body.savedCount).toBe(1);
  });
});

describe('sending to a phone number', () => {
  it('saves it as a lead in Quick Sends once, and finds a saved lead by any address', async () => {
    await createLine(app, workspace.id);
    const send = async (fields: Record<string, unknown>) =>
      (await api('POST', '/api/messages', { message: 'Hi', ...fields })).body;
    const first = await send({ recipientPhone: '+1 415 555 0170', recipientName: 'Mary Ann Evans' });
    const { lead } = (await api('GET', `/api/leads/${first.leadId}`)).body;
    expect(lead).toMatchObject({
      firstName: 'Mary',
      lastName: 'Ann Evans',
      phone: '+14155550170',
      source: 'message',
    });
    expect((await send({ recipientPhone: '+14155550170' })).leadId).toBe(first.leadId);
    const saved = await api('POST', '/api/leads', {
      listId: await newList(),
      leads: [{ phones: ['+14155550171', '+14155550172'], email: 'many@example.com' }],
    });
    expect((await send({ recipientPhone: '+14155550172' })).leadId).toBe(saved.body.leadIds[0]);
    expect((await send({ recipientEmail: 'MANY@example.com' })).leadId).toBe(saved.body.leadIds[0]);
    expect((await send({ recipientEmail: 'unsaved@example.com' })).leadId).toBeNull();
  });

  it('is canceled when the lead is deleted before the send', async () => {
    const { _id, leadId } = (
      await api('POST', '/api/messages', { message: 'Hi', recipientPhone: '+14155550175' })
    ).body;
    await api('DELETE', `/api/leads/${leadId}`);
    expect((await api('GET', `/api/messages/${_id}`)).body.status).toBe('canceled');
  });
});
