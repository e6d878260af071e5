import { z } from 'zod';
import { findLine } from '#db/queries/lines/lines.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { Channel } from '#domain/base/channel.ts';
import { Id } from '#domain/base/ids.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { callbackAddress, lineCarrier } from '#providers/carriers/line-carrier.ts';
import { TEST_TIMEOUT_MS, testConnection } from './connection-test.ts';
import { ApiError } from '#api/http/errors.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';
import { carrierFor, checkServers, readAddress, readSettings, withCallbackSecret } from './line-settings.ts';

/** Each test is a login at a server that the caller names. */
const LIMIT = perMinute(20);

const ConnectionCheck = z
  .object({
    name: z.string().meta({
      description:
        'What was checked: `server`, `credentials`, `sender` (the number or account), `callback` (whether the carrier reports to the line), `callback_address` (whether it can reach this installation), or one that only this carrier has.',
    }),
    result: z
      .enum(['pass', 'fail', 'unknown'])
      .meta({ description: '`unknown`: the carrier does not tell, or it took too long.' }),
    text: z.string().meta({ description: 'What was found, and what to do about it.' }),
    field: z.string().nullable().meta({ description: 'The field to change: `config.password`, `address`.' }),
  })
  .meta({ id: 'ConnectionCheck' });

const responses = {
  200: z
    .object({
      success: z.literal(true),
      works: z.boolean().meta({ description: 'No check failed.' }),
      checks: z.array(ConnectionCheck),
    })
    .meta({ id: 'ConnectionTest' }),
};

const description = `One check after the other, up to ${TEST_TIMEOUT_MS / 1000} seconds, until one fails that makes the others pointless. Nothing is stored or changed at the carrier, and no message is sent.`;

export const lineConnectionTestRoutes = [
  workspaceRoute({
    id: 'testCarrierSettings',
    method: 'POST',
    path: '/api/lines/carriers/test',
    tag: 'Lines',
    transaction: false,
    role: 'admin',
    mode: 'live',
    limit: LIMIT,
    summary: 'Test the settings of a carrier before you connect a line',
    description,
    body: z
      .object({
        provider: z.string().max(50).meta({ description: 'The name in `GET /api/lines/carriers`.' }),
        channel: Channel,
        address: z
          .string()
          .max(320)
          .optional()
          .meta({ description: 'The phone number or email address of the line.' }),
        config: z
          .record(z.string(), z.unknown())
          .meta({ description: 'The same as for `PUT /api/lines/{id}/carrier`, without a callback secret.' }),
      })
      .meta({ id: 'CarrierSettingsTest' }),
    responses,
    errors: ['URL_NOT_ALLOWED'],
    async handler({ caller, body, ...services }) {
      const carrier = carrierFor(body.channel, body.provider, services);
      const settings = readSettings(carrier, withCallbackSecret(carrier, null, body.config, services));
      const address =
        body.address === undefined ? null : readAddress(body.channel, body.address, caller.workspace.country);
      await checkServers(carrier, settings, services.egress.guard);
      const subject = { lineId: null, address, callbackUrl: null };
      return { status: 200, body: await testConnection(carrier, settings, subject, services) };
    },
  }),

  workspaceRoute({
    id: 'testLineCarrier',
    method: 'POST',
    path: '/api/lines/{id}/carrier/test',
    tag: 'Lines',
    transaction: false,
    role: 'admin',
    limit: LIMIT,
    summary: "Test a line's connection to its carrier",
    description: `${description} Unlike \`GET /api/lines/check-availability\`, it does not change the line's \`healthCheck\`.`,
    params: z.object({ id: Id }),
    responses,
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    async handler({ caller, params: { id }, ...services }) {
      const line = await withTenant(services.pools, caller.workspace.id, (db) => findLine(db, id));
      if (!line) throw lineNotFound();
      if (line.carrier === NO_CARRIER)
        throw new ApiError('INVALID_STATE', 'The line is not connected to a carrier');
      const { carrier, config } = lineCarrier(services, line);
      const subject = {
        lineId: id,
        address: line.phone ?? line.email,
        callbackUrl: callbackAddress(services.config.publicUrl, carrier, id),
      };
      return { status: 200, body: await testConnection(carrier, config, subject, services) };
    },
  }),
];
