import { z } from 'zod';
import { insertWrittenDraft } from '#db/commands/drafts/ai-drafts.ts';
import { emitDraft } from '#db/commands/drafts/draft-events.ts';
import { requestVersion, resolveDraft } from '#db/commands/drafts/draft-resolution.ts';
import { findListedDraft, type ListedDraft, listDrafts, presentDraft } from '#db/queries/drafts/ai-drafts.ts';
import { lastInbound } from '#db/queries/inbox/conversations.ts';
import { findLeads, findLeadsByAddress, presentLead } from '#db/queries/contacts/leads.ts';
import { lockFirstConversation } from '#db/queries/sending/message-locks.ts';
import { findReply } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { isSuspected } from '#db/queries/contacts/opt-out-suspicions.ts';
import { AutoReply, DraftInput, DraftResolution, DraftStatus } from '#domain/drafts/ai-draft.ts';
import type { CallerWorkspace } from '#domain/accounts/caller.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { Id, newId } from '#domain/base/ids.ts';
import { startOf } from '#domain/base/moment.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { renderTemplate, TemplateError, withoutTemplates } from '#domain/messages/template.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { addressOf, ContactFilter } from '../inbox/conversations-of-request.ts';
import { writtenAddressesOf } from '../inbox/contact-addresses.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';

/** Only the export of a contact contains the full text. */
const listed = (row: ListedDraft) => ({
  ...presentDraft(row),
  inboundText: shownReply(row.answeredBody ?? ''),
});

