import { z } from 'zod';
import { Id } from './ids.ts';

/** What somebody may do in a workspace. */
export const Role = z.enum(['org:admin', 'org:member']);
export type Role = z.infer<typeof Role>;

export const TeamMember = z
  .object({
    userId: z.string(),
    email: z.string(),
    name: z.string(),
    role: Role,
    isOwner: z.boolean(),
    joinedAt: z.iso.datetime(),
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

/** Who was asked to co-administer an agency, and has not answered. */
export const AgencyInvitation = Invitation.pick({
  _id: true,
  email: true,
  expiresAt: true,
  createdAt: true,
}).meta({
  id: 'AgencyInvitation',
});
export type AgencyInvitation = z.infer<typeof AgencyInvitation>;

/** An invitation is good for a week; inviting again prolongs it. */
export const INVITATION_DAYS = 7;
/** Of a workspace, or of an agency. */
export const INVITATIONS_PER_HOUR = 20;
/** An address gets one email in this time, however often it is invited. */
export const INVITATION_PAUSE_MS = 3_600_000;
