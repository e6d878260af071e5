import type { MailTemplate } from '#domain/events/mail.ts';
import type { Render } from './template.ts';
import { agencyInvitation } from './templates/agency-invitation.ts';
import { inboxUnreadable } from './templates/inbox-unreadable.ts';
import { invitation } from './templates/invitation.ts';
import { lineDown } from './templates/line-down.ts';
import { lineReputation } from './templates/line-reputation.ts';
import { notice } from './templates/notice.ts';
import { ownerNotice } from './templates/owner-notice.ts';
import { replyAlert } from './templates/reply-alert.ts';
import { signInLink } from './templates/sign-in-link.ts';

/** All system emails. */
export const TEMPLATES: Record<MailTemplate, Render> = {
  agencyInvitation,
  inboxUnreadable,
  invitation,
  lineDown,
  lineReputation,
  notice,
  ownerNotice,
  replyAlert,
  signInLink,
};
