import { randomBytes } from 'node:crypto';
import { writtenAddress } from '#domain/base/address.ts';
import { type Channel, isPhoneChannel } from '#domain/base/channel.ts';
import { plainIssue } from '#domain/base/issue-text.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import type { Carrier } from '#providers/carriers/carrier.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { MASK, secretFields } from '#providers/carriers/secret-config.ts';
import type { Guard } from '#providers/egress-guard.ts';
import { allowedAddress } from '#api/http/allowed-address.ts';
import { invalid, invalidFields } from '#api/http/errors.ts';
import type { Services } from '#api/services.ts';

/** The carrier that a caller names for a line. @throws VALIDATION_ERROR */
export function carrierFor(
  channel: Channel,
  provider: string,
  { carriers }: Pick<Services, 'carriers'>,
): Carrier {
  if (!carriers.connectable.includes(provider))
    throw invalid('provider', `must be one of ${carriers.connectable.join(', ')}`);
  const carrier = carriers.get(provider);
  if (!carrier.channels.includes(channel))
    throw invalid(
      'provider',
      `${provider} supports ${carrier.channels.join(' and ')}, but the line is for ${channel}`,
    );
  return carrier;
}

/**
 * Adds the secret of the callback URL. One that was generated before is kept, so that the URL registered at the provider
 * stays valid.
 * @param line null: there is none yet.
 */
export function withCallbackSecret(
  carrier: Carrier,
  line: LineRow | null,
  given: Record<string, unknown>,
  services: Pick<Services, 'carriers' | 'secrets'>,
): Record<string, unknown> {
  const { callbackSecret: name } = carrier;
  if (name === undefined || given[name] !== undefined) return given;
  const known = line?.carrier === carrier.name ? callbackSecretOf(line, services) : undefined;
  return { ...given, [name]: known ?? randomBytes(24).toString('base64url') };
}

export function callbackSecretOf(
  line: LineRow,
  services: Pick<Services, 'carriers' | 'secrets'>,
): string | undefined {
  const { carrier, config } = lineCarrier(services, line);
  const secret = (config as Record<string, unknown>)[carrier.callbackSecret ?? ''];
  return typeof secret === 'string' ? secret : undefined;
}

/** @throws VALIDATION_ERROR */
export function readSettings(carrier: Carrier, given: Record<string, unknown>): Record<string, unknown> {
  const masked = secretFields(carrier.config).filter((name) => given[name] === MASK);
  if (masked.length > 0)
    throw invalidFields(masked.map((name) => ({ path: `config.${name}`, message: 'must be re-entered' })));
  const parsed = carrier.config.safeParse(given, { error: plainIssue });
  if (parsed.success) return parsed.data as Record<string, unknown>;
  throw invalidFields(
    parsed.error.issues.map(({ path, message }) => ({ path: ['config', ...path].join('.'), message })),
  );
}

/** Checks the servers in settings before anything connects to them. @throws URL_NOT_ALLOWED */
export async function checkServers(carrier: Carrier, settings: unknown, guard: Guard): Promise<void> {
  await Promise.all(
    Object.entries(carrier.servers?.(settings) ?? {}).map(([name, server]) => {
      const checked =
        'url' in server
          ? guard.checkUrl(server.url, server.ports)
          : guard.checkHost(server.host, server.port, server.ports);
      return allowedAddress(`config.${name}`, checked);
    }),
  );
}

/** The address that a caller gives a line. @throws VALIDATION_ERROR */
export function readAddress(channel: Channel, given: string, country: string): string {
  const isPhone = isPhoneChannel(channel);
  const address = given.includes('@') === isPhone ? null : writtenAddress(given, country);
  if (address === null)
    throw invalid('address', `must be ${isPhone ? 'a phone number' : 'an email address'}`);
  return address;
}
