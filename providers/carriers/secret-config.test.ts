import { expect, test } from 'vitest';
import { z } from 'zod';
import { MASK, maskConfig, openConfig, sealConfig, secretFields, withoutSecrets } from './secret-config.ts';

const Settings = z
  .object({
    host: z.string(),
    token: z.string().meta({ secret: true }),
    password: z.string().meta({ secret: true }).optional(),
    key: z.string().nullable().default(null).meta({ secret: true }),
  })
  .refine(({ host }) => host !== '');

test('secretFields finds secrets through every schema wrapper', () => {
  expect(secretFields(Settings)).toEqual(['token', 'password', 'key']);
});

test('only the secrets that are present are sealed, masked and opened', () => {
  const given = { host: 'h', token: 't', key: null };
  const stored = sealConfig(Settings, given, (plain) => `<${plain}>`);
  expect(stored).toEqual({ host: 'h', token: '<t>', key: null });
  expect(maskConfig(Settings, stored)).toEqual({ host: 'h', token: MASK, key: null });
  expect(openConfig(Settings, stored, (sealed) => sealed.slice(1, -1))).toEqual(given);
});

test("settings that do not match the carrier's schema are refused before anything is sealed", () => {
  expect(() => sealConfig(Settings, { host: '', token: 't' }, () => 'sealed')).toThrow(z.ZodError);
});

test('a secret that is a word, or a part of one, is not told by what is masked', () => {
  const text = 'mail accepts the user and the password; passport';
  expect(withoutSecrets(Settings, { host: 'mail', token: 'pass' }, text)).toBe(text);
  const refused = '127.0.0.1:2525 answered 5501';
  for (const token of ['2525', '5501'])
    expect(withoutSecrets(Settings, { host: 'mail', token }, refused)).toBe(refused);
  expect(withoutSecrets(Settings, { host: 'mail', token: 'pass1' }, 'pass1, pass12')).toBe(`${MASK}, pass12`);
});

test("a server's text is shown without the secrets of the settings, also those inside of a URL", () => {
  const given = { host: 'mail', token: 'smtp://dana:p%40ssword@mail', password: 'open sesame', key: 'abc' };
  const text =
    'mail: dana, p%40ssword, p@ssword, open sesame and smtp://dana:p%40ssword@mail are wrong; abc too';
  expect(withoutSecrets(Settings, given, text)).toBe(
    `mail: dana, ${MASK}, ${MASK}, ${MASK} and ${MASK} are wrong; abc too`,
  );
});
