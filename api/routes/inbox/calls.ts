import { z } from 'zod';
import { findCalls, presentCall } from '#db/queries/inbox/calls.ts';
import { Call } from '#domain/inbox/call.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import { formsOf } from '#domain/base/contact-key.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { wholeNumber } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const Number = z.string().max(50).optional();

const YesNo = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false', '1', '0', '']))
  .default('false')
  .transform((text) => text === 'true' || text === '1');

export const callRoutes = [
  workspaceRoute({
    id: 'listCallRecordings',
    method: 'GET',
    path: '/api/voice/recordings',
    tag: 'Calls',
    summary: 'List the calls from or to a number with their recordings, newest first',
    query: z.object({
      number: Number.meta({ description: 'Required, in E.164.' }),
      to: Number.meta({ description: 'The same as `number`.' }),
      latest: YesNo.meta({ description: 'Only the most recent call; `limit` is ignored.' }),
      withRecordingOnly: YesNo.meta({ description: 'Only calls with an available recording.' }),
      // Checked below, because it is ignored with `latest`.
      limit: wholeNumber(1, 100, 20)
        .catch(0)
        .meta({ override: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }),
    }),
    responses: { 200: z.object({ number: z.string(), count: z.int(), calls: z.array(Call) }) },
    errors: ['MISSING_NUMBER'],
    async handler({ db, caller, query, links, now }) {
      const given = query.number || query.to;
      if (!given?.trim()) throw new ApiError('MISSING_NUMBER');
      // An unescaped plus sign arrives as a space.
      const number = normalizePhone(given.replace(/^ (?=\d)/, '+'), caller.workspace.country);
      if (number === null) throw invalid('number', 'must be a phone number in E.164');
      const { latest, withRecordingOnly, limit } = query;
      if (!latest && limit === 0) throw invalid('limit', 'must be from 1 to 100');
      const rows = await findCalls(db, formsOf(number), { limit: latest ? 1 : limit, withRecordingOnly });
      const calls = rows.map((row) => presentCall(db.workspaceId, row, links, now));
      return { status: 200, body: { number, count: calls.length, calls } };
    },
  }),
];
