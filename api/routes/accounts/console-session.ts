import type { Context } from 'koa';
import { z } from 'zod';
import { useConsoleCode } from '#db/queries/accounts/console-codes.ts';
import { withSystemShare } from '#db/connection/transactions.ts';
import { hashConsoleCode } from '#domain/accounts/console-code.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { issueSession } from '#api/auth/local-issuer.ts';
import { readAnonymousBody } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError } from '#api/http/errors.ts';
import { parse } from '#api/http/parse.ts';
import { publicRoute } from '#api/http/route.ts';

const SESSION_HOURS = 12;

const ConsoleCode = z.object({
  code: z.string().max(200).meta({ description: 'The code in the link that `npm start` prints.' }),
});

const ConsoleSession = z.object({
  token: z.string().meta({ description: 'A session token of the workspace’s owner.' }),
  expiresAt: z.iso.datetime(),
  workspaceId: WorkspaceId.meta({
    description: 'The workspace to open; in test mode, a twin, with its id in `X-Workspace-Id`.',
  }),
});

export const consoleSessionRoutes = [
  publicRoute({
    id: 'createConsoleSession',
    method: 'POST',
    path: '/api/console/session',
    tag: 'Console',
    summary: 'Exchange the one-time code of a link to the console for a session token',
    description: `The token is valid for ${SESSION_HOURS} hours. A code that is wrong, was used or has expired is refused, and so is every code in production and with an identity provider.`,
    body: ConsoleCode,
    contentTypes: { 200: 'application/json' },
    schemas: { 200: ConsoleSession },
    errors: ['UNAUTHORIZED'],
    async respond(context, { config, pools, rateLimits }) {
      if (config.production || config.auth.jwksUrl !== null) throw new ApiError('UNAUTHORIZED');
      const client = clientAddress(context);
      const code = await readCode(context).catch(async (error: unknown) => {
        await rateLimits.countFailure(client);
        throw error;
      });
      const found = await withSystemShare(pools, client, (db) => useConsoleCode(db, hashConsoleCode(code)));
      if (!found) {
        await rateLimits.countFailure(client);
        throw new ApiError('UNAUTHORIZED');
      }
      // To the second, as tokens are.
      const expires = new Date((Math.floor(Date.now() / 1000) + SESSION_HOURS * 3600) * 1000);
      const { workspaceId, organizationId, userId } = found;
      const session = { userId, organizationId, role: 'org:admin', expires };
      context.set('Cache-Control', 'no-store');
      context.body = {
        token: await issueSession(config, session),
        expiresAt: expires.toISOString(),
        workspaceId,
      };
    },
  }),
];

async function readCode(context: Context): Promise<string> {
  const { code } = parse(ConsoleCode, await readAnonymousBody(context)) as z.output<typeof ConsoleCode>;
  return code;
}
