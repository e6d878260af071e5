import { z } from 'zod';
import { listSetAside } from '#db/queries/operations/set-aside.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { SetAside } from '#domain/base/set-aside.ts';
import { verifySession } from '#api/auth/authenticate.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';

const MAX_LISTED = 1000;
const Response = z.object({ success: z.literal(true), items: z.array(SetAside) });

/** For the people who operate the installation, whatever workspace they are in. */
export const operationsRoutes = [
  publicRoute({
    id: 'listSetAside',
    method: 'GET',
    path: '/api/operations/set-aside',
    tag: 'System',
    summary: 'List the work that always fails and is set aside, of all workspaces',
    description:
      'Requires the session token of a user in `OPERATORS`. `npm run ops -- set-aside` has it tried again, or drops it.',
    contentTypes: { 200: 'application/json' },
    schemas: { 200: Response },
    errors: ['UNAUTHORIZED', 'OPERATOR_REQUIRED'],
    async respond(context, services) {
      const [, token] = /^bearer +(\S+)$/i.exec(context.get('authorization').trim()) ?? [];
      if (token === undefined) throw new ApiError('UNAUTHORIZED');
      const { userId } = await verifySession(token, clientAddress(context), services);
      if (services.config.operators?.includes(userId) !== true) throw new ApiError('OPERATOR_REQUIRED');
      const rows = await listSetAside(systemDb(services.pools), MAX_LISTED);
      context.set('Cache-Control', 'no-store');
      context.body = {
        success: true,
        items: rows.map(({ firstFailedAt, lastFailedAt, setAsideAt, ...row }) => ({
          ...row,
          firstFailedAt: firstFailedAt.toISOString(),
          lastFailedAt: lastFailedAt.toISOString(),
          setAsideAt: (setAsideAt ?? lastFailedAt).toISOString(),
        })),
      } satisfies z.infer<typeof Response>;
    },
  }),
];
