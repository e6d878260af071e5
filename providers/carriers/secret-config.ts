import { z } from 'zod';

/** Shown in place of a secret. */
export const MASK = '••••••••';

/** Cached by schema, because reading a schema takes much longer than opening the settings, which every callback and send does. */
const secretsOf = new WeakMap<z.ZodType, readonly string[]>();

/** The names of secret settings, which are declared with `.meta({ secret: true })`. */
export function secretFields(schema: z.ZodType): readonly string[] {
  const known = secretsOf.get(schema);
  if (known) return known;
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const secrets = Object.entries(properties)
    .filter(([, property]) => typeof property === 'object' && property['secret'] === true)
    .map(([name]) => name);
  secretsOf.set(schema, secrets);
  return secrets;
}

/**
 * Validates settings and encrypts their secrets for storage.
 * @throws ZodError
 */
export function sealConfig(
  schema: z.ZodType,
  given: Record<string, unknown>,
  seal: (plain: string) => string,
): Record<string, unknown> {
  schema.parse(given);
  return mapSecrets(schema, given, seal);
}

/**
 * Decrypts and validates stored settings.
 * @throws ZodError, or any error of `open`.
 */
export function openConfig<Config>(
  schema: z.ZodType<Config>,
  stored: Record<string, unknown>,
  open: (sealed: string) => string,
): Config {
  return schema.parse(mapSecrets(schema, stored, open));
}

/** Settings with their secrets masked. */
export function maskConfig(schema: z.ZodType, stored: Record<string, unknown>): Record<string, unknown> {
  return mapSecrets(schema, stored, () => MASK);
}

function mapSecrets(
  schema: z.ZodType,
  config: Record<string, unknown>,
  change: (secret: string) => string,
): Record<string, unknown> {
  const secrets = secretFields(schema);
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      secrets.includes(name) && typeof value === 'string' ? change(value) : value,
    ]),
  );
}

/** A text of a server without the secrets of the settings, which it may repeat. */
export function withoutSecrets(schema: z.ZodType, settings: unknown, text: string): string {
  const given = settings as Record<string, unknown>;
  return secretFields(schema)
    .flatMap((name) => (typeof given[name] === 'string' ? [given[name], ...passwordsIn(given[name])] : []))
    .filter((secret) => secret.length >= SHORTEST_SECRET && !isWord(secret))
    .toSorted((a, b) => b.length - a.length)
    .reduce((shown, secret) => shown.replaceAll(wholeOf(secret), MASK), text);
}

/** A sentence, or a port or a code in it, may contain it for another reason: masked, it would tell the secret. */
const isWord = (secret: string): boolean => /^(?:\p{L}{1,12}|\d{1,6})$/u.test(secret);

/** Not as a part of a longer word. */
const wholeOf = (secret: string): RegExp =>
  new RegExp(
    `(?<![\\p{L}\\p{N}])${secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?![\\p{L}\\p{N}])`,
    'gu',
  );

/** Replacing a shorter one would make texts unreadable, and reveal it by what is missing. */
const SHORTEST_SECRET = 4;

/** The password in a URL, both as written and decoded. */
function passwordsIn(secret: string): string[] {
  if (!URL.canParse(secret)) return [];
  const { password } = new URL(secret);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
