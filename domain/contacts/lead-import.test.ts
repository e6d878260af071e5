import { describe, expect, it } from 'vitest';
import { columnsProblem, mapColumns, readRow, splitName } from './lead-import.ts';

const readRowUnder = (header: string[], row: string[]) => readRow(row, mapColumns(header));

describe('mapColumns', () => {
  it('recognizes fields by many names and keeps the rest as custom fields', () => {
    const header = ['First Name', 'last_name', 'E-mail', 'Email 2', 'Phone Number', 'Company', 'City'];
    expect(mapColumns(header).fields).toEqual([
      'firstName',
      'lastName',
      'email',
      'email',
      'phone',
      'companyName',
      null,
    ]);
  });

  it.each([
    ['German', ['Vorname', 'Nachname', 'E-Mail-Adresse', 'Telefon (geschäftlich)', 'Firma', 'Bemerkungen']],
    ['French', ['Prénom', 'Nom', 'Adresse e-mail', 'N° de téléphone', 'Société', 'Remarques']],
    ['Spanish', ['Nombre', 'Apellidos', 'Correo electrónico', 'Teléfono móvil', 'Empresa', 'Notas']],
    ['Portuguese', ['Nome', 'Sobrenome', 'E-mail', 'Celular', 'Empresa', 'Observações']],
    ['Italian', ['Nome', 'Cognome', 'Indirizzo e-mail', 'Cellulare', 'Azienda', 'Commenti']],
    ['Dutch', ['Voornaam', 'Achternaam', 'E-mailadres', 'Mobiel nummer', 'Bedrijf', 'Opmerkingen']],
    [
      'Google Contacts',
      ['First Name', 'Last Name', 'E-mail 1 - Value', 'Phone 1 - Value', 'Organization Name', 'Notes'],
    ],
    ['Outlook', ['First Name', 'Last Name', 'E-mail 2 Address', 'Business Phone 2', 'Company', 'Notes']],
    [
      'HubSpot',
      ['First Name', 'Last Name', 'Work email', 'Mobile Phone Number', 'Associated Company', 'Notes'],
    ],
    ['Salesforce', ['First Name', 'Last Name', 'Email', 'Mobile', 'Account Name', 'Comments']],
    [
      'Outlook in French',
      ['Prénom', 'Nom', 'Adresse de messagerie', 'Téléphone (bureau)', 'Société', 'Remarques'],
    ],
    [
      'Outlook in Spanish',
      ['Nombre', 'Apellidos', 'Correo electrónico', 'Teléfono del trabajo', 'Organización', 'Notas'],
    ],
    [
      'Outlook in Italian',
      ['Nome', 'Cognome', 'Indirizzo posta elettronica', 'Cellulare', 'Società', 'Note'],
    ],
    [
      'Outlook in Dutch',
      ['Voornaam', 'Achternaam', 'E-mailadres', 'Telefoon op werk', 'Bedrijf', 'Opmerkingen'],
    ],
    [
      'WooCommerce',
      [
        'billing_first_name',
        'billing_last_name',
        'billing_email',
        'billing_phone',
        'billing_company',
        'Notes',
      ],
    ],
    [
      'Pipedrive',
      [
        'Person - First name',
        'Person - Last name',
        'Person - Email - Work',
        'Person - Phone - Mobile',
        'Organization - Name',
        'Note',
      ],
    ],
    ['Polish, without accents', ['Imie', 'Nazwisko', 'Adres e-mail', 'Nr telefonu', 'Firma', 'Uwagi']],
    ['Danish', ['Fornavn', 'Efternavn', 'E-mail', 'Tlf.', 'Virksomhed', 'Noter']],
    ['Japanese', ['名', '姓', 'メールアドレス', '電話番号', '会社名', '備考']],
    ['Chinese', ['名', '姓', '电子邮箱', '手机号', '公司', '备注']],
    ['Russian', ['Имя', 'Фамилия', 'Эл. почта', 'Мобильный телефон', 'Компания', 'Примечание']],
    [
      'macOS, decomposed',
      ['Vorname', 'Nachname', 'E-Mail', 'Téléphone', 'Société', 'Notizen'].map((name) =>
        name.normalize('NFD'),
      ),
    ],
  ])('knows the columns of files in %s', (_, header) => {
    expect(mapColumns(header).fields).toEqual([
      'firstName',
      'lastName',
      'email',
      'phone',
      'companyName',
      'notes',
    ]);
  });

  it.each([
    'Username',
    'Email Opt Out',
    'Email Status',
    'E-mail 1 - Label',
    'Contact owner',
    'Lead Status',
    'SMS',
    'Business Fax',
  ])('leaves %j a custom field', (name) => expect(mapColumns([name]).fields).toEqual([null]));

  it('takes the name in one column, unless first or last name have their own', () => {
    expect(mapColumns(['Full Name', 'Cell Phone']).fields).toEqual(['fullName', 'phone']);
    expect(mapColumns(['Name', 'First Name', 'email']).fields).toEqual([null, 'firstName', 'email']);
  });

  it('keeps a second column for the same field as a custom field', () => {
    expect(mapColumns(['email', 'Company', 'Account Name']).fields).toEqual(['email', 'companyName', null]);
  });

  it('says why no row can be imported', () => {
    expect(columnsProblem(mapColumns(['Ada', 'Lovelace']))).toBe(
      'the first row names no email or phone column',
    );
    const custom = (count: number): string[] => Array.from({ length: count }, (_, index) => `field ${index}`);
    expect(columnsProblem(mapColumns(['email', '', ...custom(100)]))).toBeNull();
    expect(columnsProblem(mapColumns(['email', ...custom(101)]))).toBe(
      '101 columns are not fields of a lead; at most 100 can become custom fields',
    );
  });
});

