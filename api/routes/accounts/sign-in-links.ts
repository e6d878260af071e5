import type { Context } from 'koa';
import { z } from 'zod';
import { createSignInLink, findSignInLink, useSignInLink } from '#db/queries/accounts/sign-in-links.ts';
import { userByEmail } from '#db/queries/accounts/users.ts';
import { withAuth, withSystemShare } from '#db/connection/transactions.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import {
  EMAILED_LINK_MINUTES,
  hashSignInToken,
  newSignInToken,
  signInLink,
} from '#domain/accounts/sign-in-link.ts';
import { html } from '#providers/mail/html.ts';
import { addCookie, cookieHeader, cookieOf } from '#api/auth/cookies.ts';
import { requireOwnSignIn, signsInItself } from '#api/auth/local-issuer.ts';
import { mailSignInLink } from '#api/auth/sign-in-mail.ts';
import { startOwnSession } from '#api/auth/start-session.ts';
import { readAnonymousBody } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { invalid } from '#api/http/errors.ts';
import { parse } from '#api/http/parse.ts';
import { publicRoute } from '#api/http/route.ts';
import { PAGE_RESPONSES, showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';

const LINKS_OF_CLIENT = { requests: 60, seconds: EMAILED_LINK_MINUTES * 60 };
const LINKS_OF_ADDRESS = { requests: 5, seconds: EMAILED_LINK_MINUTES * 60 };

const SignInLinkInput = z.object({ email: z.string().max(320) }).meta({ id: 'SignInLinkInput' });

const ASK_AGAIN = html`<p><a href="/console">Ask for a new link</a></p>`;
const ELSEWHERE = html`<p>
  It signs in the browser in which it was asked for, and no other. Open it there, or
  <a href="/console">ask for a new link here</a>.
</p>`;
const NO_MEMBER = html`<p>Ask one of its admins for an invitation.</p>`;

/** Signing in without an identity provider, with a link that is sent by email. */
export const signInLinkRoutes = [
  publicRoute({
    id: 'requestSignInLink',
    method: 'POST',
    path: '/api/sign-in/link',
    tag: 'Console',
    summary: 'Ask for an email with a link that signs in',
    description: `Where no identity provider is configured. The response does not reveal whether anybody has the address. The link is valid for ${EMAILED_LINK_MINUTES} minutes, once, and only in the browser that asked, which gets a cookie. Limits in ${EMAILED_LINK_MINUTES} minutes: ${LINKS_OF_ADDRESS.requests} for an email address, ${LINKS_OF_CLIENT.requests} for a client address.`,
    body: SignInLinkInput,
    contentTypes: { 202: 'application/json' },
    schemas: { 202: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    async respond(context, services) {
      requireOwnSignIn(services);
      const { config, pools, secrets, rateLimits } = services;
      const client = clientAddress(context);
      await rateLimits.consume('sign-in-links-of-client', client, LINKS_OF_CLIENT);
      const { email: given } = parse(SignInLinkInput, await readAnonymousBody(context)) as z.output<
        typeof SignInLinkInput
      >;
      const email = normalizeEmail(given);
      if (email === null) throw invalid('email', 'must be an email address');
      await rateLimits.consume('sign-in-links-of-address', hashSignInToken(email), LINKS_OF_ADDRESS);
      const browser = browserOf(context, services) ?? newSignInToken();
      await withSystemShare(pools, client, async (db) => {
        const user = await userByEmail(db, email);
        if (!user) return;
        const token = await createSignInLink(db, user.id, hashSignInToken(browser));
        await mailSignInLink(db, secrets, user, signInLink(config.publicUrl, token));
      });
      // The link is opened from a page of a mail program.
      addCookie(
        context,
        cookieHeader('browser', browser, config.publicUrl, { minutes: COOKIE_MINUTES, sameSite: 'Lax' }),
      );
      context.set('Cache-Control', 'no-store');
      context.status = 202;
      context.body = { success: true };
    },
  }),

  /** The page only asks for confirmation, because mail scanners open every link. */
  publicRoute({
    id: 'signInLinkPage',
    method: 'GET',
    path: '/sign-in/{token}',
    tag: 'Console',
    summary: 'Show a page that asks whether to sign in with a link',
    contentTypes: { ...PAGE_RESPONSES, 403: 'text/html' },
    respond: showLink,
  }),

  publicRoute({
    id: 'signInWithLink',
    method: 'POST',
    path: '/sign-in/{token}',
    tag: 'Console',
    summary: 'Sign in with a link, and use it up',
    contentTypes: { 303: null, 403: 'text/html', 404: 'text/html' },
    async respond(context, services) {
      // A form of another site would sign its visitors in as somebody else.
      if (context.get('sec-fetch-site') === 'cross-site') return showLink(context, services);
      const { pools, config } = services;
      const client = clientAddress(context);
      const browser = browserOf(context, services);
      const userId = signsInItself(services.config)
        ? await withSystemShare(pools, client, (db) =>
            useSignInLink(db, tokenOf(context), browser && hashSignInToken(browser)),
          )
        : null;
      if (userId === null) return showLink(context, services);
      if (await startOwnSession(context, services, userId, 'email'))
        return showPage(context, 403, html`You are not a member of a workspace`, NO_MEMBER);
      context.status = 303;
      context.redirect(`${config.publicUrl}/console`);
    },
  }),
];

/** Longer than a link, so that a link that has expired is not shown as one of another browser. */
const COOKIE_MINUTES = 2 * EMAILED_LINK_MINUTES;

async function showLink(context: Context, services: Services): Promise<void> {
  const { pools, rateLimits } = services;
  const client = clientAddress(context);
  const token = tokenOf(context);
  const link = signsInItself(services.config)
    ? await withAuth(pools, client, `sign-in link ${hashSignInToken(token)}`, (db) =>
        findSignInLink(db, token),
      )
    : null;
  if (!link) {
    await rateLimits.countFailure(client);
    return showPage(context, 404, html`This link was used before or has expired`, ASK_AGAIN);
  }
  const browser = browserOf(context, services);
  const isHere =
    link.browserHash === null || (browser !== null && link.browserHash === hashSignInToken(browser));
  if (!isHere) return showPage(context, 403, html`Open this link where you asked for it`, ELSEWHERE);
  showPage(
    context,
    200,
    html`Sign in to Linepace`,
    html`<p>As ${link.email}</p>
      <form method="post"><button>Sign in</button></form>`,
  );
}

const browserOf = (context: Context, { config }: Services): string | null => {
  const value = cookieOf(context.get('cookie'), 'browser', config.publicUrl);
  return value === '' ? null : value;
};

const tokenOf = (context: Context): string => (context['params'] as Record<string, string>)['token'] ?? '';
