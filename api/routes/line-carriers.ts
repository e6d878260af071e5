import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { connectLine } from '#db/commands/lines/line-carriers.ts';
import { holdLine, lockHeldLine, releaseLine } from '#db/commands/lines/line-moves.ts';
import { findLine, type LineRow } from '#db/queries/lines.ts';
import { withTenant } from '#db/transactions.ts';
import { normalizeAddress } from '#domain/address.ts';
import { Channel, isPhoneChannel } from '#domain/channel.ts';
import { Id } from '#domain/ids.ts';
import { truncate } from '#domain/text.ts';
import type { Carrier } from '#providers/carriers/carrier.ts';
import { callbackAddress, lineCarrier } from '#providers/carriers/line-carrier.ts';
import { MASK, maskConfig, sealConfig, secretFields } from '#providers/carriers/secret-config.ts';
import { secretContext } from '#providers/secret-box.ts';
import { allowedAddress } from '../http/allowed-address.ts';
import { ApiError, invalid, invalidFields } from '../http/errors.ts';
import { workspaceRoute } from '../http/route.ts';
import type { Services } from '../services.ts';

const Settings = z.record(z.string(), z.unknown());

const LineConnection = z
  .object({
    lineId: Id,
    provider: z.string(),
    address: z.string().nullable().meta({ description: "The line's sender address." }),
    config: Settings.meta({ description: `Secrets are shown as \`${MASK}\`.` }),
    callbackUrl: z.url().meta({
      description:
        'The URL for replies and receipts. It contains a secret if the provider does not sign its callbacks.',
    }),
    callbackRegistered: z.boolean().meta({
      description:
        'Whether `callbackUrl` was registered at the provider. If not, register it there yourself.',
    }),
  })
  .meta({ id: 'LineConnection' });

const LineConnectionInput = z
  .object({
    provider: z.string().max(50).meta({ description: '`twilio`, `bluebubbles` or `smtp`.' }),
    address: z.string().max(320).optional().meta({
      description: "The line's sender address: a phone number or an email address. Default: unchanged.",
    }),
    config: Settings.meta({
      description:
        '`twilio`: `accountSid`, `authToken`, and `from` or `messagingServiceSid` if it is not the address; `baseUrl` for a server with the same API. `bluebubbles`: `url`, `password`, `method` (`apple-script` or `private-api`), `callbackSecret`. `smtp`: `url` (`smtps://user:password@host`), or `host`, `port`, `secure`, `user`, `password`; `imapUrl` (`imaps://user:password@host`) to read replies and bounces from; `inboundSecret`; `dkimSelector`, to check the record of the DKIM key. Callback secrets that are omitted are generated, or kept while the provider stays the same. A transfer to another workspace drops them. Servers are on the ports of their protocols: 80 and 443 (`bluebubbles` also 1234), 25, 465, 587 and 2525 for mail, 143 and 993 for IMAP.',
    }),
  })
  .meta({ id: 'LineConnectionInput' });

const CarrierDescription = z
  .object({
    provider: z.string(),
    channels: z.array(Channel),
    settings: z
      .record(z.string(), z.unknown())
      .meta({ description: 'A JSON Schema of `config`; secrets have `secret: true`.' }),
  })
  .meta({ id: 'CarrierDescription' });

const params = z.object({ id: Id });

const ResponseBody = z.object({ success: z.literal(true), connection: LineConnection });

/** How long to wait for the carrier when its settings are tested. */
const CONNECTION_TEST_TIMEOUT_MS = 6000;

