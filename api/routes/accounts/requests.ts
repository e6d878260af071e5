import { z } from 'zod';
import { listRequests, type RequestRow } from '#db/queries/accounts/request-log.ts';
import { LoggedRequest } from '#domain/accounts/request-log.ts';
import { NextCursor, page, PageQuery, spanOf, SpanQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

/** `404`, or `4xx` for all of a class. */
const StatusFilter = z
  .string()
  .regex(/^[1-5](\d\d|xx)$/, 'must be a status such as 404, or a class such as 4xx')
  .transform((text): [from: number, to: number] => {
    if (!text.endsWith('xx')) return [Number(text), Number(text)];
    const from = Number(text.charAt(0)) * 100;
    return [from, from + 99];
  });

const present = ({ id, at, actorType, actorId, actorName, ...row }: RequestRow): LoggedRequest => ({
  ...row,
  _id: id,
  at: at.toISOString(),
  actor: { type: actorType, id: actorId, name: actorName },
});

export const requestRoutes = [
  workspaceRoute({
    id: 'listRequests',
    method: 'GET',
    path: '/api/requests',
    tag: 'Requests',
    summary: 'List the requests of the workspace in the last 30 days, newest first',
    description:
      'The requests of keys and signed-in users; an entry appears some seconds after its response. No bodies, queries, ids or addresses are stored. Successful requests to bulk intake with the same key share an entry for two seconds. If a process crashes, the entries of its last seconds are lost.',
    role: 'admin',
    scope: 'manage',
    heavy: true,
    query: PageQuery.extend({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
      status: StatusFilter.optional(),
      path: z.string().max(200).optional().meta({ description: 'The path template: `/api/messages/{id}`.' }),
      code: z.string().max(100).optional().meta({ description: 'The code of the error: `NOT_FOUND`.' }),
      actorType: z
        .enum(['key', 'user'])
        .optional()
        .meta({ description: '`user`: of people, as in the console.' }),
      actorId: z.string().max(255).optional().meta({ description: 'The id of a key or a user.' }),
      ...SpanQuery.shape,
    }),
    responses: {
      200: z.object({
        success: z.literal(true),
        requests: z.array(LoggedRequest),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, caller, query: { limit, cursor, ...query } }) {
      const filter = { ...query, ...spanOf(query, caller.workspace.timezone) };
      const { items, nextCursor } = page(await listRequests(db, filter, { limit, cursor }), limit);
      return { status: 200, body: { success: true, requests: items.map(present), nextCursor } };
    },
  }),
];
