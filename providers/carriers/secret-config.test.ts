import { expect, test } from 'vitest';
import { z } from 'zod';
import { MASK, maskConfig, openConfig, sealConfig, secretFields } from './secret-config.ts';

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
