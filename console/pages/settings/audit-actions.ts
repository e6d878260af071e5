import type { ResponseOf } from '#console/api/routes.ts';

export type Entry = ResponseOf<'GET /api/audit-log'>['entries'][number];
type Action = Entry['action'];

/** All recorded actions in words. */
export const ACTIONS: Record<Action, string> = {
  'agency_admin.invited': 'Invited an agency admin',
  'agency_admin.joined': 'Joined the agency',
  'agency_admin.removed': 'Removed an agency admin',
  'agency_invitation.deleted': 'Revoked an agency invitation',
  'campaign.archived': 'Archived a campaign',
  'campaign.created': 'Created a campaign',
  'campaign.deleted': 'Deleted a campaign',
  'campaign.paused': 'Paused a campaign',
  'campaign.resumed': 'Resumed a campaign',
  'campaign.started': 'Started a campaign',
  'campaign.updated': 'Changed a campaign',
  'contact.erased': 'Erased a contact',
  'contact.exported': 'Exported a contact',
  'contact.opted_in': 'Opted a contact in',
  'contact.opted_out': 'Opted a contact out',
  'conversation.updated': 'Changed a conversation',
  'draft.decided': 'Decided on a draft',
  'email_preferences.updated': 'Changed email preferences',
  'fallback.updated': 'Changed the SMS fallback',
  'invitation.created': 'Invited somebody',
  'invitation.deleted': 'Revoked an invitation',
  'key.created': 'Created an API key',
  'key.revoked': 'Revoked an API key',
  'key.rolled': 'Rolled an API key',
  'knowledge_base.updated': 'Changed the AI copilot',
  'line.connected': 'Connected a line',
  'line.deleted': 'Deleted a line',
  'line.paused': 'Paused a line',
  'line.reputation_overridden': 'Overrode the reputation of a line',
  'line.resumed': 'Resumed a line',
  'line.transferred': 'Transferred a line',
  'line.updated': 'Changed a line',
  'line_request.created': 'Requested a line',
  'line_request.given_up': 'Gave up a line request',
  'line_request.payment_checked': 'Checked the payment of a line',
  'line_request.updated': 'Changed a line request',
  'member.joined': 'Joined the workspace',
  'member.removed': 'Removed a member',
  'member.updated': 'Changed the role of a member',
  'message.sent_now': 'Sent a message now',
  'message.skipped': 'Skipped a message',
  'note.created': 'Wrote a note',
  'opt_out.decided': 'Decided on a suspected opt-out',
  'payment_method.page_opened': 'Opened the payment page',
  'pool.created': 'Created a pool',
  'pool.deleted': 'Deleted a pool',
  'pool.updated': 'Changed a pool',
  'quiet_hours.updated': 'Changed the quiet hours',
  'request.refused': 'Was refused a request',
  'session.ended': 'Signed out, or ended a session',
  'session.started': 'Signed in',
  'snippet.created': 'Created a snippet',
  'snippet.deleted': 'Deleted a snippet',
  'snippet.updated': 'Changed a snippet',
  'subscription.changed': 'Changed the subscription',
  'suppressions.updated': 'Changed the suppressed addresses',
  'webhook.created': 'Created a webhook',
  'webhook.deleted': 'Deleted a webhook',
  'webhook.secret_rotated': 'Rotated a webhook secret',
  'webhook.updated': 'Changed a webhook',
  'workspace.created': 'Created the workspace',
  'workspace.updated': 'Changed the workspace',
};

const CHANNELS: Record<Entry['channel'], string> = {
  session: 'Console or session',
  api: 'API key',
  operator: 'Operator',
  system: 'System',
};

const TARGETS: Record<Entry['target']['type'], string> = {
  agency: 'Agency',
  agency_admin: 'Agency admin',
  campaign: 'Campaign',
  contact: 'Contact',
  draft: 'Draft',
  invitation: 'Invitation',
  key: 'API key',
  lead: 'Lead',
  line: 'Line',
  line_request: 'Line request',
  member: 'Member',
  message: 'Message',
  note: 'Note',
  pool: 'Pool',
  opt_out_suspicion: 'Suspected opt-out',
  session: 'Session',
  snippet: 'Snippet',
  webhook: 'Webhook',
  workspace: 'Workspace',
};

export const channelName = (channel: Entry['channel']): string => CHANNELS[channel];
export const targetName = (type: Entry['target']['type']): string => TARGETS[type];

export const actorName = ({ name, id, type }: Entry['actor']): string => {
  if (type === 'system') return name ?? 'Linepace';
  return name ?? id ?? (type === 'key' ? 'An API key' : 'Unknown');
};

const optionsOf = (all: string, names: Record<string, string>) => [
  { value: '', label: all },
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];

/** The choices of the filters. */
export const OPTIONS = {
  action: optionsOf('All actions', ACTIONS),
  channel: optionsOf('All', CHANNELS),
  targetType: optionsOf('Everything', TARGETS),
  period: [
    { value: '', label: 'Any time' },
    { value: '1', label: 'Last 24 hours' },
    { value: '7', label: 'Last 7 days' },
    { value: '30', label: 'Last 30 days' },
    { value: '90', label: 'Last 90 days' },
  ],
};
