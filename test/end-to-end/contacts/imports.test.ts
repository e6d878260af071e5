import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withTenant } from '#db/connection/transactions.ts';
import { knownWakes } from '#db/wakes/wakes.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { filesOf } from '#test/support/traces.ts';
import { leadImportId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let key: string;
let api: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
  ({ key } = await createWorkspace(app));
  api = apiClient(app.url, key);
});

const newList = async (): Promise<string> =>
  (await api('POST', '/api/lists', { name: 'Imported' })).body.list._id;

const upload = (listId: string, csv: string, headers: Record<string, string> = {}, query = '') =>
  api('POST', `/api/lists/${listId}/import${query}`, csv, { 'content-type': 'text/csv', ...headers });

const formHeaders = { 'content-type': 'multipart/form-data; boundary=x' };
const formStart = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';

/** The files with a text that are being received. */
async function receiving(text: string): Promise<string[]> {
  const folders = (await readdir(tmpdir())).filter((name) => name.startsWith('linepace-'));
  const paths = folders.map((name) => join(tmpdir(), name, 'file'));
  const contents = await Promise.all(paths.map((path) => readFile(path, 'latin1').catch(() => '')));
  return paths.filter((_, index) => contents[index]?.includes(text));
}

async function imported(listId: string, importId: string) {
  return eventually(async () => {
    const { body } = await api('GET', `/api/lists/${listId}/imports/${importId}`);
    return body.status !== 'running' && body;
  });
}

async function importCsv(listId: string, csv: string, query = '') {
  const { status, body } = await upload(listId, csv, {}, query);
  expect(status, JSON.stringify(body)).toBe(202);
  return { importId: body.importId, ...(await imported(listId, body.importId)) };
}

