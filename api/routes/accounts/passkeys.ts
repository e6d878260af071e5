import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import {
  deletePasskey,
  insertChallenge,
  insertPasskey,
  listPasskeys,
  lockPasskeys,
  passkeyByCredential,
  presentPasskey,
  recordPasskeyUse,
  useChallenge,
} from '#db/queries/accounts/passkeys.ts';
import { userById } from '#db/queries/accounts/users.ts';
import { systemDb, withSystemShare } from '#db/connection/transactions.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import type { Config } from '#domain/base/config.ts';
import { Id } from '#domain/base/ids.ts';
import { oneLine } from '#domain/base/text.ts';
import { CHALLENGE_MINUTES, MAX_PASSKEYS, Passkey } from '#domain/accounts/passkey.ts';
import { requireOwnSignIn, signsInItself } from '#api/auth/local-issuer.ts';
import { startOwnSession } from '#api/auth/start-session.ts';
import { logOf } from '#api/auth/user-sessions.ts';
import { authorOf } from '#api/http/audit.ts';
import { readAnonymousBody } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { parse } from '#api/http/parse.ts';
import { publicRoute, workspaceRoute } from '#api/http/route.ts';

/** Of one client address. */
const SIGN_INS = { requests: 60, seconds: 900 };
const PRODUCT = 'Linepace';

/** Few processes ever need it, and it takes as long to load as 80 of our modules. */
const webAuthn = () => import('@simplewebauthn/server');

const Base64Url = z.string().regex(/^[\w-]{1,16000}$/, 'must be base64url');
const transport = z.string().max(20);

const Answer = z.object({
  id: Base64Url,
  rawId: Base64Url,
  type: z.literal('public-key'),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).optional(),
  clientExtensionResults: z.looseObject({}).default({}),
});

/** `RegistrationResponseJSON` of WebAuthn. */
const Registration = Answer.extend({
  response: z.object({
    clientDataJSON: Base64Url,
    attestationObject: Base64Url,
    transports: z.array(transport).max(10).optional(),
  }),
}).meta({ id: 'PasskeyRegistration' });

/** `AuthenticationResponseJSON` of WebAuthn. */
const Authentication = Answer.extend({
  response: z.object({
    clientDataJSON: Base64Url,
    authenticatorData: Base64Url,
    signature: Base64Url,
    userHandle: Base64Url.optional(),
  }),
}).meta({ id: 'PasskeyAuthentication' });

const Options = z.looseObject({ challenge: z.string() }).meta({
  description:
    'The options of WebAuthn as JSON, for `startRegistration` or `startAuthentication` of `@simplewebauthn/browser`.',
});

/** Passkeys are bound to the host name of `PUBLIC_URL`. */
const relyingParty = ({ publicUrl }: Config) => ({
  expectedOrigin: new URL(publicUrl).origin,
  expectedRPID: new URL(publicUrl).hostname,
});

function userOf({ userId }: WorkspaceCaller): string {
  if (userId === null) throw new Error('a session without a user');
  return userId;
}

