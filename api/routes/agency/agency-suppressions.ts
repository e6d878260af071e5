import { z } from 'zod';
import {
  deleteSuppression,
  listSuppressions,
  presentSuppression,
  saveSuppressions,
} from '#db/queries/contacts/suppressions.ts';
import {
  MAX_SUPPRESSIONS,
  readSuppressions,
  Suppression,
  SuppressionInput,
  SuppressionName,
  suppressionOf,
} from '#domain/contacts/suppression.ts';
import { pageBy, PositionQuery } from '#api/http/cursor.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor } from '#api/http/page.ts';
import { agencyRoute } from '#api/http/route.ts';

const NOT_A_NAME = 'must be a phone number with its country code or an email address, or else a domain';

async function entriesOf({ csv, reason, ...name }: z.output<typeof SuppressionInput>) {
  if (csv === undefined) {
    const value = suppressionOf(name);
    if (value === null) throw invalid(name.domain === undefined ? 'address' : 'domain', NOT_A_NAME);
    return [{ value, reason: reason ?? null }];
  }
  if (name.address !== undefined || name.domain !== undefined)
    throw invalid('csv', 'cannot be combined with address or domain');
  const read = await readSuppressions(csv);
  if ('line' in read)
    throw invalid('csv', `line ${read.line} ${NOT_A_NAME}, and there are ${MAX_SUPPRESSIONS} lines at most`);
  if (read.length === 0) throw invalid('csv', 'must have at least one line');
  return read;
}

const Success = z.object({ success: z.literal(true) });

export const agencySuppressionRoutes = [
  agencyRoute({
    id: 'listAgencySuppressions',
    method: 'GET',
    path: '/api/agency/suppressions',
    tag: 'Agency',
    summary: 'List the addresses and domains to which no client sends, newest first',
    credential: 'session',
    query: PositionQuery,
    responses: {
      200: Success.extend({ suppressions: z.array(Suppression), nextCursor: NextCursor }),
    },
    async handler({ db, caller, query: { limit, cursor } }) {
      const rows = await listSuppressions(db, caller.agency.id, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, ({ createdAt, value }) => ({
        at: createdAt,
        key: value,
      }));
      return {
        status: 200,
        body: { success: true, suppressions: items.map(presentSuppression), nextCursor },
      };
    },
  }),

  agencyRoute({
    id: 'createAgencySuppressions',
    method: 'POST',
    path: '/api/agency/suppressions',
    tag: 'Agency',
    summary: 'Suppress an address, a domain, or a list of them',
    description:
      'Messages to them end as `failed` with `errorMessage: "recipient_suppressed"` in every client, including waiting ones. A domain does not include its subdomains. A list is `csv`, or the body as `text/csv`. An entry that exists gets the new reason.',
    credential: 'session',
    idempotent: true,
    csvField: 'csv',
    body: SuppressionInput,
    responses: { 201: Success.extend({ suppressions: z.array(Suppression), count: z.int() }) },
    audit: { action: 'suppressions.updated', target: 'agency' },
    async handler({ db, caller, body, now }) {
      const by = { userId: caller.userId, now };
      const saved = await saveSuppressions(db, caller.agency.id, await entriesOf(body), by);
      const suppressions = saved.slice(0, 100).map(presentSuppression);
      return { status: 201, body: { success: true, suppressions, count: saved.length } };
    },
  }),

  agencyRoute({
    id: 'deleteAgencySuppression',
    method: 'DELETE',
    path: '/api/agency/suppressions',
    tag: 'Agency',
    summary: 'Remove an address or a domain from the suppressions, by query or body',
    credential: 'session',
    query: SuppressionName,
    // Some clients and proxies drop the body of a DELETE, hence the query parameters.
    body: SuppressionName,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
    audit: { action: 'suppressions.updated', target: 'agency' },
    async handler({ db, caller, query, body }) {
      const name = { address: query.address ?? body.address, domain: query.domain ?? body.domain };
      const value = suppressionOf(name);
      if (value === null) throw invalid(name.domain === undefined ? 'address' : 'domain', NOT_A_NAME);
      if (!(await deleteSuppression(db, caller.agency.id, value)))
        throw new ApiError('NOT_FOUND', 'It is not suppressed');
      return { status: 200, body: { success: true } };
    },
  }),
];