describe('importing a file', () => {
  it('saves rows with several addresses and custom fields, counts duplicates and lists rejected rows with reasons', async () => {
    const listId = await newList();
    const csv = [
      '\uFEFFFirst Name,Email,Phone,City',
      'Ada,ada@example.com; second@example.com,(415) 555-0100,"London, UK"',
      '"Grace ""Amazing""",grace@example.com,,',
      'Ada again,ADA@example.com,,',
      'Nobody,,,',
      'Wrong,not an address,,',
      'Long,x@example.com,,Rome,too many',
      '',
    ].join('\r\n');
    const result = await importCsv(listId, csv);
    expect(result).toMatchObject({
      status: 'completed',
      processed: 6,
      saved: 2,
      duplicates: 1,
      rejected: 3,
      error: null,
    });
    const { leads } = (await api('GET', `/api/leads?listId=${listId}`)).body;
    expect(leads.find(({ firstName }: { firstName: string }) => firstName === 'Ada')).toMatchObject({
      emails: ['ada@example.com', 'second@example.com'],
      phones: ['+14155550100'],
      customFields: { City: 'London, UK' },
      source: 'import',
    });
    const rejected = await api('GET', `/api/lists/${listId}/imports/${result.importId}/rejected`);
    expect(rejected.headers.get('content-type')).toContain('text/csv');
    expect(rejected.body).toBe(
      [
        'row,reason,First Name,Email,Phone,City',
        '5,phone: an email address or a phone number is required,Nobody,,,',
        '6,email: must be an email address,Wrong,not an address,,',
        '7,has 5 fields instead of 4,Long,x@example.com,,Rome,too many',
        '',
      ].join('\r\n'),
    );
    expect(
      (await api('GET', '/api/lists')).body.lists.find(({ _id }: { _id: string }) => _id === listId)
        .leadCount,
    ).toBe(2);
  });

  it('rejects rows with NUL characters, which PostgreSQL cannot store, and a file whose first row has one', async () => {
    const listId = await newList();
    const rows = await importCsv(listId, 'firstName,email\nA\0da,ada@example.com\nGrace,grace@example.com\n');
    expect(rows).toMatchObject({ status: 'completed', saved: 1, rejected: 1 });
    const { body } = await api('GET', `/api/lists/${listId}/imports/${rows.importId}/rejected`);
    expect(body).toContain('2,contains a NUL character,A\uFFFDda,ada@example.com');
    const header = await importCsv(listId, 'email,Ci\0ty\nada@example.com,London\n');
    expect(header).toMatchObject({ status: 'failed', error: 'the first row contains a NUL character' });
  });

  it.each([
    ['Windows-1252', Buffer.from('firstName,email\nM\xfcller \x80,a@example.com\n', 'latin1')],
    ['UTF-16', Buffer.from('\uFEFFfirstName,email\nMüller €,a@example.com\n', 'utf16le')],
    [
      'two encodings',
      Buffer.concat([
        Buffer.from('firstName,email\nMüller €,a@example.com\n'),
        Buffer.from('Zo\xeb,b@example.com', 'latin1'),
      ]),
    ],
  ])('reads names in %s', async (_, csv) => {
    const listId = await newList();
    const response = await fetch(`${app.url}/api/lists/${listId}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
      body: csv,
    });
    const { importId } = (await response.json()) as { importId: string };
    expect(await imported(listId, importId)).toMatchObject({ status: 'completed', rejected: 0 });
    const { leads } = (await api('GET', `/api/leads?listId=${listId}`)).body;
    const names = leads.map(({ firstName }: { firstName: string }) => firstName);
    expect(names.toSorted()).toEqual(['Müller €', 'Zoë'].slice(0, names.length));
  });

  it.each([
    [
      'a number as a data frame writes it',
      'first_name,email,phone\nJörg,joerg@contact.example,4915112345678.0\n',
      '?defaultCountryCode=%2B49',
      { firstName: 'Jörg', phones: ['+4915112345678'] },
    ],
    [
      'a number of another country as a data frame writes it',
      'first_name,phone\nJörg,4915112345678.0\n',
      '',
      { firstName: 'Jörg', phones: ['+4915112345678'] },
    ],
    [
      "Excel's hint and German columns",
      'sep=;\r\nVorname;Nachname;Telefon\r\nJörg;Beispiel;0151 12345678\r\n',
      '?defaultCountryCode=%2B49',
      { firstName: 'Jörg', lastName: 'Beispiel', phones: ['+4915112345678'], customFields: {} },
    ],
    [
      'big-endian UTF-16',
      Buffer.from('\uFEFFfirstName,phone\nZoë,+14155550125\n', 'utf16le').swap16(),
      '',
      { firstName: 'Zoë', phones: ['+14155550125'] },
    ],
    [
      'several values as Google Contacts writes them',
      'First Name,E-mail 1 - Value,Phone 1 - Value\nAda,* ada@contact.example ::: ada@work.example,+1 415 555 0123 ::: +1 415 555 0124\n',
      '',
      { emails: ['ada@contact.example', 'ada@work.example'], phones: ['+14155550123', '+14155550124'] },
    ],
    [
      'a name in one column, a placeholder and line breaks',
      'Full Name,E-mail,Cell Phone,Company\nAda Lovelace,ada@contact.example,N/A,"Analytical\nEngines"\n',
      '',
      { firstName: 'Ada', lastName: 'Lovelace', phones: [], companyName: 'Analytical Engines' },
    ],
    [
      'Swedish columns, an address with its name, and thousands',
      'Förnamn;E-post;Mobilnummer\nZoë;Zoë Exempel <zoe@contact.example>;4.915.112.345.678\n',
      '?defaultCountryCode=%2B49',
      { firstName: 'Zoë', emails: ['zoe@contact.example'], phones: ['+4915112345678'], customFields: {} },
    ],
  ])('reads %s', async (_, csv, query, lead) => {
    const listId = await newList();
    const response = await fetch(`${app.url}/api/lists/${listId}/import${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
      body: csv,
    });
    const { importId } = (await response.json()) as { importId: string };
    expect(await imported(listId, importId)).toMatchObject({ status: 'completed', saved: 1, rejected: 0 });
    expect((await api('GET', `/api/leads?listId=${listId}`)).body.leads).toEqual([
      expect.objectContaining(lead),
    ]);
  });

  it('rejects a number of which a spreadsheet has lost digits', async () => {
    const listId = await newList();
    const result = await importCsv(listId, 'email,phone\na@x.co,4.91511E+12\n', '?defaultCountryCode=%2B49');
    expect(result).toMatchObject({ saved: 0, rejected: 1 });
  });

  it('refuses a file with more than 100 columns that are no fields of a lead', async () => {
    const listId = await newList();
    const columns = Array.from({ length: 150 }, (_, index) => `column ${index}`);
    const result = await importCsv(listId, `email,${columns.join(',')}\na@x.co${',x'.repeat(150)}\n`);
    expect(result).toMatchObject({
      status: 'failed',
      processed: 0,
      error: '150 columns are not fields of a lead; at most 100 can become custom fields',
    });
  });

  it('records a consent only for a row that says how it was given, and a withdrawal as one', async () => {
    const listId = await newList();
    const csv = [
      'email,consentSource,consentAt',
      'given@consent.example,form,2026-01-02',
      'no@consent.example,no,',
      'revoked@consent.example,revoked,2026-01-02',
      'alone@consent.example,,2026-01-02',
    ].join('\n');
    const { importId, ...result } = await importCsv(listId, csv);
    expect(result).toMatchObject({ saved: 3, rejected: 1 });
    const rejected = await api('GET', `/api/lists/${listId}/imports/${importId}/rejected`);
    expect(rejected.body).toContain('5,"consentAt: requires consentSource');
    const statusOf = async (name: string) =>
      (await api('GET', `/api/consents?address=${name}@consent.example`)).body.consents.map(
        ({ status }: { status: string }) => status,
      );
    expect(await statusOf('given')).toEqual(['granted']);
    expect(await statusOf('no')).toEqual([]);
    expect(await statusOf('revoked')).toEqual(['revoked']);
    expect(await statusOf('alone')).toEqual([]);
  });

  it('accepts a form, semicolons and a default country code', async () => {
    const listId = await newList();
    const form = new FormData();
    form.append('note', 'not a file');
    form.append(
      'file',
      new Blob(['phone;Nachname\n0151 23456789;Müller\n'], { type: 'text/csv' }),
      'leads.csv',
    );
    const response = await fetch(`${app.url}/api/lists/${listId}/import?defaultCountryCode=%2B49`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    expect(response.status).toBe(202);
    const { importId } = (await response.json()) as { importId: string };
    expect(await imported(listId, importId)).toMatchObject({ status: 'completed', saved: 1 });
    const { leads } = (await api('GET', `/api/leads?listId=${listId}`)).body;
    expect(leads[0]).toMatchObject({ phone: '+4915123456789', lastName: 'Müller' });
  });

  it('fails with a reason if the file is no table of leads', async () => {
    const listId = await newList();
    expect(await importCsv(listId, 'Ada,Lovelace\nGrace,Hopper\n')).toMatchObject({
      status: 'failed',
      error: 'the first row names no email or phone column',
    });
    expect(await importCsv(listId, '\n')).toMatchObject({ status: 'failed', error: 'the file is empty' });
    const broken = await importCsv(listId, 'email,city\na@example.com,Rome\nb@example.com,"never closed\n');
    expect(broken).toMatchObject({
      status: 'failed',
      saved: 1,
      error: expect.stringMatching(/^row 3: Quote Not Closed/),
    });
  });

  it('refuses other content types, a form without a file and a list of another workspace', async () => {
    const listId = await newList();
    expect((await upload(listId, '{}', { 'content-type': 'application/json' })).status).toBe(415);
    expect(
      await upload(listId, '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n', {
        'content-type': 'multipart/form-data; boundary=x',
      }),
    ).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR' },
    });
    expect((await upload(listId, 'x', { 'content-type': 'multipart/form-data' })).status).toBe(400);
    const stranger = apiClient(app.url, (await createWorkspace(app)).key);
    expect(
      (await stranger('POST', `/api/lists/${listId}/import`, 'email\na@b.co', { 'content-type': 'text/csv' }))
        .status,
    ).toBe(404);
    expect((await stranger('GET', `/api/lists/${listId}/export`)).status).toBe(404);
  });

  it('refuses a form that ends early', async () => {
    const listId = await newList();
    for (const content of ['', 'email\n', `email\n${'x'.repeat(200_000)}`]) {
      const response = await upload(listId, formStart + content, formHeaders);
      expect(response).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
    }
  });

  it.each([
    ['text/csv', ''],
    [formHeaders['content-type'], formStart],
  ])('keeps nothing of a file whose sender disconnects (%s)', async (type, start) => {
    const listId = await newList();
    const marker = `${randomUUID()}@example.com`;
    const sending = request(`${app.url}/api/lists/${listId}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': type, 'content-length': 1_000_000 },
    });
    sending.on('error', () => undefined);
    sending.write(`${start}email\n${marker}\n`);
    await eventually(async () => (await receiving(marker)).length > 0);
    sending.destroy();
    await eventually(async () => (await receiving(marker)).length === 0);
  });

  it('refuses a file over 100 MB while it is being uploaded', async () => {
    const listId = await newList();
    const megabyte = Buffer.alloc(1024 * 1024, 'a');
    let sent = 0;
    const body = new ReadableStream({
      pull: (controller) => (sent++ < 101 ? controller.enqueue(megabyte) : controller.close()),
    });
    const response = await fetch(`${app.url}/api/lists/${listId}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
      body,
      duplex: 'half',
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      error: 'The file is larger than 100 MB',
      code: 'BODY_TOO_LARGE',
    });
  });

  it('returns the first import for a repeated Idempotency-Key', async () => {
    const listId = await newList();
    const headers = { 'idempotency-key': 'import-1' };
    const first = await upload(listId, 'email\none@example.com\n', headers);
    const second = await upload(listId, 'email\none@example.com\n', headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await upload(listId, 'email\ntwo@example.com\n', headers)).body.code).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
  });

  it('counts numbers that their country does not have', async () => {
    const rows = ['+14155552671', '+19995552671', '+19995552671', '4155552672', '141 555 5013'];
    expect(await importCsv(await newList(), `phone\n${rows.join('\n')}\n`)).toMatchObject({
      saved: 4,
      duplicates: 1,
      unlikelyNumbers: 2,
    });
  });

  it('resumes after the last saved batch when its worker is replaced', async () => {
    const listId = await newList();
    const rows = Array.from({ length: 6000 }, (_, index) => `person${index}@example.com`);
    const { importId } = (await upload(listId, `email\n${rows.join('\n')}\n`)).body;
    await eventually(
      async () => (await api('GET', `/api/lists/${listId}/imports/${importId}`)).body.processed > 0,
    );
    await app.stopWorker();
    await app.startWorker();
    expect(await imported(listId, importId)).toMatchObject({
      status: 'completed',
      processed: 6000,
      saved: 6000,
      duplicates: 0,
    });
  });

  it('saves long rows in smaller batches', async () => {
    const listId = await newList();
    const cell = 'x'.repeat(150_000);
    const rows = Array.from({ length: 60 }, (_, index) => `not an address,${index} ${cell}`);
    const { importId, ...result } = await importCsv(listId, `email,notes\n${rows.join('\n')}\n`);
    expect(result).toMatchObject({ status: 'completed', processed: 60, rejected: 60 });
    const Saved = z.object({ rows: z.int(), characters: z.int() });
    const batches = await app.pools.system.any(sql.type(Saved)`
      select count(*) "rows", sum(length(fields::text)) characters from rejected_rows
      where import_id = ${importId} group by xmin::text`);
    expect(batches.reduce((sum, batch) => sum + batch.rows, 0)).toBe(60);
    expect(Math.max(...batches.map(({ characters }) => characters))).toBeLessThan(2_500_000);
  });

  it('leaves no file and nothing to do if its list is deleted meanwhile', async () => {
    const workspace = await createWorkspace(app);
    const { list } = (await workspace.api('POST', '/api/lists', { name: 'Imported' })).body;
    await app.stopWorker();
    const csv = { 'content-type': 'text/csv' };
    const path = `/api/lists/${list._id}/import`;
    const { importId } = (await workspace.api('POST', path, 'email\nada@example.com\n', csv)).body;
    expect(await filesOf(app, workspace.id)).toEqual([importId]);
    expect((await workspace.api('DELETE', `/api/lists/${list._id}`)).status).toBe(200);
    await app.startWorker();
    const workflow = app.temporal.workflow.getHandle(leadImportId(importId));
    await eventually(() => workflow.describe());
    expect(await workflow.result()).toBe('the import is over');
    expect(await filesOf(app, workspace.id)).toEqual([]);
    const wakes = await withTenant(app.pools, workspace.id, (db) => knownWakes(db, [leadImportId(importId)]));
    expect(wakes).toEqual([]);
  });
});

