import { z } from 'zod';
import { Search } from '#domain/base/search.ts';
import { optIn, optOut } from '#db/commands/contacts/opt-outs.ts';
import { isOptedOut, listOptOuts, presentOptOut } from '#db/queries/contacts/opt-outs.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { OptOut } from '#domain/contacts/opt-out.ts';
import { authorOf } from '#api/http/audit.ts';
import { pageBy, PositionQuery } from '#api/http/cursor.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

const Address = z.string().max(320).meta({ description: 'A phone number or an email address.' });

const Success = z.object({ success: z.literal(true) });

function addressOf(text: string, caller: WorkspaceCaller): string {
  const address = normalizeAddress(text, caller.workspace.country);
  if (address === null) throw invalid('address', 'must be a phone number or an email address');
  return address;
}

const OneAddress = z.object({ address: Address });

export const optOutRoutes = [
  workspaceRoute({
    id: 'listOptOuts',
    method: 'GET',
    path: '/api/opt-outs',
    tag: 'Opt-outs',
    summary: 'List opted-out addresses, newest first',
    query: PositionQuery.extend({
      search: Search.meta({ description: 'Matches any part of the address, a number also by its digits.' }),
    }),
    responses: {
      200: z.object({ success: z.literal(true), optOuts: z.array(OptOut), nextCursor: NextCursor }),
    },
    async handler({ db, query: { limit, cursor, search } }) {
      const rows = await listOptOuts(db, { limit: limit + 1, after: cursor ?? null, search });
      const { items, nextCursor } = pageBy(rows, limit, ({ createdAt, address }) => ({
        at: createdAt,
        key: address,
      }));
      return { status: 200, body: { success: true, optOuts: items.map(presentOptOut), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createOptOut',
    method: 'POST',
    path: '/api/opt-outs',
    tag: 'Opt-outs',
    summary: 'Opt an address out; its unsent messages fail with `recipient_opted_out`',
    description: 'If the address is already opted out, the existing entry is returned.',
    idempotent: true,
    body: z.object({ address: Address }),
    responses: { 201: Success.extend({ optOut: OptOut }) },
    async handler({ db, caller, body, now }) {
      const author = authorOf(caller);
      const address = addressOf(body.address, caller);
      const row = await optOut(db, address, { source: 'api', at: now, now, author });
      return { status: 201, body: { success: true, optOut: presentOptOut(row) } };
    },
  }),

  workspaceRoute({
    id: 'deleteOptOut',
    method: 'DELETE',
    path: '/api/opt-outs',
    tag: 'Opt-outs',
    summary: 'Opt an address in again, by query or body',
    query: OneAddress.partial(),
    // Some clients and proxies drop the body of a DELETE, hence the query parameter.
    body: OneAddress.partial(),
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, query, body, now }) {
      const address = query.address ?? body.address;
      if (address === undefined) throw invalid('address', 'is required');
      return remove(db, caller, address, now);
    },
  }),

  workspaceRoute({
    id: 'getOptOut',
    method: 'GET',
    path: '/api/opt-outs/{address}',
    tag: 'Opt-outs',
    summary: 'Get whether an address is opted out',
    params: OneAddress,
    responses: { 200: Success.extend({ address: z.string(), optedOut: z.boolean() }) },
    errors: ['VALIDATION_ERROR'],
    async handler({ db, caller, params }) {
      const address = addressOf(params.address, caller);
      return { status: 200, body: { success: true, address, optedOut: await isOptedOut(db, address) } };
    },
  }),

  workspaceRoute({
    id: 'deleteNamedOptOut',
    method: 'DELETE',
    path: '/api/opt-outs/{address}',
    tag: 'Opt-outs',
    summary: 'Opt an address in again, by path',
    params: OneAddress,
    responses: { 200: Success },
    errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
    handler: ({ db, caller, params, now }) => remove(db, caller, params.address, now),
  }),
];

async function remove(db: TenantDb, caller: WorkspaceCaller, address: string, now: Date) {
  if (
    !(await optIn(db, addressOf(address, caller), { source: 'api', author: authorOf(caller), at: now, now }))
  )
    throw new ApiError('NOT_FOUND', 'The address is not opted out');
  return { status: 200, body: { success: true } } as const;
}
