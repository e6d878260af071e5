import type { Context } from 'koa';
import { z } from 'zod';
import { userOfSubject } from '#db/queries/accounts/identities.ts';
import { type FoundSession, landingWorkspace } from '#db/queries/accounts/user-sessions.ts';
import { systemDb, withAuth } from '#db/connection/transactions.ts';
import { profileOf } from '#domain/accounts/identity-claims.ts';
import { Id } from '#domain/base/ids.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { isReturnPath, SIGN_IN_MINUTES } from '#domain/accounts/user-session.ts';
import { html } from '#providers/mail/html.ts';
import {
  type IdentityProvider,
  IdentityProviderUnavailable,
  OfflineAccessRefused,
  type SignedIn,
  SignInRefused,
} from '#providers/identity-provider.ts';
import { addCookie, cookieHeader, cookieOf, noCookie } from '#api/auth/cookies.ts';
import { signsInItself } from '#api/auth/local-issuer.ts';
import { keepInvitee } from '#api/auth/invitee.ts';
import { startSession } from '#api/auth/start-session.ts';
import { findSession } from '#api/auth/user-sessions.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';
import { showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';
import { isWaitingForSetup } from './setup-announcement.ts';

/** Registered with the identity provider, after `PUBLIC_URL`. */
export const CALLBACK_PATH = '/auth/callback';

const SignInOptions = z
  .object({
    method: z.enum(['setup', 'provider', 'email', 'token', 'credential']).meta({
      description:
        '`setup`: nobody can, until the installation is set up; `provider`: at `/auth/sign-in`; `email`: with a link by email; `token`: with a session token; `credential`: with a key as well, where nobody else can reach the product.',
    }),
    sessionId: Id.nullable().meta({ description: "The cookie's session; null: there is no valid one." }),
    needsClient: z.literal(true).optional().meta({
      description:
        'The session is of an agency without a client, which is created with `POST /api/agency/subaccounts`; before, other endpoints answer 401.',
    }),
  })
  .meta({ id: 'SignInOptions' });

const AGAIN = html`<a href="/auth/sign-in">Try again</a>`;
const NOT_A_MEMBER = html`<p>
  Ask one of its admins for an invitation, then <a href="/auth/sign-in">sign in again</a>.
</p>`;

export const signInRoutes = [
  publicRoute({
    id: 'getSignInOptions',
    method: 'GET',
    path: '/auth/session',
    tag: 'Console',
    summary: 'Get how people sign in to the console, and whether this browser is signed in',
    contentTypes: { 200: 'application/json' },
    schemas: { 200: SignInOptions },
    async respond(context, services) {
      const found = await findSession(cookiesOf(context), services);
      context.set('Cache-Control', 'no-store');
      const isWaiting = await isWaitingForSetup(systemDb(services.pools), services.config);
      const method = isWaiting ? 'setup' : methodOf(services);
      const session = found?.isUsable ? found : null;
      const needsClient = session !== null && (await isWithoutWorkspace(session, context, services));
      context.body = { method, sessionId: session?.id ?? null, ...(needsClient && { needsClient }) };
    },
  }),

  publicRoute({
    id: 'signIn',
    method: 'GET',
    path: '/auth/sign-in',
    tag: 'Console',
    summary: 'Sign in at the identity provider',
    query: z.object({
      returnTo: z.string().optional().meta({ description: 'The path of the page to show afterwards.' }),
    }),
    contentTypes: { 302: null },
    errors: ['NOT_FOUND', 'IDENTITY_PROVIDER_ERROR', 'UNAVAILABLE'],
    async respond(context, services) {
      providerOf(services);
      const given = [context.query['returnTo']].flat()[0] ?? '';
      const previous = await findSession(cookiesOf(context), services);
      context.set('Cache-Control', 'no-store');
      await orShowFailure(context, services, () =>
        goToProvider(context, services, {
          returnTo: isReturnPath(given) ? given : '/console',
          previous: previous && { id: previous.id, workspaceId: previous.workspaceId },
          offline: true,
        }),
      );
    },
  }),

  publicRoute({
    id: 'signInCallback',
    method: 'GET',
    path: CALLBACK_PATH,
    tag: 'Console',
    summary: 'The redirect URI of the identity provider: exchanges the code for a session',
    contentTypes: { 302: null, 400: 'text/html', 403: 'text/html' },
    errors: ['NOT_FOUND', 'IDENTITY_PROVIDER_ERROR', 'UNAVAILABLE'],
    async respond(context, services) {
      const { publicUrl } = services.config;
      const provider = providerOf(services);
      const attempt = readAttempt(context, services);
      addCookie(context, noCookie('sign-in', publicUrl));
      context.set('Cache-Control', 'no-store');
      if (!attempt) return refuse(context, services, 'the browser has no cookie of this attempt');
      // Before the provider is asked: an attempt can be repeated at will.
      await services.rateLimits.consume('signInCallback', clientAddress(context), CALLBACK_LIMIT);
      await orShowFailure(context, services, async () => {
        let signedIn: SignedIn;
        try {
          signedIn = await provider.finish(context.search, attempt, attempt);
        } catch (error) {
          if (error instanceof OfflineAccessRefused)
            return goToProvider(context, services, { ...attempt, offline: false });
          if (error instanceof SignInRefused) return refuse(context, services, error.message);
          throw error;
        }
        if (attempt.returnTo.startsWith('/invitations/')) {
          await keepSignedIn(context, services, signedIn);
          return context.redirect(attempt.returnTo);
        }
        const refusal = await startSession(context, services, signedIn, attempt.previous);
        if (!refusal) return context.redirect(attempt.returnTo);
        if (refusal.reason === 'unknown_organization')
          return showPage(
            context,
            403,
            html`Your organization has no workspace here`,
            html`<p>
              Your identity provider says that you belong to <b>${refusal.organization}</b>. Ask the people
              who run Linepace at ${new URL(publicUrl).host} to link that organization to a workspace, then
              <a href="/auth/sign-in">sign in again</a>.
            </p>`,
          );
        if (refusal.reason === 'no_role')
          return showPage(
            context,
            403,
            html`You have no role here`,
            html`<p>
              Ask the people who manage your identity provider for a role in Linepace, then
              <a href="/auth/sign-in">sign in again</a>.
            </p>`,
          );
        showPage(context, 403, html`You are not a member of a workspace`, NOT_A_MEMBER);
      });
    },
  }),
];

const isWithoutWorkspace = async (
  { workspaceId, userId }: FoundSession,
  context: Context,
  { pools }: Services,
): Promise<boolean> =>
  workspaceId === null &&
  (await withAuth(pools, clientAddress(context), `first client of ${userId}`, (db) =>
    landingWorkspace(db, userId),
  )) === null;

/** Remembers who signed in to answer an invitation. */
async function keepSignedIn(context: Context, services: Services, { claims }: SignedIn): Promise<void> {
  const subject = String(claims['sub']);
  const userId = await withAuth(services.pools, clientAddress(context), `user of ${subject}`, (db) =>
    userOfSubject(db, subject, profileOf(claims)),
  );
  keepInvitee(context, services, userId);
}

function methodOf({ identityProvider, config }: Services): z.infer<typeof SignInOptions>['method'] {
  if (identityProvider) return 'provider';
  if (!config.production) return 'credential';
  return signsInItself(config) ? 'email' : 'token';
}

/** @throws NOT_FOUND */
function providerOf({ identityProvider }: Services): IdentityProvider {
  if (!identityProvider)
    throw new ApiError('NOT_FOUND', 'Nobody signs in here: AUTH_CLIENT_ID names no client');
  return identityProvider;
}

/** Sends the browser to the provider, and stores in a cookie what its answer is checked against. */
async function goToProvider(
  context: Context,
  services: Services,
  { returnTo, previous, offline }: Pick<Attempt, 'returnTo' | 'previous' | 'offline'>,
): Promise<void> {
  const { url, checks } = await providerOf(services).begin({ offline });
  const attempt: Attempt = { ...checks, returnTo, previous, offline, at: Date.now() };
  const sealed = services.secrets.seal(JSON.stringify(attempt), ATTEMPT);
  const { publicUrl } = services.config;
  // The provider redirects from another site.
  addCookie(
    context,
    cookieHeader('sign-in', sealed, publicUrl, { minutes: SIGN_IN_MINUTES, sameSite: 'Lax' }),
  );
  context.redirect(url.href);
}

const RETRY_AFTER_SECONDS = 10;

/**
 * Shows people a page that says what is wrong with the provider.
 * @throws UNAVAILABLE, IDENTITY_PROVIDER_ERROR for programs.
 */
async function orShowFailure(
  context: Context,
  { logger }: Services,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof IdentityProviderUnavailable)) throw error;
    const { answer } = error;
    logger.warn({ error, answer }, 'nobody can sign in');
    const isPerson = context.get('accept').includes('text/html');
    if (answer === null) {
      if (!isPerson) throw new ApiError('UNAVAILABLE', 'The identity provider does not answer; try again');
      context.set('Retry-After', String(RETRY_AFTER_SECONDS));
      const text = html`<p>Nobody can sign in until it does. ${AGAIN} in a moment.</p>`;
      return showPage(context, 503, html`The identity provider does not answer`, text);
    }
    const said = `The identity provider does not let Linepace sign anybody in: ${answer}`;
    if (!isPerson) throw new ApiError('IDENTITY_PROVIDER_ERROR', said);
    const text = html`<p>
      It says: ${answer}. Tell the people who run Linepace here; its settings or those of the identity
      provider are wrong.
    </p>`;
    showPage(context, 502, html`The identity provider does not let Linepace sign you in`, text);
  }
}