export const lineCarrierRoutes = [
  workspaceRoute({
    id: 'listCarriers',
    method: 'GET',
    path: '/api/lines/carriers',
    tag: 'Lines',
    summary: 'List the carriers that lines can be connected to, with their settings',
    responses: { 200: z.object({ success: z.literal(true), carriers: z.array(CarrierDescription) }) },
    async handler({ carriers }) {
      const described = carriers.connectable.map((name) => describe(carriers.get(name)));
      return { status: 200, body: { success: true, carriers: described } };
    },
  }),

  workspaceRoute({
    id: 'getLineCarrier',
    method: 'GET',
    path: '/api/lines/{id}/carrier',
    tag: 'Lines',
    scope: 'manage',
    transaction: false,
    role: 'admin',
    summary: "Get a line's carrier connection",
    params,
    responses: { 200: ResponseBody },
    errors: ['NOT_FOUND'],
    async handler({ caller, params: { id }, ...services }) {
      const line = await withTenant(services.pools, caller.workspace.id, (db) => findLine(db, id));
      if (!line) throw lineNotFound();
      return { status: 200, body: { success: true, connection: present(line, services) } };
    },
  }),

  workspaceRoute({
    id: 'connectLineCarrier',
    method: 'PUT',
    path: '/api/lines/{id}/carrier',
    tag: 'Lines',
    transaction: false,
    role: 'admin',
    mode: 'live',
    summary: 'Connect a line to a carrier',
    description:
      'Before anything changes, the callback URL is registered at the carrier and the line is probed; settings that do not work are refused. Unsent messages are sent through the new carrier. Receipts from the previous carrier are no longer accepted. The settings are replaced as a whole; secrets must be re-entered each time.',
    params,
    body: LineConnectionInput,
    responses: { 200: ResponseBody },
    errors: ['NOT_FOUND', 'URL_NOT_ALLOWED', 'INVALID_STATE', 'CONFLICT', 'CARRIER_NOT_USABLE'],
    audit: { action: 'line.connected', target: 'line', targets: 'handler', changes: ['provider'] },
    async handler({ caller, params: { id }, body, now, audit, ...services }) {
      const { pools, config, secrets, egress } = services;
      const { id: workspaceId, country } = caller.workspace;
      const line = await withTenant(pools, workspaceId, (db) => findLine(db, id));
      if (!line) throw lineNotFound();
      assertConnectable(line);
      const carrier = carrierFor(line, body.provider, services);
      const settings = readSettings(carrier, withCallbackSecret(carrier, line, body.config, services));
      const address = addressOf(line, body.address, country);
      const servers = Object.entries(carrier.servers?.(settings) ?? {});
      await Promise.all(
        servers.map(([name, server]) => {
          const checked =
            'url' in server
              ? egress.guard.checkUrl(server.url, server.ports)
              : egress.guard.checkHost(server.host, server.port, server.ports);
          return allowedAddress(`config.${name}`, checked);
        }),
      );
      const inbox = await testConnection(async () => {
        await carrier.configureInbound?.(settings, id, callbackAddress(config.publicUrl, carrier, id));
        await carrier.probe(settings, id);
        return carrier.readInbox?.(settings, null, workspaceId);
      });
      const carrierConfig = sealConfig(carrier.config, settings, (plain) =>
        secrets.seal(plain, secretContext('line', workspaceId, id)),
      );
      await holdLine(pools, workspaceId, id);
      const connected = await withTenant(pools, workspaceId, async (db) => {
        const held = await lockHeldLine(db, id);
        if (!held) throw lineNotFound();
        // Only the current carrier can report the outcome of these messages.
        if (held === 'sending')
          throw new ApiError('CONFLICT', 'The line is sending a message; try again in a moment');
        assertConnectable(held);
        const inboxPosition = inbox?.read.at(-1)?.position ?? null;
        await connectLine(db, held, { carrier: carrier.name, carrierConfig, address, inboxPosition }, now);
        await audit(db, [{ id }]);
        return findLine(db, id);
      }).finally(() => releaseLine(pools, workspaceId, id));
      if (!connected) throw lineNotFound();
      return { status: 200, body: { success: true, connection: present(connected, services) } };
    },
  }),
];

const describe = ({ name, channels, config }: Carrier): z.input<typeof CarrierDescription> => ({
  provider: name,
  channels: [...channels],
  settings: z.toJSONSchema(config, { io: 'input', unrepresentable: 'any' }),
});

const lineNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Line not found');

