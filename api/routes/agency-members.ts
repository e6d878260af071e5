import { z } from 'zod';
import { addCoAdmin, listAgencyMembers, removeCoAdmin } from '#db/queries/agency.ts';
import { BillingMode } from '#domain/agency.ts';
import { UserId } from '#domain/ids.ts';
import { ApiError } from '../http/errors.ts';
import { agencyRoute } from '../http/route.ts';

const Member = z
  .object({ userId: z.string(), email: z.string(), name: z.string(), role: z.enum(['owner', 'co_admin']) })
  .meta({ id: 'AgencyMember' });

/** Co-admins and the card are matters of the signed-in owner (specification §4.2 rule 4): no key reaches them. */
export const readAgencyMembers = agencyRoute({
  id: 'listAgencyMembers',
  method: 'GET',
  path: '/api/agency/members',
  tag: 'Agency',
  summary: 'The owner and the co-admins of the agency',
  access: 'agency-owner-session',
  responses: { 200: z.object({ success: z.literal(true), members: z.array(Member) }) },
  async handler({ db, caller }) {
    return { status: 200, body: { success: true, members: await listAgencyMembers(db, caller.agency.id) } };
  },
});

export const readAgencyAdmins = agencyRoute({
  id: 'listAgencyAdmins',
  method: 'GET',
  path: '/api/agency/admins',
  tag: 'Agency',
  summary: 'The co-admins of the agency',
  access: 'agency-owner-session',
  responses: { 200: z.object({ success: z.literal(true), admins: z.array(Member) }) },
  async handler({ db, caller }) {
    const members = await listAgencyMembers(db, caller.agency.id);
    return {
      status: 200,
      body: { success: true, admins: members.filter(({ role }) => role === 'co_admin') },
    };
  },
});

export const createAgencyAdmin = agencyRoute({
  id: 'createAgencyAdmin',
  method: 'POST',
  path: '/api/agency/admins',
  tag: 'Agency',
  summary: 'Make a user, known by email, a co-admin',
  access: 'agency-owner-session',
  idempotent: true,
  body: z.object({ email: z.email().max(320) }),
  responses: { 201: z.object({ success: z.literal(true), admin: Member }) },
  errors: ['NOT_FOUND'],
  async handler({ db, caller, body }) {
    const admin = await addCoAdmin(db, caller.agency.id, body.email);
    if (!admin) throw new ApiError('NOT_FOUND', 'Nobody with this email address has an account');
    return { status: 201, body: { success: true, admin } };
  },
});

export const removeAgencyAdmin = agencyRoute({
  id: 'deleteAgencyAdmin',
  method: 'DELETE',
  path: '/api/agency/admins/{userId}',
  tag: 'Agency',
  summary: 'Remove a co-admin',
  access: 'agency-owner-session',
  params: z.object({ userId: UserId }),
  responses: { 200: z.object({ success: z.literal(true) }) },
  async handler({ db, caller, params }) {
    if (!(await removeCoAdmin(db, caller.agency.id, params.userId)))
      throw new ApiError('NOT_FOUND', 'Co-admin not found');
    return { status: 200, body: { success: true } };
  },
});

export const readAgencyBilling = agencyRoute({
  id: 'getAgencyBilling',
  method: 'GET',
  path: '/api/agency/billing',
  tag: 'Agency',
  summary: 'How the agency pays',
  access: 'agency-owner-session',
  responses: { 200: z.object({ success: z.literal(true), billingMode: BillingMode }) },
  async handler({ caller }) {
    return { status: 200, body: { success: true, billingMode: caller.agency.billingMode } };
  },
});
