import { z } from 'zod';
import { AuditActor } from '../accounts/audit.ts';
import { ConversationStatus } from '../inbox/conversation.ts';
import { Id } from '../base/ids.ts';
import { eventHead } from './base.ts';

const fields = {
  address: z.string().meta({ description: 'It identifies the conversation.' }),
  leadId: Id.optional(),
  by: AuditActor.pick({ type: true, id: true }).meta({
    description: 'Who did it; `system`: the contact wrote, a snooze ended, or a member was removed.',
  }),
};

const UserId = z.string().nullable().meta({ description: 'The id of a user; null: nobody.' });

/** Another member, or nobody, answers a conversation. */
export const ConversationAssigned = eventHead('conversation.assigned').extend({
  ...fields,
  from: UserId,
  to: UserId,
});

/** A conversation was opened, snoozed or closed by a member, a program, a contact who wrote, or the end of a snooze. */
export const ConversationStatusChanged = eventHead('conversation.status_changed').extend({
  ...fields,
  from: ConversationStatus,
  to: ConversationStatus,
  snoozedUntil: z.iso.datetime().nullable(),
});
