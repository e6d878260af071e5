import { describe, expect, it } from 'vitest';
import { mapColumns, readRow } from './lead-import.ts';

const readRowUnder = (header: string[], row: string[]) => {
  const map = mapColumns(header);
  if (!map) throw new Error('no header');
  return readRow(row, map);
};

describe('mapColumns', () => {
  it('recognizes fields by many names and keeps the rest as custom fields', () => {
    const header = ['First Name', 'last_name', 'E-mail', 'Email 2', 'Phone Number', 'Company', 'City'];
    expect(mapColumns(header)?.fields).toEqual([
      'firstName',
      'lastName',
      'email',
      'email',
      'phone',
      'companyName',
      null,
    ]);
  });

  it('refuses a first row without an email or phone column', () => {
    expect(mapColumns(['Ada', 'Lovelace'])).toBeNull();
  });
});

describe('readRow', () => {
  it('collects addresses from several columns and from one cell', () => {
    const row = readRowUnder(
      ['email', 'email2', 'phone', 'city'],
      ['a@x.co; b@x.co', 'c@x.co', '+14155550100|+14155550101', 'Rome'],
    );
    expect(row).toMatchObject({
      emails: ['a@x.co', 'b@x.co', 'c@x.co'],
      phones: ['+14155550100', '+14155550101'],
      customFields: { city: 'Rome' },
    });
  });

  it('takes columns that are named like custom fields in templates', () => {
    const row = readRowUnder(
      ['email', 'customFields.city', 'customfields.Email'],
      ['a@x.co', 'Bergen', 'a private one'],
    );
    expect(row).toMatchObject({
      emails: ['a@x.co'],
      customFields: { city: 'Bergen', Email: 'a private one' },
    });
  });

  it('gives the reason why a row is rejected', () => {
    expect(readRowUnder(['email'], ['a@x.co', 'more'])).toEqual({ reason: 'has 2 fields instead of 1' });
    expect(readRowUnder(['email', 'firstName'], ['a@x.co', 'x'.repeat(501)])).toMatchObject({
      reason: expect.stringContaining('firstName'),
    });
  });
});
