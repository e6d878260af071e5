import { z } from 'zod';

/** What stands for a secret wherever a line's settings are shown. */
export const MASK = '••••••••';

/** The names of a carrier's settings that are secret: those declared with `.meta({ secret: true })`. */
export function secretFields(schema: z.ZodType): string[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties)
    .filter(([, property]) => typeof property === 'object' && property['secret'] === true)
    .map(([name]) => name);
}

/**
 * Checks a line's settings as they were given and seals their secrets, for storing.
 * @throws ZodError when the carrier does not take them.
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
 * Stored settings as the adapter takes them.
 * @throws ZodError, or whatever `open` throws.
 */
export function openConfig<Config>(
  schema: z.ZodType<Config>,
  stored: Record<string, unknown>,
  open: (sealed: string) => string,
): Config {
  return schema.parse(mapSecrets(schema, stored, open));
}

/** Settings fit to be shown: whether a secret is set, never what it is. */
export function maskConfig(schema: z.ZodType, stored: Record<string, unknown>): Record<string, unknown> {
  return mapSecrets(schema, stored, () => MASK);
}

function mapSecrets(
  schema: z.ZodType,
  config: Record<string, unknown>,
  change: (secret: string) => string,
): Record<string, unknown> {
  const secret = new Set(secretFields(schema));
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      secret.has(name) && typeof value === 'string' ? change(value) : value,
    ]),
  );
}
