import type { Context } from 'koa';
import { currentTime } from '#domain/base/clock.ts';
import { withSystemShare } from '#db/connection/transactions.ts';
import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import {
  acceptAgencyInvitation,
  acceptInvitation,
  deleteInvitation,
  findAgencyInvitationByToken,
  findInvitationByToken,
} from '#db/queries/accounts/invitations.ts';
import { ownerEmail } from '#db/queries/accounts/team.ts';
import { suppressMail } from '#db/queries/events/mail-suppressions.ts';
import { html, type Html } from '#providers/mail/html.ts';
import { verifySession } from '#api/auth/authenticate.ts';
import { forgetInvitee, inviteeOf } from '#api/auth/invitee.ts';
import { signsInItself } from '#api/auth/local-issuer.ts';
import type { Session } from '#api/auth/session-token.ts';
import { readForm } from '#api/http/body.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { newAdminNotice, emailOwner } from './owner-notices.ts';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';
import { PAGE_RESPONSES, refuseLink, showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';
import { hashToken } from './team-invitations.ts';

const NOT_VALID = html`This invitation is no longer valid`;

const ACCEPT = html`<form method="post"><button>Accept the invitation</button></form>`;

const SIGN_IN_AND_ACCEPT = html`<form method="post">
  <p>
    <label
      >Your session token<br /><input name="sessionToken" type="password" required autocomplete="off"
    /></label>
  </p>
  <button>Sign in and accept</button>
</form>`;

/** Where people sign in at the identity provider, which redirects back here. */
const signInLink = (context: Context) =>
  html`<p>
    <a href="/auth/sign-in?returnTo=/invitations/${encodeURIComponent(tokenOf(context))}"
      >Sign in to accept</a
    >
  </p>`;

/** The content of the page, which asks the person to sign in first if required. */
function acceptForm(context: Context, services: Services, { required }: { required: boolean }): Html {
  if (!required || inviteeOf(context, services) !== null) return ACCEPT;
  return services.identityProvider ? signInLink(context) : SIGN_IN_AND_ACCEPT;
}

const refusal = (context: Context) =>
  html`<form method="post" action="${tokenOf(context)}/refuse">
    <p><button>Decline, and get no more invitations</button></p>
  </form>`;

export const invitationRoutes = [
  /** The page only asks for confirmation, because mail scanners open every link. */
  publicRoute({
    id: 'invitationPage',
    method: 'GET',
    path: '/invitations/{token}',
    tag: 'Team',
    summary: 'Show a page that asks whether to accept an invitation',
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const [tokenHash, now] = [tokenHashOf(context), currentTime()];
      const { team, agency } = await withSystemShare(services.pools, clientAddress(context), async (db) => ({
        team: await findInvitationByToken(db, tokenHash, now),
        agency: await findAgencyInvitationByToken(db, tokenHash, now),
      }));
      if (team) {
        if (team.acceptedAt !== null)
          return showPage(context, 200, html`You are a member of ${team.workspaceName}`);
        const form = acceptForm(context, services, { required: needsSession(services) });
        return showPage(context, 200, html`Join ${team.workspaceName}?`, html`${form}${refusal(context)}`);
      }
      if (!agency) return refuseLink(context, services, NOT_VALID);
      if (agency.acceptedAt !== null) return showPage(context, 200, html`This invitation was accepted`);
      const form = acceptForm(context, services, { required: !isLinkEnough(services) });
      const forms = html`${form}${refusal(context)}`;
      showPage(context, 200, html`Join the agency ${agency.agencyName}?`, forms);
    },
  }),

  publicRoute({
    id: 'refuseInvitations',
    method: 'POST',
    path: '/invitations/{token}/refuse',
    tag: 'Team',
    summary: 'Decline an invitation, and all later invitations of any workspace or agency',
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const [tokenHash, now] = [tokenHashOf(context), currentTime()];
      const isRefused = await withSystemShare(services.pools, clientAddress(context), async (db) => {
        const team = await findInvitationByToken(db, tokenHash, now);
        const agency = await findAgencyInvitationByToken(db, tokenHash, now);
        const found = team ?? agency;
        if (!found || found.acceptedAt !== null) return false;
        await suppressMail(db, found.email);
        if (team) {
          const { workspaceId } = team;
          await deleteInvitation({ db: inWorkspace(db, { id: workspaceId }), workspaceId }, team.id);
        } else if (agency) await deleteInvitation({ db, agencyId: agency.agencyId }, agency.id);
        return true;
      });
      if (!isRefused) return refuseLink(context, services, NOT_VALID);
      showPage(context, 200, html`You get no more invitations`);
    },
  }),

  publicRoute({
    id: 'acceptInvitation',
    method: 'POST',
    path: '/invitations/{token}',
    tag: 'Team',
    summary:
      "Accept an invitation with the session token of the invited user, as `Authorization: Bearer` or in the form field `sessionToken`. Without an identity provider, a workspace's invitation needs none, and where people sign in by email an agency's neither",
    contentTypes: { ...PAGE_RESPONSES, 401: 'text/html', 403: 'text/html' },
    errors: ['BODY_TOO_LARGE'],
    async respond(context, services) {
      const [tokenHash, now] = [tokenHashOf(context), currentTime()];
      const { team, agency } = await withSystemShare(services.pools, clientAddress(context), async (db) => ({
        team: await findInvitationByToken(db, tokenHash, now),
        agency: await findAgencyInvitationByToken(db, tokenHash, now),
      }));
      if (team) return acceptTeam(context, services, tokenHash, now);
      if (!agency) return refuseLink(context, services, NOT_VALID);
      await acceptSignedIn(context, services, tokenHash, now);
    },
  }),
];

