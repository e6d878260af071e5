import { z } from 'zod';
import { Id } from './ids.ts';

/** What somebody may do in a workspace (decisions §3). */
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

/** An invitation is good for a week; inviting again begins a new one. */
export const INVITATION_DAYS = 7;
