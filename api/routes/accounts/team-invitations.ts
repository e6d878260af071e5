import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { lastMailAt, type Outbox, queueMail, workspaceOutbox } from '#db/commands/events/mails.ts';
import { deleteInvitation, pageOfInvitations, upsertInvitation } from '#db/queries/accounts/invitations.ts';
import { listTeam, workspaceName } from '#db/queries/accounts/team.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import { Id } from '#domain/base/ids.ts';
import { isUnlimited } from '#domain/accounts/key-scope.ts';
import {
  Invitation,
  INVITATION_DAYS,
  INVITATION_EMAIL_INTERVAL_MS,
  INVITATIONS_PER_HOUR,
  Role,
} from '#domain/accounts/team.ts';
import { AGENCY_LIMITS, LimitReached } from '#domain/accounts/limits.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, pageOfRecords, PageQuery } from '#api/http/page.ts';
import { RateLimited, type RateLimits } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';

/** Only the hash is stored; the token itself is only in the email. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

export function newToken(): { token: string; tokenHash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: hashToken(token) };
}

/** Stricter than the default, because invitations send email to arbitrary addresses. */
export const INVITATION_LIMIT = { requests: INVITATIONS_PER_HOUR, seconds: 3600 };

const { max: INVITATIONS_OF_AGENCY } = AGENCY_LIMITS.invitations;

/** Counts over all workspaces of an agency, which would otherwise multiply the limit of each. @throws LimitReached */
export async function limitAgencyInvitations(
  agencyId: string | null,
  rateLimits: Pick<RateLimits, 'consume'>,
): Promise<void> {
  if (agencyId === null) return;
  const limit = { requests: INVITATIONS_OF_AGENCY, seconds: 3600 };
  await rateLimits.consume('invitationsOfAgency', agencyId, limit).catch((error: unknown) => {
    if (!(error instanceof RateLimited)) throw error;
    throw new LimitReached('invitations', Number(error.headers['Retry-After']));
  });
}

/** When to email an invitation: now, unless an earlier one, since revoked, was emailed within the hour. */
export async function invitationMailAt(
  outbox: Outbox,
  email: string,
  template: 'invitation' | 'agencyInvitation',
  now: Date,
): Promise<Date> {
  const last = await lastMailAt(outbox, email, template);
  return new Date(Math.max(now.getTime(), (last?.getTime() ?? 0) + INVITATION_EMAIL_INTERVAL_MS));
}

export const teamInvitationRoutes = [
  workspaceRoute({
    id: 'inviteToTeam',
    method: 'POST',
    path: '/api/team/invite',
    tag: 'Team',
    needsSubscription: true,
    role: 'admin',
    mode: 'live',
    summary: 'Invite somebody to the workspace by email',
    description: `The invitation is valid for ${INVITATION_DAYS} days. Inviting the same address again sends a new link, which replaces the old one. Within an hour of the last email, only the role changes and no email is sent. A key with all scopes, and neither an expiry nor allowed addresses, may invite admins; any other invites members only. The open invitations of a key end with it. Limit: ${INVITATIONS_PER_HOUR} invitations per hour.`,
    idempotent: true,
    limit: INVITATION_LIMIT,
    body: z
      .object({ email: z.string().max(320), role: Role.default('org:member') })
      .meta({ id: 'InvitationInput' }),
    responses: { 201: z.object({ success: z.literal(true), invitation: Invitation }) },
    errors: ['CONFLICT', 'LIMIT_REACHED'],
    check: ({ caller, rateLimits }) => limitAgencyInvitations(caller.workspace.agencyId, rateLimits),
    audit: {
      action: 'invitation.created',
      target: 'invitation',
      targets: ({ answer }) => [{ id: answer.invitation._id }],
      changes: ['role'],
    },
    async handler({ db, caller, body, config, secrets, now }) {
      const email = normalizeEmail(body.email);
      if (email === null) throw invalid('email', 'must be an email address');
      const team = await listTeam(db);
      if (team.some((member) => member.email.toLowerCase() === email.toLowerCase())) {
        throw new ApiError('CONFLICT', 'This person is already a member of the workspace');
      }
      const { token, tokenHash } = newToken();
      const { role } = body;
      if (role === 'org:admin' && caller.key !== null && !isUnlimited(caller.key))
        throw new ApiError(
          'INSUFFICIENT_SCOPE',
          'A key invites admins only if it has all scopes, and neither an expiry nor allowed addresses',
          { required: 'manage' },
        );
      const { userId } = caller;
      const keyId = caller.via === 'key' ? caller.actor.id : null;
      const store = { db, workspaceId: db.workspaceId };
      const sent = await upsertInvitation(store, { email, role, tokenHash, userId, keyId, now });
      const invitation = { ...sent.invitation, role, acceptedAt: null };
      const response = { status: 201, body: { success: true, invitation } } as const;
      if (!sent.isNewLink) return response;
      const inviter = team.find((member) => member.userId === userId)?.name ?? '';
      const link = `${config.publicUrl}/invitations/${token}`;
      const names = { workspaceName: await workspaceName(db), invitedBy: inviter === '' ? null : inviter };
      const data = { ...names, role, link, expiresAt: invitation.expiresAt };
      await queueMail(
        db,
        { to: email, template: 'invitation', data },
        mailSeal(secrets, db.workspaceId),
        await invitationMailAt(workspaceOutbox(db), email, 'invitation', now),
      );
      return response;
    },
  }),

  workspaceRoute({
    id: 'listInvitations',
    method: 'GET',
    path: '/api/team/invitations',
    tag: 'Team',
    summary: 'List invitations, newest first',
    query: PageQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        invitations: z.array(Invitation),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, query }) {
      const { items, nextCursor } = pageOfRecords(await pageOfInvitations(db, query), query.limit);
      return { status: 200, body: { success: true, invitations: items, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'deleteInvitation',
    method: 'DELETE',
    path: '/api/team/invitations/{id}',
    tag: 'Team',
    role: 'admin',
    mode: 'live',
    summary: 'Revoke a pending invitation and its link',
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true) }) },
    audit: { action: 'invitation.deleted', target: 'invitation' },
    async handler({ db, params }) {
      const store = { db, workspaceId: db.workspaceId };
      if (!(await deleteInvitation(store, params.id)))
        throw new ApiError('NOT_FOUND', 'Invitation not found');
      return { status: 200, body: { success: true } };
    },
  }),
];