/** Active lines can be connected, and lines of the customer's own (`byo`) also before they are active. */
function assertConnectable({ provisioningStatus: status, lineType }: LineRow): void {
  if (status === 'active' || (lineType === 'byo' && (status === 'provisioning' || status === 'failed')))
    return;
  throw new ApiError('INVALID_STATE', 'Only an active line can be connected');
}

function carrierFor(line: LineRow, provider: string, { carriers }: Services): Carrier {
  if (!carriers.connectable.includes(provider))
    throw invalid('provider', `must be one of ${carriers.connectable.join(', ')}`);
  const carrier = carriers.get(provider);
  if (!carrier.channels.includes(line.channel))
    throw invalid(
      'provider',
      `${provider} supports ${carrier.channels.join(' and ')}, but the line is for ${line.channel}`,
    );
  return carrier;
}

/** Keeps a secret that was generated before, so that the URL registered at the provider stays valid. */
function withCallbackSecret(
  carrier: Carrier,
  line: LineRow,
  given: Record<string, unknown>,
  services: Services,
): Record<string, unknown> {
  const { callbackSecret: name } = carrier;
  if (name === undefined || given[name] !== undefined) return given;
  const known = line.carrier === carrier.name ? callbackSecretOf(line, services) : undefined;
  return { ...given, [name]: known ?? randomBytes(24).toString('base64url') };
}

function callbackSecretOf(line: LineRow, services: Services): string | undefined {
  const { carrier, config } = lineCarrier(services, line);
  const secret = (config as Record<string, unknown>)[carrier.callbackSecret ?? ''];
  return typeof secret === 'string' ? secret : undefined;
}

function readSettings(carrier: Carrier, given: Record<string, unknown>): Record<string, unknown> {
  const masked = secretFields(carrier.config).filter((name) => given[name] === MASK);
  if (masked.length > 0)
    throw invalidFields(masked.map((name) => ({ path: `config.${name}`, message: 'must be re-entered' })));
  const parsed = carrier.config.safeParse(given);
  if (parsed.success) return parsed.data as Record<string, unknown>;
  throw invalidFields(
    parsed.error.issues.map(({ path, message }) => ({ path: ['config', ...path].join('.'), message })),
  );
}

function addressOf(line: LineRow, given: string | undefined, country: string): string {
  const isPhone = isPhoneChannel(line.channel);
  const known = isPhone ? line.phone : line.email;
  if (given === undefined) {
    if (known === null) throw invalid('address', 'is required: the line has no address yet');
    return known;
  }
  const address = given.includes('@') === isPhone ? null : normalizeAddress(given, country);
  if (address === null)
    throw invalid('address', `must be ${isPhone ? 'a phone number' : 'an email address'}`);
  return address;
}

async function testConnection<T>(test: () => Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error('no response within 6 seconds')),
    CONNECTION_TEST_TIMEOUT_MS,
  );
  try {
    return await Promise.race([test(), timeout]);
  } catch (error) {
    const reason = error instanceof Error ? firstLine(error.message) : 'unknown error';
    throw new ApiError('CARRIER_NOT_USABLE', `The carrier does not work with these settings: ${reason}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Of what a server says, as much as explains a refusal. */
const firstLine = (text: string): string => truncate(text.split(/\p{Cc}/u, 1)[0] ?? '', 200);

function present(line: LineRow, services: Services): z.input<typeof LineConnection> {
  const { carriers, config } = services;
  const carrier = carriers.names.includes(line.carrier) ? carriers.get(line.carrier) : null;
  const callbackUrl = new URL(callbackAddress(config.publicUrl, carrier ?? { name: line.carrier }, line.id));
  const secret = carrier?.callbackSecret === undefined ? undefined : callbackSecretOf(line, services);
  if (secret !== undefined) callbackUrl.searchParams.set('secret', secret);
  return {
    lineId: line.id,
    provider: line.carrier,
    address: line.phone ?? line.email,
    config: carrier ? maskConfig(carrier.config, line.carrierConfig) : {},
    callbackUrl: callbackUrl.href,
    callbackRegistered: carrier?.configureInbound !== undefined,
  };
}
