import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';

export type Entry = ResponseOf<'GET /api/audit-log'>['entries'][number];
type Action = Entry['action'];

/** All recorded actions in words. */
const ACTIONS: Record<Action, MessageDescriptor> = {
  'agency.created': msg`Created the agency`,
  'agency_admin.invited': msg`Invited an agency admin`,
  'agency_admin.joined': msg`Joined the agency`,
  'agency_admin.removed': msg`Removed an agency admin`,
  'agency_invitation.deleted': msg`Revoked an agency invitation`,
  'campaign.archived': msg`Archived a campaign`,
  'campaign.created': msg`Created a campaign`,
  'campaign.deleted': msg`Deleted a campaign`,
  'campaign.paused': msg`Paused a campaign`,
  'campaign.resumed': msg`Resumed a campaign`,
  'campaign.started': msg`Started a campaign`,
  'campaign.corrected': msg`Corrected a text of a campaign`,
  'campaign.updated': msg`Changed a campaign`,
  'chat_connection.created': msg`Asked to link a chat`,
  'chat_connection.deleted': msg`Unlinked a chat`,
  'chat_connection.linked': msg`Linked a chat`,
  'consent.recorded': msg`Recorded a consent`,
  'contact.erased': msg`Erased a contact`,
  'contact.exported': msg`Exported a contact`,
  'contact.opted_in': msg`Opted a contact in`,
  'contact.opted_out': msg`Opted a contact out`,
  'conversation.updated': msg`Changed a conversation`,
  'crm_connection.created': msg`Connected a CRM`,
  'crm_connection.deleted': msg`Disconnected a CRM`,
  'draft.decided': msg`Decided on a draft`,
  'email_preferences.updated': msg`Changed email preferences`,
  'fallback.updated': msg`Changed the SMS fallback`,
  'invitation.created': msg`Invited somebody`,
  'invitation.deleted': msg`Revoked an invitation`,
  'key.created': msg`Created an API key`,
  'key.revoked': msg`Revoked an API key`,
  'key.rolled': msg`Rolled an API key`,
  'knowledge_base.updated': msg`Changed the AI copilot`,
  'line.connected': msg`Connected a line`,
  'line.deleted': msg`Deleted a line`,
  'line.paused': msg`Paused a line`,
  'line.reputation_overridden': msg`Overrode the reputation of a line, or ended that`,
  'line.resumed': msg`Resumed a line`,
  'line.transferred': msg`Transferred a line`,
  'line.updated': msg`Changed a line`,
  'line_request.created': msg`Requested a line`,
  'line_request.given_up': msg`Gave up a line request`,
  'line_request.payment_checked': msg`Checked the payment of a line`,
  'line_request.updated': msg`Changed a line request`,
  'member.joined': msg`Joined the workspace`,
  'member.removed': msg`Removed a member`,
  'member.updated': msg`Changed the role of a member`,
  'message.edited': msg`Text of a message replaced`,
  'message.moved': msg`Moved a message to another line`,
  'message.resent': msg`Sent a failed message again`,
  'message.sent_now': msg`Sent a message now`,
  'message.skipped': msg`Skipped a message`,
  'message.unsent': msg`Message taken back`,
  'note.created': msg`Wrote a note`,
  'opt_in_link.created': msg`Created an opt-in link`,
  'opt_in_link.deleted': msg`Deleted an opt-in link`,
  'opt_out.decided': msg`Decided on a suspected opt-out`,
  'passkey.created': msg`Added a passkey`,
  'passkey.deleted': msg`Removed a passkey`,
  'payment_method.page_opened': msg`Opened the payment page`,
  'pool.created': msg`Created a pool`,
  'pool.deleted': msg`Deleted a pool`,
  'pool.updated': msg`Changed a pool`,
  'draft.sent_by_autopilot': msg`Sent a draft by the autopilot`,
  'opening_hours.updated': msg`Changed the opening hours`,
  'quiet_hours.updated': msg`Changed the quiet hours`,
  'request.refused': msg`Was refused a request`,
  'rule.created': msg`Created a rule`,
  'rule.deleted': msg`Deleted a rule`,
  'rule.updated': msg`Changed a rule`,
  'session.ended': msg`Signed out, or ended a session`,
  'session.started': msg({ message: 'Signed in', context: 'action' }),
  'set_aside.dropped': msg`Gave up failing work`,
  'set_aside.retried': msg`Had failing work tried again`,
  'snippet.created': msg`Created a snippet`,
  'snippet.deleted': msg`Deleted a snippet`,
  'snippet.updated': msg`Changed a snippet`,
  'subscription.changed': msg`Changed the subscription`,
  'suppressions.updated': msg`Changed the suppressed addresses`,
  'webhook.created': msg`Created a webhook`,
  'webhook.deleted': msg`Deleted a webhook`,
  'webhook.replayed': msg`Sent deliveries of a webhook again`,
  'webhook.secret_rotated': msg`Rotated a webhook secret`,
  'webhook.updated': msg`Changed a webhook`,
  'workspace.created': msg`Created the workspace`,
  'workspace.resumed': msg`Resumed the workspace`,
  'workspace.suspended': msg`Suspended the workspace`,
  'workspace.updated': msg`Changed the workspace`,
};

