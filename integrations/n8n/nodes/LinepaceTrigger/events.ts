/** The events of the API. A test of the product compares them with its list. */
export const EVENTS = [
  {
    name: 'AI Budget Exhausted',
    value: 'ai.budget_exhausted',
    description: "The day's budget for the language model is used up: no drafts are written until tomorrow",
  },
  { name: 'Call Ended', value: 'call.ended', description: 'A call ended or failed' },
  {
    name: 'Campaign Completed',
    value: 'campaign.completed',
    description: 'Every lead of a campaign has finished or stopped',
  },
  {
    name: 'Campaign Step',
    value: 'campaign.step',
    description: 'A lead came to a step of a campaign that calls a webhook (`do {webhook}`)',
  },
  {
    name: 'Campaign Will Be Late',
    value: 'campaign.will_be_late',
    description: 'The forecast says that a campaign will not be finished by `finishBy`',
  },
  {
    name: 'Contact Opt Out Suspected',
    value: 'contact.opt_out_suspected',
    description: 'A contact asks to be left alone in other words than STOP',
  },
  {
    name: 'Contact Opted In',
    value: 'contact.opted_in',
    description: 'A contact who had opted out may be written to again',
  },
  {
    name: 'Contact Opted Out',
    value: 'contact.opted_out',
    description: 'A contact opted out: nothing more is sent to the address',
  },
  {
    name: 'Conversation Assigned',
    value: 'conversation.assigned',
    description: 'A conversation was assigned to a member, or to nobody',
  },
  {
    name: 'Conversation Status Changed',
    value: 'conversation.status_changed',
    description:
      'A conversation was opened, snoozed or closed, or its snooze ended, which is told within two minutes',
  },
  {
    name: 'Import Completed',
    value: 'import.completed',
    description: 'The import of a file has ended; `import.error` says why it stopped early, if it did',
  },
  {
    name: 'Lead Created',
    value: 'lead.created',
    description: 'A lead was saved, except by an import, which ends with import.completed, or for a message',
  },
  {
    name: 'Lead Deleted',
    value: 'lead.deleted',
    description: 'A lead was deleted, except with its list or by an erasure',
  },
  { name: 'Lead Updated', value: 'lead.updated', description: 'The fields of a lead changed' },
  {
    name: 'Line Down',
    value: 'line.down',
    description: 'A line sends nothing: it failed three checks in a row, or its carrier takes no messages',
  },
  {
    name: 'Line Reputation Changed',
    value: 'line.reputation_changed',
    description: 'The reputation of a line changed its state',
  },
  { name: 'Line Up', value: 'line.up', description: 'A line that was down can send again' },
  {
    name: 'Message AI Draft',
    value: 'message.ai_draft',
    description: 'The AI copilot, a user or a program drafted a message for review',
  },
  {
    name: 'Message AI Draft Approved',
    value: 'message.ai_draft_approved',
    description: 'A draft was approved and sent, from any channel',
  },
  {
    name: 'Message AI Draft Rejected',
    value: 'message.ai_draft_rejected',
    description: 'A draft was rejected, from any channel',
  },
  {
    name: 'Message Canceled',
    value: 'message.canceled',
    description:
      'A message is not sent: a caller canceled it, or its sequence, campaign or lead ended. None when a contact is erased.',
  },
  {
    name: 'Message Delivered',
    value: 'message.delivered',
    description: 'The carrier reported that a message has arrived',
  },
  { name: 'Message Edited', value: 'message.edited', description: 'A lead or contact edited a message' },
  { name: 'Message Failed', value: 'message.failed', description: 'A message failed permanently' },
  {
    name: 'Message Fallback',
    value: 'message.fallback',
    description: 'The recipient has no iMessage, or the primary channel is unavailable',
  },
  {
    name: 'Message Opened',
    value: 'message.opened',
    description: 'The recipient read a message, where read receipts are supported',
  },
  {
    name: 'Message Reaction',
    value: 'message.reaction',
    description: 'A lead or contact reacted to a message',
  },
  { name: 'Message Reply', value: 'message.reply', description: 'A lead or contact replied' },
  {
    name: 'Message Sent',
    value: 'message.sent',
    description: 'A message was sent: accepted by the carrier, not yet confirmed by the device',
  },
  { name: 'Message Unsent', value: 'message.unsent', description: 'A lead or contact took a message back' },
];
