import { z } from 'zod';
import { JsonValue } from '../base/json-value.ts';
import { Id } from '../base/ids.ts';

/** The recorded actions: changes of settings, decisions and refusals, not each message. */
const AUDIT_ACTIONS = [
  'agency.created',
  'agency_admin.invited',
  'agency_admin.joined',
  'agency_admin.removed',
  'agency_invitation.deleted',
  'campaign.archived',
  'campaign.corrected',
  'campaign.created',
  'campaign.deleted',
  'campaign.paused',
  'campaign.resumed',
  'campaign.started',
  'campaign.updated',
  'chat_connection.created',
  'chat_connection.deleted',
  'chat_connection.linked',
  'crm_connection.created',
  'crm_connection.deleted',
  'consent.recorded',
  'contact.erased',
  'contact.exported',
  'contact.opted_in',
  'contact.opted_out',
  'conversation.updated',
  'draft.decided',
  'draft.sent_by_autopilot',
  'email_preferences.updated',
  'fallback.updated',
  'invitation.created',
  'invitation.deleted',
  'key.created',
  'key.revoked',
  'key.rolled',
  'knowledge_base.updated',
  'line.connected',
  'line.deleted',
  'line.paused',
  'line.reputation_overridden',
  'line.resumed',
  'line.transferred',
  'line.updated',
  'line_request.created',
  'line_request.given_up',
  'line_request.payment_checked',
  'line_request.updated',
  'member.joined',
  'member.removed',
  'member.updated',
  'message.edited',
  'message.moved',
  'message.resent',
  'message.sent_now',
  'message.skipped',
  'message.unsent',
  'note.created',
  'opening_hours.updated',
  'opt_in_link.created',
  'opt_in_link.deleted',
  'opt_out.decided',
  'passkey.created',
  'passkey.deleted',
  'payment_method.page_opened',
  'pool.created',
  'pool.deleted',
  'pool.updated',
  'quiet_hours.updated',
  'request.refused',
  'rule.created',
  'rule.deleted',
  'rule.updated',
  'session.ended',
  'session.started',
  'set_aside.dropped',
  'set_aside.retried',
  'snippet.created',
  'snippet.deleted',
  'snippet.updated',
  'subscription.changed',
  'suppressions.updated',
  'webhook.created',
  'webhook.deleted',
  'webhook.replayed',
  'webhook.secret_rotated',
  'webhook.updated',
  'workspace.created',
  'workspace.resumed',
  'workspace.suspended',
  'workspace.updated',
] as const;
export const AuditAction = z.enum(AUDIT_ACTIONS);
export type AuditAction = z.infer<typeof AuditAction>;

export const AuditActor = z.object({
  type: z.enum(['user', 'key', 'operator', 'system']),
  id: z.string().nullable(),
  name: z.string().nullable().meta({ description: 'As it was at that time.' }),
});
export type AuditActor = z.infer<typeof AuditActor>;

export const AuditTarget = z.object({
  type: z.enum([
    'agency',
    'agency_admin',
    'campaign',
    'chat_connection',
    'contact',
    'crm_connection',
    'draft',
    'invitation',
    'key',
    'lead',
    'line',
    'line_request',
    'member',
    'message',
    'note',
    'passkey',
    'pool',
    'opt_in_link',
    'opt_out_suspicion',
    'rule',
    'session',
    'snippet',
    'webhook',
    'workflow',
    'workspace',
  ]),
  id: z.string(),
});
export type AuditTarget = z.infer<typeof AuditTarget>;

/** New values of fields by name. Never secrets, message bodies, phone numbers or addresses. */
export const AuditChanges = z.record(z.string(), JsonValue);
export type AuditChanges = z.infer<typeof AuditChanges>;

/** An entry: who did what and when. Kept for 400 days. */
export const AuditEntry = z
  .object({
    _id: Id,
    at: z.iso.datetime(),
    actor: AuditActor,
    channel: z.enum(['api', 'session', 'operator', 'system']),
    action: AuditAction,
    target: AuditTarget,
    reason: z.string().nullable(),
    changes: AuditChanges,
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

/** An actor in workflow histories, which contain ids of users and keys, and the names that operators give. */
export const shownActor = ({ type, id, name }: AuditActor): string => `${type} ${id ?? name ?? ''}`.trim();

/** An entry to be recorded now. */
export type NewAuditEntry = Pick<AuditEntry, 'actor' | 'channel' | 'action' | 'target'> &
  Partial<Pick<AuditEntry, 'reason' | 'changes'>>;

/** The author of an action in the Temporal UI or with `npm run ops`. */
export const byOperator = ({ by, reason }: { by: string; reason?: string | undefined }) =>
  ({
    actor: { type: 'operator', id: null, name: by },
    channel: 'operator',
    reason: reason ?? null,
  }) as const satisfies Partial<NewAuditEntry>;