/** The passkeys of the signed-in person, wherever they work. */
export const passkeyRoutes = [
  workspaceRoute({
    id: 'listPasskeys',
    method: 'GET',
    path: '/api/passkeys',
    tag: 'Sessions',
    transaction: false,
    summary: "List the caller's passkeys, newest first",
    credential: 'session',
    responses: {
      200: z.object({
        success: z.literal(true),
        available: z.boolean().meta({
          description: 'false: people sign in at an identity provider, and passkeys are its matter.',
        }),
        passkeys: z.array(Passkey),
      }),
    },
    async handler({ caller, pools, config }) {
      const rows = await listPasskeys(systemDb(pools), userOf(caller));
      const available = signsInItself(config);
      return { status: 200, body: { success: true, available, passkeys: rows.map(presentPasskey) } };
    },
  }),

  workspaceRoute({
    id: 'createPasskeyOptions',
    method: 'POST',
    path: '/api/passkeys/options',
    tag: 'Sessions',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Begin to add a passkey: get what the browser asks the authenticator',
    description: `The challenge is valid for ${CHALLENGE_MINUTES} minutes, once.`,
    credential: 'session',
    responses: { 200: z.object({ success: z.literal(true), options: Options }) },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    async handler({ caller, ...services }) {
      requireOwnSignIn(services);
      const db = systemDb(services.pools);
      const userId = userOf(caller);
      const known = await listPasskeys(db, userId);
      if (known.length >= MAX_PASSKEYS)
        throw new ApiError('LIMIT_REACHED', `A person has at most ${MAX_PASSKEYS} passkeys`);
      const user = await userById(db, userId);
      const { expectedRPID } = relyingParty(services.config);
      const { generateRegistrationOptions } = await webAuthn();
      const options = await generateRegistrationOptions({
        rpName: PRODUCT,
        rpID: expectedRPID,
        userID: new Uint8Array(Buffer.from(userId)),
        userName: user?.email ?? userId,
        userDisplayName: user?.name ?? '',
        attestationType: 'none',
        excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      await insertChallenge(db, options.challenge, userId);
      return { status: 200, body: { success: true, options: { ...options } } };
    },
  }),

  workspaceRoute({
    id: 'createPasskey',
    method: 'POST',
    path: '/api/passkeys',
    tag: 'Sessions',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Add a passkey, with the answer of the authenticator',
    credential: 'session',
    idempotent: true,
    body: z
      .object({ name: z.string().trim().min(1).max(100).overwrite(oneLine), response: Registration })
      .meta({ id: 'PasskeyInput' }),
    responses: { 201: z.object({ success: z.literal(true), passkey: Passkey }) },
    errors: ['NOT_FOUND', 'CONFLICT', 'LIMIT_REACHED'],
    audit: { action: 'passkey.created', target: 'passkey', targets: 'handler' },
    async handler({ caller, body, ...services }) {
      requireOwnSignIn(services);
      const { pools, config } = services;
      const userId = userOf(caller);
      const { response } = body;
      const { verifyRegistrationResponse } = await webAuthn();
      const verified = await verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: (challenge) => useChallenge(systemDb(pools), challenge, userId),
        ...relyingParty(config),
        requireUserVerification: true,
      }).catch(() => null);
      if (!verified?.verified)
        throw invalid('response', 'is not a valid answer to a challenge that was asked for and not used yet');
      const { id: credentialId, publicKey, counter } = verified.registrationInfo.credential;
      const transports = response.response.transports ?? [];
      const row = await withSystemShare(pools, caller.workspace.id, async (db) => {
        if ((await lockPasskeys(db, userId)).length >= MAX_PASSKEYS)
          throw new ApiError('LIMIT_REACHED', `A person has at most ${MAX_PASSKEYS} passkeys`);
        const key = { userId, name: body.name, credentialId, publicKey, counter, transports };
        const inserted = await insertPasskey(db, key);
        if (!inserted) throw new ApiError('CONFLICT', 'This passkey is in use already');
        await insertAuditEntry(await logOf(db, { workspaceId: caller.workspace.id, userId }), {
          ...authorOf(caller),
          action: 'passkey.created',
          target: { type: 'passkey', id: inserted.id },
        });
        return inserted;
      });
      return { status: 201, body: { success: true, passkey: presentPasskey(row) } };
    },
  }),

  workspaceRoute({
    id: 'deletePasskey',
    method: 'DELETE',
    path: '/api/passkeys/{id}',
    tag: 'Sessions',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Remove a passkey. The last one stays where no link can be sent to the person by email',
    credential: 'session',
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND', 'LAST_WAY_IN'],
    audit: { action: 'passkey.deleted', target: 'passkey', targets: 'handler' },
    async handler({ caller, params: { id }, pools, config }) {
      const userId = userOf(caller);
      await withSystemShare(pools, caller.workspace.id, async (db) => {
        const known = await lockPasskeys(db, userId);
        if (!known.some((passkey) => passkey.id === id)) throw new ApiError('NOT_FOUND', 'Passkey not found');
        const user = await userById(db, userId);
        const hasLink = config.mail.smtpUrl !== null && user !== null && normalizeEmail(user.email) !== null;
        if (known.length === 1 && signsInItself(config) && !hasLink) throw new ApiError('LAST_WAY_IN');
        await deletePasskey(db, userId, id);
        await insertAuditEntry(await logOf(db, { workspaceId: caller.workspace.id, userId }), {
          ...authorOf(caller),
          action: 'passkey.deleted',
          target: { type: 'passkey', id },
        });
      });
      return { status: 200, body: { success: true } };
    },
  }),
];

