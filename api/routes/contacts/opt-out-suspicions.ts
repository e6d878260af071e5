import { z } from 'zod';
import { settleSuspicion } from '#db/commands/contacts/opt-out-suspicions.ts';
import { findSuspicion, listSuspicions, presentSuspicion } from '#db/queries/contacts/opt-out-suspicions.ts';
import { Id } from '#domain/base/ids.ts';
import { OptOutSuspicion, SuspicionStatus } from '#domain/contacts/opt-out-suspicion.ts';
import { addressOf, ContactFilter } from '../inbox/conversations-of-request.ts';
import { authorOf } from '#api/http/audit.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

export const optOutSuspicionRoutes = [
  workspaceRoute({
    id: 'listOptOutSuspicions',
    method: 'GET',
    path: '/api/opt-outs/suspected',
    tag: 'Opt-outs',
    summary: 'List replies that ask to be left alone in other words than STOP, newest first',
    description:
      'Replies that may ask to be left alone. Nobody is opted out on a guess: while an entry is `open`, campaigns to the contact wait.',
    query: PageQuery.extend({ status: SuspicionStatus.default('open'), address: ContactFilter }),
    responses: {
      200: z.object({
        success: z.literal(true),
        suspicions: z.array(OptOutSuspicion),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, caller, query: { limit, cursor, status, address } }) {
      const filter = { status, address: address && addressOf(caller, address) };
      const { items, nextCursor } = page(
        await listSuspicions(db, filter, { limit: limit + 1, cursor }),
        limit,
      );
      return { status: 200, body: { success: true, suspicions: items.map(presentSuspicion), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'decideOptOutSuspicion',
    method: 'POST',
    path: '/api/opt-outs/suspected/{id}',
    tag: 'Opt-outs',
    summary: 'Confirm the opt-out, or dismiss the suspicion so that campaigns continue',
    params: z.object({ id: Id }),
    body: z.object({ action: z.enum(['confirm', 'dismiss']) }),
    responses: { 200: z.object({ success: z.literal(true), suspicion: OptOutSuspicion }) },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    audit: { action: 'opt_out.decided', target: 'opt_out_suspicion', changes: ['action'] },
    async handler({ db, caller, params, body, now }) {
      const found = await findSuspicion(db, params.id);
      if (!found) throw new ApiError('NOT_FOUND', 'Suspicion not found');
      if (!(await settleSuspicion(db, found, { action: body.action, author: authorOf(caller), now })))
        throw new ApiError('INVALID_STATE', 'It has been decided already');
      const decided = await findSuspicion(db, params.id);
      return { status: 200, body: { success: true, suspicion: presentSuspicion(decided ?? found) } };
    },
  }),
];