describe('exporting a list', () => {
  it('returns a file that can be imported again, with formulas disarmed', async () => {
    const listId = await newList();
    const leads = [
      {
        firstName: '=HYPERLINK("http://evil")',
        emails: ['a@example.com', 'b@example.com'],
        phone: '+14155550100',
        customFields: { city: 'Rome', '@cell': '-1' },
      },
      { firstName: 'Müller, Jürgen', phone: '+14155550101', notes: 'two\nlines' },
    ];
    await api('POST', '/api/leads', { listId, leads });
    const { status, body, headers } = await api('GET', `/api/lists/${listId}/export`);
    expect(status).toBe(200);
    expect(headers.get('content-disposition')).toBe('attachment; filename="leads.csv"');
    expect(body.split('\r\n')[0]).toBe(
      'firstName,lastName,email,phone,companyName,jobTitle,notes,contactOwnerEmail,status,createdAt,customFields.@cell,city',
    );
    expect(body).toContain(`"'=HYPERLINK(""http://evil"")",,"a@example.com;b@example.com",+14155550100`);
    const copy = await newList();
    expect(await importCsv(copy, body)).toMatchObject({ saved: 2, rejected: 0 });
    const names = (await api('GET', `/api/leads?listId=${copy}&search=rgen`)).body.leads;
    expect(names[0]).toMatchObject({
      firstName: 'Müller, Jürgen',
      notes: 'two\nlines',
      phones: ['+14155550101'],
    });
    const [first] = (await api('GET', `/api/leads?listId=${copy}&search=b@example.com`)).body.leads;
    expect(first.customFields).toMatchObject({ city: 'Rome', '@cell': expect.stringContaining('-1') });
  });
});