/** Their paths are below `/api/knowledge-base`: drafts began as its automatic replies. */
export const draftRoutes = [
  workspaceRoute({
    id: 'listAutoReplies',
    method: 'GET',
    path: '/api/knowledge-base/auto-replies',
    tag: 'AI drafts',
    scope: ['read', 'draft'],
    summary: 'List drafts, newest first',
    query: PageQuery.extend({ status: DraftStatus.optional(), address: ContactFilter }),
    responses: {
      200: z.object({ success: z.literal(true), autoReplies: z.array(AutoReply), nextCursor: NextCursor }),
    },
    async handler({ db, caller, query: { limit, cursor, status, address } }) {
      const filter = { status, address: address && addressOf(caller, address) };
      const { items, nextCursor } = page(await listDrafts(db, filter, { limit: limit + 1, cursor }), limit);
      return { status: 200, body: { success: true, autoReplies: items.map(listed), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'createDraft',
    method: 'POST',
    path: '/api/knowledge-base/drafts',
    tag: 'AI drafts',
    scope: 'draft',
    summary: 'Write a draft for a person to approve',
    description:
      "Sends nothing. Names the contact by `replyId`, `leadId`, `phone` or `email`; for a lead, the draft goes to the address that wrote last. It answers the contact's last reply, if there is one, and supersedes the open draft of the conversation. Emits `message.ai_draft`, while an opt-out of the contact is suspected only once that is dismissed. Needs no knowledge base.",
    idempotent: true,
    body: DraftInput,
    responses: { 201: z.object({ success: z.literal(true), draft: AutoReply }) },
    errors: ['NOT_FOUND'],
    async handler({ db, caller, body, now }) {
      const contact = await draftedContact(db, caller.workspace, body);
      await lockFirstConversation(db, contact.address);
      const last = contact.replyId === null ? await lastInbound(db, [contact.address]) : null;
      const known = await findLeadsByAddress(db, [contact.address]);
      const source = caller.via === 'session' ? ('dashboard' as const) : ('api' as const);
      const leadId = contact.leadId ?? known.get(contact.address) ?? null;
      const written = {
        id: newId(now),
        source,
        address: contact.address,
        answeredReplyId: contact.replyId ?? last?.id ?? null,
        leadId,
        text: await renderedFor(db, leadId, body.message),
      };
      const row = await insertWrittenDraft(db, written, now);
      if (!(await isSuspected(db, contact.address))) await emitDraft(db, row, now);
      const draft = await findListedDraft(db, written.id);
      if (!draft) throw new Error('the inserted draft was not found');
      return { status: 201, body: { success: true, draft: listed(draft) } };
    },
  }),

  workspaceRoute({
    id: 'resolveAutoReply',
    method: 'POST',
    path: '/api/knowledge-base/auto-replies',
    tag: 'AI drafts',
    scope: 'send',
    needsSubscription: true,
    summary: 'Approve, reject or claim a draft, or ask for another version; the first decision wins',
    description:
      '`retry` asks the copilot for another version of its draft, with a `hint` for it; the draft stays open, and `message.ai_draft` is emitted again once the version is written (`409 INVALID_STATE` after the fifth). `approve` sends the draft, or `message` instead of it, from the line the contact wrote to. `mark_sent` claims it: nothing is sent and no event is emitted. A `409` contains the status after the first action and its `approvalChannel`.',
    idempotent: true,
    body: DraftResolution,
    responses: {
      200: z.object({
        success: z.literal(true),
        replyId: Id,
        status: DraftStatus,
        messageId: Id.optional().meta({ description: 'The id of the message that is sent.' }),
      }),
    },
    errors: ['DRAFT_ALREADY_RESOLVED', 'INVALID_STATE', 'NOT_FOUND', 'NO_ACTIVE_LINE'],
    audit: {
      action: 'draft.decided',
      target: 'draft',
      targets: ({ body }) => [{ id: body.replyId }],
      changes: ['replyId', 'action'],
    },
    async handler({ db, caller, body, now, links, carriers }) {
      const { scheduledDate, hint = null, action, approvalChannel, ...given } = body;
      const { replyId } = body;
      if (action === 'retry') {
        await requestVersion(db, { replyId, hint }, now);
        return { status: 200, body: { success: true, replyId, status: 'drafted' } };
      }
      const door = caller.via === 'session' ? ('dashboard' as const) : ('api' as const);
      const channel = approvalChannel ?? door;
      const schedule =
        scheduledDate === undefined ? undefined : startOf(scheduledDate, caller.workspace.timezone);
      const decision = { ...given, action, schedule, channel, userId: caller.userId, by: caller.actor };
      const { capabilitiesOf } = carriers;
      const context = { workspace: caller.workspace, links, capabilitiesOf, now };
      const { status, messageId } = await resolveDraft(db, decision, context);
      return {
        status: 200,
        body: { success: true, replyId, status, ...(messageId !== null && { messageId }) },
      };
    },
  }),
];

/** The recipient of a draft, as named in the request. */
async function draftedContact(
  db: TenantDb,
  workspace: CallerWorkspace,
  { replyId, ...named }: DraftInput,
): Promise<{ address: string; leadId: string | null; replyId: string | null }> {
  if (replyId === undefined) {
    const addresses = await writtenAddressesOf(db, workspace, named);
    const last = await lastInbound(db, addresses.map(contactKey));
    return {
      address: last?.address ?? contactKey(addresses[0]),
      leadId: named.leadId ?? null,
      replyId: null,
    };
  }
  const reply = await findReply(db, replyId);
  if (!reply || isErased(reply.address))
    throw new ApiError('NOT_FOUND', 'replyId: no such reply in this workspace');
  return { address: reply.address, leadId: reply.leadId, replyId };
}

/** What is approved is what is sent: a draft keeps no template, whose rendering the person who approves would not see. */
async function renderedFor(db: TenantDb, leadId: string | null, text: string): Promise<string> {
  const lead = leadId === null ? undefined : (await findLeads(db, [leadId])).get(leadId);
  try {
    return withoutTemplates(renderTemplate(text, lead ? presentLead(lead) : null));
  } catch (error) {
    if (error instanceof TemplateError) return withoutTemplates(text);
    throw error;
  }
}