/** The identity provider uses its own user ids, so the signed-in user becomes the member. */
async function acceptTeam(context: Context, services: Services, tokenHash: string, now: Date): Promise<void> {
  const session = await sessionOf(context, services);
  if (!session && needsSession(services))
    return showPage(context, 401, html`Sign in to accept`, acceptForm(context, services, { required: true }));
  const offer = await withSystemShare(services.pools, clientAddress(context), async (db) => {
    const found = await findInvitationByToken(db, tokenHash, now);
    const joined = found && (await acceptInvitation(db, found, session?.userId ?? null, now));
    if (joined) {
      await insertAuditEntry(
        { db, workspaceId: found.workspaceId },
        {
          actor: { type: 'user', ...joined },
          channel: 'session',
          action: 'member.joined',
          target: { type: 'member', id: joined.id },
          changes: { role: found.role },
        },
      );
      if (found.role === 'org:admin')
        await emailOwner(
          inWorkspace(db, { id: found.workspaceId }),
          newAdminNotice(joined.name, null),
          { ...services, now },
          () => ownerEmail(db, found.workspaceId),
        );
    }
    return found;
  });
  if (!offer) return showPage(context, 404, NOT_VALID);
  showPage(context, 200, html`You are a member of ${offer.workspaceName}`, toConsole(context, services));
}

/** Shown after somebody has accepted. */
function toConsole(context: Context, services: Services): Html {
  const isSignedIn = inviteeOf(context, services) !== null;
  if (isSignedIn) forgetInvitee(context, services);
  return html`<p><a href="${isSignedIn ? '/auth/sign-in' : '/console'}">Open the console</a></p>`;
}

const needsSession = ({ config }: Services): boolean => !signsInItself(config);

/**
 * Whether the link is all that a person needs, as people sign in by email as well. They have no session token, and before they are
 * invited no account either. Whoever else has the link gains nothing: the user of the invited address becomes the co-admin.
 */
const isLinkEnough = ({ config }: Services): boolean => config.production && signsInItself(config);

/**
 * Requires the session of the user with the invited address, unless the link is enough. A user without an account gets that
 * address, because the link proves access to its mailbox. So a leaked link is of no use to anybody who has an account with another address.
 */
async function acceptSignedIn(
  context: Context,
  services: Services,
  tokenHash: string,
  now: Date,
): Promise<void> {
  const session = await sessionOf(context, services);
  if (!session && !isLinkEnough(services))
    return showPage(context, 401, html`Sign in to accept`, acceptForm(context, services, { required: true }));
  const { offer, accepted } = await withSystemShare(services.pools, clientAddress(context), async (db) => {
    const found = await findAgencyInvitationByToken(db, tokenHash, now);
    const accepted = found && (await acceptAgencyInvitation(db, found, session?.userId ?? null, now));
    if (found && accepted !== null && found.acceptedAt === null) {
      await insertAuditEntry(
        { db, agencyId: found.agencyId },
        {
          actor: { type: 'user', id: accepted, name: found.email },
          channel: 'session',
          action: 'agency_admin.joined',
          target: { type: 'agency_admin', id: accepted },
        },
      );
    }
    return { offer: found, accepted };
  });
  if (!offer) return showPage(context, 404, NOT_VALID);
  if (accepted === null) return showPage(context, 403, html`This invitation is for somebody else`);
  showPage(context, 200, html`You are a co-admin of ${offer.agencyName}`, toConsole(context, services));
}

async function sessionOf(context: Context, services: Services): Promise<Pick<Session, 'userId'> | null> {
  const userId = inviteeOf(context, services);
  if (userId !== null) return { userId };
  const token = await sessionTokenOf(context);
  if (token === '') return null;
  return verifySession(token, clientAddress(context), services).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'UNAUTHORIZED') return null;
    throw error;
  });
}

async function sessionTokenOf(context: Context): Promise<string> {
  const [, bearer] = /^bearer +(\S+)$/i.exec(context.get('authorization').trim()) ?? [];
  return bearer ?? (await readForm(context)).get('sessionToken') ?? '';
}

const tokenOf = (context: Context): string => (context['params'] as Record<string, string>)['token'] ?? '';
const tokenHashOf = (context: Context): string => hashToken(tokenOf(context));
