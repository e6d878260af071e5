import { z } from 'zod';
import { Id } from '../base/ids.ts';

/** A member's role in a workspace. */
export const Role = z.enum(['org:admin', 'org:member']);
export type Role = z.infer<typeof Role>;

/**
 * The role of a session: the lower of the role in its token, which may be one of the identity provider's own, and that
 * of the member.
 */
export const lowerRole = (token: string | null, member: Role): string | null =>
  member === 'org:admin' || token === null ? token : 'org:member';

export const TeamMember = z
  .object({
    userId: z.string(),
    email: z
      .string()
      .meta({ description: "'' if it is unknown because the member signed in without an invitation." }),
    name: z.string(),
    role: Role,
    isOwner: z.boolean(),
    joinedAt: z.iso.datetime(),
    away: z.boolean().meta({ description: 'They get no conversations by turn.' }),
    awayUntil: z.iso.datetime().nullable().meta({ description: 'null: until they are back.' }),
  })
  .meta({ id: 'TeamMember' });
export type TeamMember = z.infer<typeof TeamMember>;

export const Invitation = z
  .object({
    _id: Id,
    email: z.string(),
    role: Role,
    expiresAt: z.iso.datetime(),
    acceptedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.infer<typeof Invitation>;

/** A pending invitation to co-administer an agency. */
export const AgencyInvitation = Invitation.pick({
  _id: true,
  email: true,
  expiresAt: true,
  createdAt: true,
}).meta({
  id: 'AgencyInvitation',
});
export type AgencyInvitation = z.infer<typeof AgencyInvitation>;

/** Validity of an invitation; inviting again renews it. */
export const INVITATION_DAYS = 7;
/** Per workspace or agency. */
export const INVITATIONS_PER_HOUR = 20;
/** The minimum time between two emails to one address. */
export const INVITATION_EMAIL_INTERVAL_MS = 3_600_000;