const CHANNELS: Record<Entry['channel'], MessageDescriptor> = {
  session: msg`Console or session`,
  api: msg`API key`,
  operator: msg`Operator`,
  system: msg`System`,
};

const TARGETS: Record<Entry['target']['type'], MessageDescriptor> = {
  agency: msg`Agency`,
  agency_admin: msg`Agency admin`,
  campaign: msg`Campaign`,
  chat_connection: msg`Chat`,
  crm_connection: msg`CRM`,
  contact: msg`Contact`,
  draft: msg`Draft`,
  invitation: msg`Invitation`,
  key: msg`API key`,
  lead: msg`Lead`,
  line: msg`Line`,
  line_request: msg`Line request`,
  member: msg`Member`,
  message: msg`Message`,
  note: msg`Note`,
  passkey: msg`Passkey`,
  pool: msg`Pool`,
  opt_in_link: msg`Opt-in link`,
  opt_out_suspicion: msg`Suspected opt-out`,
  rule: msg`Rule`,
  session: msg`Session`,
  snippet: msg`Snippet`,
  webhook: msg`Webhook`,
  workflow: msg`Workflow`,
  workspace: msg`Workspace`,
};

export const actionName = (action: Action): string => i18n._(ACTIONS[action]);
export const channelName = (channel: Entry['channel']): string => i18n._(CHANNELS[channel]);
export const targetName = (type: Entry['target']['type']): string => i18n._(TARGETS[type]);

/** What acts by itself, by the name that the API has for it. A rule, a campaign and a CRM have names of their own. */
const SYSTEMS = new Map<string | null, MessageDescriptor>([
  ['The autopilot', msg`The autopilot`],
  ['The contact', msg`The contact`],
  ['The endpoint', msg`The endpoint`],
  ['Identity provider', msg`Identity provider`],
]);

function systemName(name: string | null): string {
  const known = SYSTEMS.get(name);
  return known ? i18n._(known) : (name ?? 'Linepace');
}

export const actorName = ({ name, id, type }: Entry['actor']): string => {
  if (type === 'system') return systemName(name);
  return name ?? id ?? (type === 'key' ? t`An API key` : t`Unknown`);
};

const optionsOf = (all: string, names: Record<string, MessageDescriptor>) => [
  { value: '', label: all },
  ...Object.entries(names).map(([value, name]) => ({ value, label: i18n._(name) })),
];

/** The choices of the filters. */
export const options = () => ({
  action: optionsOf(t`All actions`, ACTIONS),
  channel: optionsOf(t`All`, CHANNELS),
  targetType: optionsOf(t`Everything`, TARGETS),
  period: [
    { value: '', label: t`Any time` },
    { value: '1', label: t`Last 24 hours` },
    { value: '7', label: t`Last 7 days` },
    { value: '30', label: t`Last 30 days` },
    { value: '90', label: t`Last 90 days` },
  ],
});