describe('readRow', () => {
  it.each(['Größe'.normalize('NFD'), '\u200BGröße', ' Grö\u00ADße\u200E', 'Größe\u00A0'])(
    'names the custom field %j as people type it',
    (header) => {
      const columns = mapColumns(['phone', header]);
      expect(readRow(['+14155550123', 'M'], columns)).toMatchObject({
        customFields: { ['Größe'.normalize('NFC')]: 'M' },
      });
    },
  );

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

  it('reads the separator of Google Contacts and leaves out what stands for no address', () => {
    const header = ['E-mail 1 - Value', 'Phone 1 - Value'];
    expect(readRowUnder(header, ['* a@x.co ::: b@x.co', '+1 415 555 0100 ::: N/A'])).toMatchObject({
      emails: ['a@x.co', 'b@x.co'],
      phones: ['+1 415 555 0100'],
    });
    expect(
      readRowUnder(header, [
        'Ada <a@x.co> / mailto:b@x.co\n\u200Bc@x.co',
        '+1 415 555 0100 / +1 415 555 0101\n+1 415 555 0102',
      ]),
    ).toMatchObject({
      emails: ['a@x.co', 'b@x.co', 'c@x.co'],
      phones: ['+1 415 555 0100', '+1 415 555 0101', '+1 415 555 0102'],
    });
    for (const nothing of [
      'N/A',
      'n/a',
      'n.a.',
      '-',
      '--',
      'none',
      'NULL',
      'NaN',
      '0',
      '0000',
      '0.0',
      '0,00',
      '#N/A',
      '#NV',
      '#REF!',
      'unbekannt',
      '(none)',
      'N / A',
      'no',
      's/n',
      'TBA',
    ])
      expect(readRowUnder(['email', 'phone'], ['a@x.co', nothing])).toMatchObject({ phones: [] });
  });

  it('reads addresses without a separator, and texts that exports protect from spreadsheets', () => {
    expect(
      readRowUnder(
        ['="email"', 'phone', 'firstName'],
        ['a@x.co or b@x.co c@x.co', '+14155550100/+14155550101', '="Ada "'],
      ),
    ).toMatchObject({
      firstName: 'Ada',
      emails: ['a@x.co', 'b@x.co', 'c@x.co'],
      phones: ['+14155550100', '+14155550101'],
    });
    expect(readRowUnder(['phone'], ['="4915112345678"'])).toMatchObject({ phones: ['4915112345678'] });
  });

  it('writes one-line fields in one line', () => {
    const row = readRowUnder(
      ['email', 'firstName', 'company', 'notes', 'city'],
      ['a@x.co', 'Ada\r\nMaria', 'Analytical\u000b\u0085Engines  Ltd', 'two\nlines\u0007', 'a\u0001'],
    );
    expect(row).toMatchObject({
      firstName: 'Ada Maria',
      companyName: 'Analytical Engines  Ltd',
      notes: 'two\nlines ',
      customFields: { city: 'a ' },
    });
  });

  it.each([
    ['Ada Lovelace', 'Ada', 'Lovelace'],
    ['Lovelace, Ada Maria', 'Ada Maria', 'Lovelace'],
    ['Ada  van den Berg', 'Ada', 'van den Berg'],
    ['Ada', 'Ada', ''],
  ])('splits the name %j', (name, firstName, lastName) => {
    expect(splitName(name)).toEqual({ firstName, lastName });
  });

  it('ignores empty cells behind the last column, with which spreadsheets pad rows', () => {
    expect(readRowUnder(['email'], ['ada@contact.example', '', ' '])).toMatchObject({
      emails: ['ada@contact.example'],
    });
    expect(readRowUnder(['email'], ['ada@contact.example', 'x'])).toEqual({
      reason: 'has 2 fields instead of 1',
    });
  });

  it.each([
    '(leer)',
    'nicht angegeben',
    'n.v.t.',
    'non renseigné',
    'sin datos',
    'não informado',
    'ingen',
    'brak',
    'なし',
    '无',
    'нет',
  ])('takes %j for no address', (cell) =>
    expect(readRowUnder(['email', 'phone'], ['ada@contact.example', cell])).toMatchObject({ phones: [] }),
  );

  it('gives the reason why a row is rejected', () => {
    expect(readRowUnder(['email'], ['a@x.co', 'more'])).toEqual({ reason: 'has 2 fields instead of 1' });
    expect(readRowUnder(['email', 'firstName'], ['a@x.co', 'x'.repeat(501)])).toMatchObject({
      reason: expect.stringContaining('firstName'),
    });
  });
});