/** Signing in with a passkey. */
export const passkeySignInRoutes = [
  publicRoute({
    id: 'passkeySignInOptions',
    method: 'POST',
    path: '/api/sign-in/passkeys/options',
    tag: 'Console',
    summary: 'Begin to sign in with a passkey: get what the browser asks the authenticator',
    description: `The challenge is valid for ${CHALLENGE_MINUTES} minutes, once.`,
    contentTypes: { 200: 'application/json' },
    schemas: { 200: z.object({ success: z.literal(true), options: Options }) },
    errors: ['NOT_FOUND'],
    async respond(context, services) {
      requireOwnSignIn(services);
      await services.rateLimits.consume('passkey-sign-in-options', clientAddress(context), SIGN_INS);
      const { expectedRPID } = relyingParty(services.config);
      const { generateAuthenticationOptions } = await webAuthn();
      const options = await generateAuthenticationOptions({
        rpID: expectedRPID,
        userVerification: 'required',
      });
      await insertChallenge(systemDb(services.pools), options.challenge, null);
      context.set('Cache-Control', 'no-store');
      context.body = { success: true, options };
    },
  }),

  publicRoute({
    id: 'signInWithPasskey',
    method: 'POST',
    path: '/api/sign-in/passkeys/verify',
    tag: 'Console',
    summary: "Sign in with a passkey: the answer of the authenticator is exchanged for a session's cookie",
    body: z.object({ response: Authentication }).meta({ id: 'PasskeySignIn' }),
    contentTypes: { 200: 'application/json' },
    schemas: { 200: z.object({ success: z.literal(true) }) },
    errors: ['UNAUTHORIZED', 'NOT_FOUND'],
    async respond(context, services) {
      requireOwnSignIn(services);
      const { pools, config, rateLimits } = services;
      const client = clientAddress(context);
      const { response } = parse(
        z.object({ response: Authentication }),
        await readAnonymousBody(context),
      ) as { response: z.output<typeof Authentication> };
      const { verifyAuthenticationResponse } = await webAuthn();
      const userId = await withSystemShare(pools, client, async (db) => {
        const passkey = await passkeyByCredential(db, response.id);
        if (!passkey) return null;
        const { id, publicKey, counter } = passkey;
        const verified = await verifyAuthenticationResponse({
          response: response as AuthenticationResponseJSON,
          expectedChallenge: (challenge) => useChallenge(db, challenge, null),
          ...relyingParty(config),
          credential: { id: response.id, publicKey: new Uint8Array(publicKey), counter },
          requireUserVerification: true,
        }).catch(() => null);
        if (!verified?.verified) return null;
        await recordPasskeyUse(db, id, verified.authenticationInfo.newCounter);
        return passkey.userId;
      });
      const refusal = userId === null ? null : await startOwnSession(context, services, userId, 'passkey');
      if (userId === null || refusal) {
        await rateLimits.countFailure(client);
        throw new ApiError('UNAUTHORIZED');
      }
      context.set('Cache-Control', 'no-store');
      context.body = { success: true };
    },
  }),
];
