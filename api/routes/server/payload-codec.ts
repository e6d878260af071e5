import type { Payload, PayloadCodec } from '@temporalio/common';
import type { Context } from 'koa';
import { z } from 'zod';
import { mapInTurns } from '#domain/base/turns.ts';
import { PayloadCodecError } from '#providers/payload-codec.ts';
import { requireOperator } from '#api/auth/operators.ts';
import { readBody } from '#api/http/body.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { parseInTurns } from '#api/http/parse.ts';
import { publicRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

/** A margin for the metadata of payloads. */
const MAX_VALUES = 60_000;

/** Payloads in protobuf's JSON format: bytes in Base64, without empty lists. */
const Payloads = z.object({
  payloads: z
    .array(z.object({ metadata: z.record(z.string(), z.base64()).optional(), data: z.base64().optional() }))
    .max(10_000)
    .default([]),
});
type Payloads = z.infer<typeof Payloads>;

/** The remote codec of Temporal's UI and command line: `POST …/decode` and `POST …/encode`. */
export const payloadCodecRoutes = (['decode', 'encode'] as const).flatMap((action) => {
  const path = `/codec/${action}`;
  return [
    publicRoute({
      id: `${action}Payloads`,
      method: 'POST',
      path,
      tag: 'System',
      summary: `${action === 'decode' ? 'Decrypt' : 'Encrypt'} payloads of workflows, for the Temporal UI of an operator`,
      description:
        'Requires the session token of a user in `TEMPORAL_CODEC_OPERATORS`. Without that variable, the endpoint does not exist.',
      body: Payloads,
      contentTypes: { 200: 'application/json' },
      schemas: { 200: Payloads },
      errors: ['UNAUTHORIZED', 'SESSION_REQUIRED', 'OPERATOR_REQUIRED', 'NOT_FOUND'],
      async respond(context, services) {
        allowOrigin(context, services);
        const { codec, userId } = await operator(context, services);
        const body = (await parseInTurns(
          Payloads,
          await readBody(context, { maxValues: MAX_VALUES }),
        )) as Payloads;
        const payloads = await mapInTurns(body.payloads, fromJson);
        const changed = await codec[action](payloads).catch((error: unknown) => {
          throw error instanceof PayloadCodecError ? invalid('payloads', error.message) : error;
        });
        services.logger.info({ userId, action, payloads: payloads.length }, 'an operator used the codec');
        context.set('Cache-Control', 'no-store');
        context.body = { payloads: changed.map(toJson) };
      },
    }),

    /** Browsers send this preflight before a request from the UI's origin. */
    publicRoute({
      id: `${action}PayloadsPreflight`,
      method: 'OPTIONS',
      path,
      tag: 'System',
      summary: 'Allow the Temporal UI to call the codec from its origin',
      contentTypes: { 204: null },
      hidden: true,
      async respond(context, services) {
        allowOrigin(context, services);
        context.set({
          'Access-Control-Allow-Methods': 'POST',
          'Access-Control-Allow-Headers': 'authorization, authorization-extras, content-type, x-namespace',
          'Access-Control-Max-Age': '600',
        });
        context.status = 204;
      },
    }),
  ];
});

function allowOrigin(context: Context, { config }: Services): void {
  const { codec, temporalUi } = config;
  if (codec.operators === null) throw new ApiError('NOT_FOUND', 'There is no such endpoint');
  context.vary('Origin');
  if (temporalUi !== null && context.get('origin') === temporalUi)
    context.set('Access-Control-Allow-Origin', temporalUi);
}

/** @throws UNAUTHORIZED, SESSION_REQUIRED, OPERATOR_REQUIRED, NOT_FOUND, RATE_LIMITED */
async function operator(
  context: Context,
  services: Services,
): Promise<{ codec: PayloadCodec; userId: string }> {
  const { config, payloadCodec } = services;
  const userId = await requireOperator(context, services, config.codec.operators);
  if (!payloadCodec) throw new ApiError('NOT_FOUND', 'There is no such endpoint');
  return { codec: payloadCodec, userId };
}

const fromJson = ({ metadata = {}, data = '' }: Payloads['payloads'][number]): Payload => ({
  metadata: Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
  ),
  data: Buffer.from(data, 'base64'),
});

const toJson = ({ metadata, data }: Payload): Payloads['payloads'][number] => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  ),
  data: Buffer.from(data ?? []).toString('base64'),
});
