import { z } from 'zod';
import { setUp } from '#db/commands/accounts/set-up.ts';
import { hasOwner, SETUP_CODE_MINUTES } from '#db/queries/accounts/installation.ts';
import { systemDb, withSystemShare } from '#db/connection/transactions.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import { SubAccountInput } from '#domain/accounts/agency.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { hashSecretToken } from '#domain/base/secret-token.ts';
import { oneLine } from '#domain/base/text.ts';
import { giveCookie, insertOwnSession } from '#api/auth/own-session.ts';
import { readAnonymousBody } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError } from '#api/http/errors.ts';
import { parse } from '#api/http/parse.ts';
import { publicRoute } from '#api/http/route.ts';

const { name: Name, timezone: TimeZone, country: Country } = SubAccountInput.shape;

const PersonName = z.string().trim().max(100).overwrite(oneLine);

const InstallationSetup = z
  .object({
    code: z.string().max(200).meta({
      description: "The code in the API's log, or of `npm run ops -- setup-code`.",
    }),
    workspaceName: Name,
    timezone: TimeZone.unwrap().meta({ description: 'An IANA time zone.' }),
    country: Country,
    agencyName: Name.nullish().meta({ description: 'Makes an agency, which can have many workspaces.' }),
    owner: z.object({
      email: z
        .string()
        .max(320)
        .transform(normalizeEmail)
        .pipe(z.string('must be an email address'))
        .meta({ description: 'Where the owner signs in later.' }),
      firstName: PersonName.nullish(),
      lastName: PersonName.nullish(),
    }),
  })
  .meta({ id: 'InstallationSetup' });

const InstallationOwner = z
  .object({
    success: z.literal(true),
    workspaceId: WorkspaceId,
    agencyId: z.string().nullable(),
    userId: z.string(),
    token: z.string().meta({ description: 'A session token of the owner, for `Authorization: Bearer`.' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'InstallationOwner' });

export const installationRoutes = [
  publicRoute({
    id: 'setUpInstallation',
    method: 'POST',
    path: '/api/setup',
    tag: 'System',
    summary: 'Set up an installation that has no owner',
    description: `Creates the first workspace and its owner, who is signed in. The code is in the log of an API process in production, or comes from \`npm run ops -- setup-code\`; it is valid for ${SETUP_CODE_MINUTES} minutes, and a new one ends it.`,
    body: InstallationSetup,
    contentTypes: { 201: 'application/json' },
    schemas: { 201: InstallationOwner },
    errors: ['VALIDATION_ERROR', 'UNAUTHORIZED', 'ALREADY_SET_UP'],
    async respond(context, services) {
      const { pools, config, rateLimits } = services;
      // Before anything is locked: from now on, this is the answer.
      if (await hasOwner(systemDb(pools))) throw new ApiError('ALREADY_SET_UP');
      const body = parse(InstallationSetup, await readAnonymousBody(context)) as z.output<
        typeof InstallationSetup
      >;
      const client = clientAddress(context);
      const { code, workspaceName, timezone, country, agencyName = null, owner } = body;
      const name = [owner.firstName, owner.lastName].filter(Boolean).join(' ');
      const tenant = { workspaceName, timezone, country, agencyName, billingMode: config.newBillingMode };
      const outcome = await withSystemShare(pools, client, async (db) => {
        const made = await setUp(db, hashSecretToken(code), {
          ...tenant,
          owner: { email: owner.email, name },
        });
        if (typeof made === 'string') return made;
        const userAgent = context.get('user-agent');
        return {
          ...made,
          session: await insertOwnSession(db, { ...made, userAgent, method: 'setup' }, services),
        };
      });
      if (outcome === 'already_set_up') throw new ApiError('ALREADY_SET_UP');
      if (outcome === 'wrong_code') {
        await rateLimits.countFailure(client);
        throw new ApiError('UNAUTHORIZED', 'The code is wrong, or it has expired');
      }
      const { workspaceId, agencyId, userId, session } = outcome;
      const { token, expiresAt } = session;
      giveCookie(context, session, services);
      context.set('Cache-Control', 'no-store');
      context.status = 201;
      context.body = {
        success: true,
        workspaceId,
        agencyId,
        userId,
        token,
        expiresAt: expiresAt.toISOString(),
      };
    },
  }),
];