const cookiesOf = (context: Context) => ({
  cookies: context.get('cookie'),
  client: () => clientAddress(context),
});

/** Binds the encrypted cookie to its purpose. */
const ATTEMPT = 'sign-in';

/** Calls of the identity provider that one client may cause. */
const CALLBACK_LIMIT = { requests: 60, seconds: 60 };

const Attempt = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  at: z.number(),
  /** Whether `offline_access` was asked for. */
  offline: z.boolean(),
  /** The browser's session, whose cookie is not sent when the provider redirects back. */
  previous: z.object({ id: z.string(), workspaceId: z.string().nullable() }).nullable(),
});
type Attempt = z.infer<typeof Attempt>;

/** The data stored in the browser before it went to the provider; null if there is none, or it is too old. */
function readAttempt(context: Context, { secrets, config }: Services): Attempt | null {
  const sealed = cookieOf(context.get('cookie'), 'sign-in', config.publicUrl);
  if (sealed === '') return null;
  try {
    const attempt = Attempt.parse(parseOwnJson(secrets.open(sealed, ATTEMPT)));
    return Date.now() - attempt.at < SIGN_IN_MINUTES * 60_000 ? attempt : null;
  } catch {
    return null;
  }
}

/** @throws RATE_LIMITED after too many from one client. */
async function refuse(context: Context, { logger, rateLimits }: Services, reason: string): Promise<void> {
  await rateLimits.countFailure(clientAddress(context));
  logger.info({ reason }, 'a sign-in was refused');
  const text = html`<p>It took too long, was canceled or was not valid: ${reason}. ${AGAIN}.</p>`;
  showPage(context, 400, html`You are not signed in`, text);
}
