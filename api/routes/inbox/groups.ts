import { z } from 'zod';
import { acceptBubbles } from '#db/commands/messages/accept-messages.ts';
import { openGroup } from '#db/commands/messages/group-recipients.ts';
import { presentGroup } from '#db/queries/inbox/groups.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { showMessage } from '#db/queries/messages/shown-messages.ts';
import { Group, MAX_RECIPIENTS, MIN_RECIPIENTS } from '#domain/inbox/group.ts';
import { acceptedMessageOf } from '#domain/messages/accepted-message.ts';
import { splitBubbles } from '#domain/messages/bubbles.ts';
import { BubbleIds, Bubbles, Message } from '#domain/messages/message.ts';
import { Warnings } from '#domain/messages/warnings.ts';
import { warningsAbout } from '#api/routes/messages/message-warnings.ts';
import { workspaceRoute } from '#api/http/route.ts';

const GroupInput = z
  .object({
    fromLineId: z.string().min(1).max(100),
    recipients: z.array(z.string().min(1).max(320)).min(MIN_RECIPIENTS).max(MAX_RECIPIENTS).meta({
      description: 'Phone numbers and email addresses.',
    }),
    message: Bubbles,
  })
  .meta({ id: 'GroupInput' });

export const groupRoutes = [
  workspaceRoute({
    id: 'createGroup',
    method: 'POST',
    path: '/api/conversations/groups',
    tag: 'Conversations',
    needsSubscription: true,
    summary: 'Write to a new group of contacts',
    description:
      'Where the line has `groups`. The group is created with its first message, and counts as one new conversation of the line. The same contacts and line are the same group. Nobody in it may have opted out: a message to a group in which somebody has is not sent. Answer it with `groupId` of `POST /api/inbox/send-reply`.',
    idempotent: true,
    body: GroupInput,
    responses: { 201: Message.extend({ group: Group, warnings: Warnings, bubbleIds: BubbleIds }) },
    errors: ['NOT_FOUND', 'UNSUPPORTED_BY_CARRIER', 'LIMIT_REACHED'],
    async handler({ db, caller, body, now, links, carriers, waitingMessages }) {
      waitingMessages.admit(caller.workspace.id);
      const { input: given, others } = splitBubbles(body);
      const { fromLineId: lineId, recipients, message: text = '' } = given;
      const { country } = caller.workspace;
      const named = { lineId, recipients, country };
      const { group, line, addressed } = await openGroup(db, named, carriers.capabilitiesOf, now);
      const input = { message: text, messageType: line.channel, fromLineId: line.id };
      const context = await loadIntakeContext(db, [input], caller.workspace, { links, now });
      const { userId } = caller;
      const about = { now, source: 'api', schedule: now, userId, group: addressed };
      const accepted = acceptedMessageOf(input, context, about);
      const { message, bubbleIds } = await acceptBubbles(db, accepted, others, now);
      const warnings = await warningsAbout(db, message, { carriers, context });
      const shown = await showMessage(db, message, now);
      return { status: 201, body: { ...shown, group: presentGroup(group), warnings, bubbleIds } };
    },
  }),
];
