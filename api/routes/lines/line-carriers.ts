import { z } from 'zod';
import { connectLine } from '#db/commands/lines/line-carriers.ts';
import { beginLineChange, lockChangingLine, endLineChange } from '#db/commands/lines/line-moves.ts';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { Channel, isPhoneChannel } from '#domain/base/channel.ts';
import { Id } from '#domain/base/ids.ts';
import type { Carrier } from '#providers/carriers/carrier.ts';
import { callbackAddress } from '#providers/carriers/line-carrier.ts';
import { MASK, maskConfig, sealConfig } from '#providers/carriers/secret-config.ts';
import { secretContext } from '#providers/secret-box.ts';
import { firstLine } from './connection-test.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';
import {
  callbackSecretOf,
  carrierFor,
  checkServers,
  readAddress,
  readSettings,
  withCallbackSecret,
} from './line-settings.ts';
import type { Services } from '#api/services.ts';

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
    provider: z
      .string()
      .max(50)
      .meta({ description: '`twilio`, `telnyx`, `linq`, `sendblue`, `bluebubbles` or `smtp`.' }),
    address: z.string().min(1).max(320).optional().meta({
      description: "The line's sender address: a phone number or an email address. Default: unchanged.",
    }),
    config: Settings.meta({
      description:
        '`twilio`: `accountSid`, `authToken`, and `from` or `messagingServiceSid` if it is not the address; `baseUrl` for a server with the same API. `telnyx`: `apiKey`, `publicKey`, and `from` if it is not the address. `linq`: `apiKey`, `fromNumber`, `callbackSecret`. `sendblue`: `apiKeyId`, `apiSecretKey`, `fromNumber`, `callbackSecret`. `bluebubbles`: `url`, `password`, `method` (`apple-script` or `private-api`), `callbackSecret`. `smtp`: `url` (`smtps://user:password@host`), or `host`, `port`, `secure`, `user`, `password`; `imapUrl` (`imaps://user:password@host`) to read replies and bounces from; `inboundSecret`; `dkimSelector`, to check the record of the DKIM key. Callback secrets that are omitted are generated, or kept while the provider stays the same. A transfer to another workspace drops them. Servers are on the ports of their protocols: 80 and 443 (`bluebubbles` also 1234), 25, 465, 587 and 2525 for mail, 143 and 993 for IMAP.',
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
    provisionsLines: z
      .boolean()
      .meta({ description: 'Whether the carrier provisions lines, so that none must be connected by hand.' }),
    provisionsOwnLines: z.boolean().meta({
      description: 'Whether it also provisions lines of your own (`byo`) until they are connected elsewhere.',
    }),
    guide: z
      .object({
        title: z.string(),
        summary: z.string(),
        before: z.array(z.string()).meta({ description: 'Before the settings can be entered.' }),
        after: z.array(z.string()).meta({ description: 'Once the line is connected.' }),
        answering: z
          .object({ phone: z.string(), email: z.string() })
          .nullable()
          .meta({ description: 'Recipients that answer automatically; null: it has none.' }),
      })
      .meta({ description: 'The steps of a person at the carrier, one sentence each.' }),
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
    summary:
      'List the carriers that lines can be connected to, with their settings, and those that provide lines',
    responses: { 200: z.object({ success: z.literal(true), carriers: z.array(CarrierDescription) }) },
    async handler({ carriers }) {
      const described = carriers.names
        .map((name) => carriers.get(name))
        .filter(({ name, provisioning }) => provisioning || carriers.connectable.includes(name))
        .map(describe);
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
      const carrier = carrierFor(line.channel, body.provider, services);
      const settings = readSettings(carrier, withCallbackSecret(carrier, line, body.config, services));
      const address = addressOf(line, body.address, country);
      await checkServers(carrier, settings, egress.guard);
      const inbox = await testConnection(async () => {
        await carrier.configureInbound?.(settings, id, callbackAddress(config.publicUrl, carrier, id));
        await carrier.probe(settings, id);
        return carrier.readInbox?.(settings, null, workspaceId);
      });
      const carrierConfig = sealConfig(carrier.config, settings, (plain) =>
        secrets.seal(plain, secretContext('line', workspaceId, id)),
      );
      await beginLineChange(pools, workspaceId, id);
      const connected = await withTenant(pools, workspaceId, async (db) => {
        const held = await lockChangingLine(db, id);
        if (!held) throw lineNotFound();
        // Only the current carrier can report the outcome of these messages.
        if (held === 'sending')
          throw new ApiError('CONFLICT', 'The line is sending a message; try again in a moment');
        assertConnectable(held);
        const inboxPosition = inbox?.read.at(-1)?.position ?? null;
        await connectLine(db, held, { carrier: carrier.name, carrierConfig, address, inboxPosition }, now);
        await audit(db, [{ id }]);
        return findLine(db, id);
      }).finally(() => endLineChange(pools, workspaceId, id));
      if (!connected) throw lineNotFound();
      return { status: 200, body: { success: true, connection: present(connected, services) } };
    },
  }),
];

const describe = ({
  name,
  channels,
  config,
  provisioning,
  guide,
}: Carrier): z.input<typeof CarrierDescription> => ({
  provider: name,
  channels: [...channels],
  settings: z.toJSONSchema(config, { io: 'input', unrepresentable: 'any' }),
  provisionsLines: provisioning !== undefined,
  provisionsOwnLines: provisioning?.includesOwnLines === true,
  guide: {
    title: guide?.title ?? name,
    summary: guide?.summary ?? '',
    before: [...(guide?.before ?? [])],
    after: [...(guide?.after ?? [])],
    answering: guide?.answering ?? null,
  },
});

/** Active lines can be connected, and lines of the customer's own (`byo`) also before they are active. */
function assertConnectable({ provisioningStatus: status, lineType }: LineRow): void {
  if (status === 'active' || (lineType === 'byo' && (status === 'provisioning' || status === 'failed')))
    return;
  throw new ApiError('INVALID_STATE', 'Only an active line can be connected');
}

function addressOf(line: LineRow, given: string | undefined, country: string): string {
  const isPhone = isPhoneChannel(line.channel);
  const known = isPhone ? line.phone : line.email;
  if (given === undefined) {
    if (known === null) throw invalid('address', 'is required: the line has no address yet');
    return known;
  }
  return readAddress(line.channel, given, country);
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