describe('previewing a file', () => {
  const preview = (listId: string, csv: string, query = '') =>
    api('POST', `/api/lists/${listId}/import/preview${query}`, csv, { 'content-type': 'text/csv' });

  it('says what its columns and first rows become, and saves nothing', async () => {
    const listId = await newList();
    const csv = 'sep=;\nVorname;Telefon;Stadt\nAda;0151 12345678;Berlin\nBob;12;\n';
    const { status, body } = await preview(listId, csv, '?defaultCountryCode=%2B49');
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      delimiter: ';',
      columns: [
        { name: 'Vorname', field: 'firstName', example: 'Ada' },
        { name: 'Telefon', field: 'phone', example: '0151 12345678' },
        { name: 'Stadt', field: null, example: 'Berlin' },
      ],
      rows: [
        {
          rowNumber: 2,
          lead: {
            firstName: 'Ada',
            emails: [],
            phones: ['+4915112345678'],
            customFields: { Stadt: 'Berlin' },
          },
          reason: null,
        },
        { rowNumber: 3, lead: null, reason: 'phone: must be a phone number' },
      ],
      error: null,
    });
    expect((await api('GET', `/api/leads?listId=${listId}`)).body.leads).toEqual([]);
  });

  it('says why an import would fail', async () => {
    const listId = await newList();
    expect((await preview(listId, 'Name;City\nAda;London\n')).body).toMatchObject({
      columns: [
        { name: 'Name', field: 'fullName' },
        { name: 'City', field: null },
      ],
      rows: [],
      error: 'the first row names no email or phone column',
    });
    expect((await preview(listId, '')).body).toMatchObject({ columns: [], error: 'the file is empty' });
    expect((await preview(listId, `email\n${'a@x.co\n'.repeat(200_000)}`)).status).toBe(413);
    expect((await preview('0'.repeat(24), 'email\na@x.co\n')).status).toBe(404);
  });
});
