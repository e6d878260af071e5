import { z } from 'zod';
import { agencyOutbox, insertMail } from '#db/commands/events/mails.ts';
import { agencyNames, listAgencyMembers, mayMail, removeCoAdmin } from '#db/queries/accounts/agency.ts';
import { revokeKeysInAgency } from '#db/queries/accounts/api-keys.ts';
import {
  deleteInvitation,
  pageOfAgencyInvitations,
  upsertInvitation,
} from '#db/queries/accounts/invitations.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import { Id, UserId } from '#domain/base/ids.ts';
import { AgencyInvitation, INVITATION_DAYS, INVITATIONS_PER_HOUR } from '#domain/accounts/team.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { agencyMailSenderId } from '#workflows/protocol/workflow-ids.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { NextCursor, pageOfRecords, PageQuery } from '#api/http/page.ts';
import { Removed, revocationOf, RevokeKeys } from '../accounts/team-members.ts';
import { leaveWebhooks } from '../accounts/webhooks-of-keys.ts';
import { agencyRoute } from '#api/http/route.ts';
import {
  INVITATION_LIMIT,
  limitAgencyInvitations,
  invitationMailAt,
  newToken,
} from '../accounts/team-invitations.ts';

const Member = z
  .object({ userId: z.string(), email: z.string(), name: z.string(), role: z.enum(['owner', 'co_admin']) })
  .meta({ id: 'AgencyMember' });

export const agencyMemberRoutes = [
  agencyRoute({
    id: 'listAgencyMembers',
    method: 'GET',
    path: '/api/agency/members',
    tag: 'Agency',
    summary: 'List the owner and the co-admins of the agency',
    credential: 'session',
    role: 'owner',
    responses: { 200: z.object({ success: z.literal(true), members: z.array(Member) }) },
    async handler({ db, caller }) {
      return { status: 200, body: { success: true, members: await listAgencyMembers(db, caller.agency.id) } };
    },
  }),

  agencyRoute({
    id: 'listAgencyAdmins',
    method: 'GET',
    path: '/api/agency/admins',
    tag: 'Agency',
    summary: 'List the co-admins of the agency',
    credential: 'session',
    role: 'owner',
    responses: { 200: z.object({ success: z.literal(true), admins: z.array(Member) }) },
    async handler({ db, caller }) {
      const members = await listAgencyMembers(db, caller.agency.id);
      return {
        status: 200,
        body: { success: true, admins: members.filter(({ role }) => role === 'co_admin') },
      };
    },
  }),

  agencyRoute({
    id: 'createAgencyAdmin',
    method: 'POST',
    path: '/api/agency/admins',
    tag: 'Agency',
    summary: 'Invite somebody by email to be a co-admin',
    description: `The response does not reveal whether the address has an account. The person becomes a co-admin by opening the link in the email and accepting, while signed in unless people sign in by email. The link is valid for ${INVITATION_DAYS} days. Limits: one email per address and hour, ${INVITATIONS_PER_HOUR} invitations per hour.`,
    credential: 'session',
    role: 'owner',
    idempotent: true,
    limit: INVITATION_LIMIT,
    body: z.object({ email: z.string().max(320) }),
    responses: { 202: z.object({ success: z.literal(true) }) },
    errors: ['LIMIT_REACHED'],
    check: ({ caller, rateLimits }) => limitAgencyInvitations(caller.agency.id, rateLimits),
    audit: { action: 'agency_admin.invited', target: 'agency' },
    async handler({ db, caller, body, config, secrets, now }) {
      const agencyId = caller.agency.id;
      const email = normalizeEmail(body.email);
      if (email === null) throw invalid('email', 'must be an email address');
      const { token, tokenHash } = newToken();
      const { userId } = caller;
      const { invitation, isNewLink } = await upsertInvitation(
        { db, agencyId },
        { email, role: null, tokenHash, userId, keyId: null, now },
      );
      if (isNewLink && (await mayMail(db, agencyId, email))) {
        const outbox = agencyOutbox(db, agencyId);
        const data = {
          ...(await agencyNames(db, agencyId, userId)),
          link: `${config.publicUrl}/invitations/${token}`,
          expiresAt: invitation.expiresAt,
        };
        await insertMail(
          outbox,
          { to: email, template: 'agencyInvitation', data },
          mailSeal(secrets, agencyId),
          await invitationMailAt(outbox, email, 'agencyInvitation', now),
        );
        db.wakes.signal(agencyMailSenderId(agencyId), agencyId, 'mailsDue');
      }
      return { status: 202, body: { success: true } };
    },
  }),

  agencyRoute({
    id: 'listAgencyInvitations',
    method: 'GET',
    path: '/api/agency/invitations',
    tag: 'Agency',
    summary: 'List pending invitations of co-admins, newest first',
    credential: 'session',
    role: 'owner',
    query: PageQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        invitations: z.array(AgencyInvitation),
        nextCursor: NextCursor,
      }),
    },
    async handler({ db, caller, query }) {
      const rows = await pageOfAgencyInvitations(db, caller.agency.id, query);
      const { items, nextCursor } = pageOfRecords(rows, query.limit);
      return { status: 200, body: { success: true, invitations: items, nextCursor } };
    },
  }),

  agencyRoute({
    id: 'deleteAgencyInvitation',
    method: 'DELETE',
    path: '/api/agency/invitations/{id}',
    tag: 'Agency',
    summary: 'Revoke a pending invitation and its link',
    credential: 'session',
    role: 'owner',
    params: z.object({ id: Id }),
    responses: { 200: z.object({ success: z.literal(true) }) },
    audit: { action: 'agency_invitation.deleted', target: 'invitation' },
    async handler({ db, caller, params }) {
      if (!(await deleteInvitation({ db, agencyId: caller.agency.id }, params.id)))
        throw new ApiError('NOT_FOUND', 'Invitation not found');
      return { status: 200, body: { success: true } };
    },
  }),

  agencyRoute({
    id: 'deleteAgencyAdmin',
    method: 'DELETE',
    path: '/api/agency/admins/{userId}',
    tag: 'Agency',
    summary: 'Remove a co-admin',
    credential: 'session',
    role: 'owner',
    params: z.object({ userId: UserId }),
    query: RevokeKeys,
    responses: { 200: Removed },
    audit: {
      action: 'agency_admin.removed',
      target: 'agency_admin',
      targets: ({ params, answer }) => [{ id: params.userId, changes: revocationOf(answer) }],
    },
    async handler({ db, caller: { agency }, params: { userId }, query }) {
      if (!(await removeCoAdmin(db, agency.id, userId)))
        throw new ApiError('NOT_FOUND', 'Co-admin not found');
      const keyIds = query.revokeKeys === 'true' ? await revokeKeysInAgency(db, agency.id, userId) : [];
      const left = await leaveWebhooks(query, { db, agencyId: agency.id, keyIds });
      return { status: 200, body: { success: true, revokedKeys: keyIds.length, activeWebhooks: left } };
    },
  }),
];
