import { z } from 'zod';
import {
  countOtherAdmins,
  lockMember,
  type Member,
  removeMember,
  setMemberRole,
} from '#db/queries/accounts/members.ts';
import { revokeKeysOf } from '#db/queries/accounts/api-keys.ts';
import { unlinkChatsOf } from '#db/commands/drafts/chat-messages.ts';
import { deleteSavedFiltersOf } from '#db/queries/inbox/saved-filters.ts';
import { unassignMember } from '#db/commands/inbox/conversation-changes.ts';
import { listTeam } from '#db/queries/accounts/team.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Role, TeamMember } from '#domain/accounts/team.ts';
import { newAdminNotice, emailOwner } from './owner-notices.ts';
import { activeWebhooks, EndWebhooks, leaveWebhooks } from './webhooks-of-keys.ts';
import { setAway, setBack } from '#db/queries/inbox/absences.ts';
import { findInboxMember } from '#db/queries/inbox/inbox-members.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { Instant } from '#domain/base/moment.ts';
import { workspaceRoute } from '#api/http/route.ts';

const params = z.object({ userId: z.string().min(1).max(200) });
/** The result of removing a member. */
export const RevokeKeys = EndWebhooks.extend({
  revokeKeys: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Whether to also revoke the API keys that they created.' }),
});
export const Removed = z.object({ success: z.literal(true), revokedKeys: z.int(), activeWebhooks });

/** What the audit log records of a removal. */
export const revocationOf = ({ revokedKeys, activeWebhooks: left }: z.infer<typeof Removed>) => ({
  revokedKeys,
  activeWebhooks: left,
});

const Members = z.object({ success: z.literal(true), members: z.array(TeamMember) });

const respondWithTeam = async (db: TenantDb) => ({
  status: 200 as const,
  body: { success: true as const, members: await listTeam(db) },
});

export const teamMemberRoutes = [
  workspaceRoute({
    id: 'getTeam',
    method: 'GET',
    path: '/api/team',
    tag: 'Team',
    summary: 'List the members of the workspace, the owner first',
    responses: { 200: Members },
    handler: ({ db }) => respondWithTeam(db),
  }),

  workspaceRoute({
    id: 'listTeam',
    method: 'GET',
    path: '/api/team/members',
    tag: 'Team',
    summary: 'List the members of the workspace, the owner first',
    responses: { 200: Members },
    handler: ({ db }) => respondWithTeam(db),
  }),

  workspaceRoute({
    id: 'updateTeamMember',
    method: 'PATCH',
    path: '/api/team/{userId}',
    tag: 'Team',
    role: 'admin',
    credential: 'session',
    mode: 'live',
    summary: "Change a member's role",
    description:
      'A session has the lower of this role and the one in its token, from the next request on. The owner stays an admin.',
    params,
    body: z.object({ role: Role }).meta({ id: 'TeamMemberInput' }),
    responses: { 200: z.object({ success: z.literal(true), member: TeamMember }) },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    audit: {
      action: 'member.updated',
      target: 'member',
      targets: ({ params }) => [{ id: params.userId }],
      changes: ['role'],
    },
    async handler({ db, caller, params: { userId }, body: { role }, now, secrets, config }) {
      const member = await memberOf(db, userId);
      if (role !== 'org:admin') await refuseLastAdmin(db, userId, member);
      await setMemberRole(db, userId, role);
      const changed = (await listTeam(db)).find((other) => other.userId === userId);
      if (!changed) throw memberNotFound();
      if (role === 'org:admin' && member.role !== 'org:admin')
        await emailOwner(db, newAdminNotice(changed.name, caller.actor.name), { now, secrets, config });
      return { status: 200, body: { success: true, member: changed } };
    },
  }),

  workspaceRoute({
    id: 'setAway',
    method: 'PUT',
    path: '/api/team/{userId}/away',
    tag: 'Team',
    credential: 'session',
    summary: 'Say that a member is away, or back',
    description:
      'Conversations are not assigned to them by turn meanwhile. Members say it of themselves, admins of everybody.',
    params,
    body: z
      .object({
        away: z.boolean(),
        until: Instant.optional().meta({ description: 'When they are back. Default: when they say so.' }),
      })
      .refine(({ away, until }) => away || until === undefined, { path: ['until'], message: 'needs away' })
      .meta({ id: 'AwayInput' }),
    responses: { 200: z.object({ success: z.literal(true), member: TeamMember }) },
    errors: ['NOT_FOUND', 'ADMIN_REQUIRED'],
    audit: {
      action: 'member.updated',
      target: 'member',
      targets: ({ params }) => [{ id: params.userId }],
      changes: ['away', 'until'],
    },
    async handler({ db, caller, params: { userId }, body: { away, until }, now }) {
      if (userId !== caller.userId && caller.role !== 'org:admin') throw new ApiError('ADMIN_REQUIRED');
      if (until !== undefined && new Date(until) <= now) throw invalid('until', 'must be in the future');
      if (!(await findInboxMember(db, userId))) throw memberNotFound();
      if (away) await setAway(db, userId, until === undefined ? null : new Date(until));
      else await setBack(db, userId);
      const member = (await listTeam(db)).find((other) => other.userId === userId);
      if (!member) throw memberNotFound();
      return { status: 200, body: { success: true, member } };
    },
  }),

  workspaceRoute({
    id: 'removeTeamMember',
    method: 'DELETE',
    path: '/api/team/{userId}',
    tag: 'Team',
    role: 'admin',
    mode: 'live',
    summary: 'Remove a member from the workspace',
    description:
      'Their sessions are refused from the next request on, their event streams end, and the chats that they have linked are told nothing any more. They can become a member again only by accepting another invitation. A key removes neither admins nor keys.',
    params,
    query: RevokeKeys,
    responses: { 200: Removed },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'SESSION_REQUIRED'],
    audit: {
      action: 'member.removed',
      target: 'member',
      targets: ({ params, answer }) => [{ id: params.userId, changes: revocationOf(answer) }],
    },
    async handler({ db, caller, params: { userId }, query, now }) {
      if (caller.via === 'key' && query.revokeKeys === 'true') throw new ApiError('SESSION_REQUIRED');
      const member = await memberOf(db, userId);
      if (caller.via === 'key' && member.role === 'org:admin')
        throw new ApiError('SESSION_REQUIRED', 'An admin is removed by another one, signed in');
      await refuseLastAdmin(db, userId, member);
      await removeMember(db, userId);
      await deleteSavedFiltersOf(db, userId);
      await setBack(db, userId);
      await unassignMember(db, userId, caller.actor, now);
      await unlinkChatsOf(db, userId, now);
      const keyIds = query.revokeKeys === 'true' ? await revokeKeysOf({ db }, userId) : [];
      const left = await leaveWebhooks(query, { db, keyIds });
      return { status: 200, body: { success: true, revokedKeys: keyIds.length, activeWebhooks: left } };
    },
  }),
];

const memberNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Member not found');

async function memberOf(db: TenantDb, userId: string): Promise<Member> {
  const member = await lockMember(db, userId);
  if (!member) throw memberNotFound();
  return member;
}

/** @throws INVALID_STATE for the owner, and if nobody else could manage the workspace. */
async function refuseLastAdmin(db: TenantDb, userId: string, { role, isOwner }: Member): Promise<void> {
  if (isOwner) throw new ApiError('INVALID_STATE', 'The owner remains an admin of the workspace');
  if (role === 'org:admin' && (await countOtherAdmins(db, userId)) === 0)
    throw new ApiError('INVALID_STATE', 'The last admin remains an admin of the workspace');
}
