import { z } from 'zod';
import { emitLeadEvents } from '#db/commands/contacts/lead-events.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { lockLead, presentLead, setLeadTags } from '#db/queries/contacts/leads.ts';
import { Id } from '#domain/base/ids.ts';
import { Lead } from '#domain/contacts/lead.ts';
import { triggerTagRules } from '#db/commands/inbox/rule-triggers.ts';
import { changedTags, newTags } from '#domain/inbox/bulk-conversations.ts';
import { MAX_TAGS, TagsInput } from '#domain/inbox/conversation.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';

const OneLead = z.object({ success: z.literal(true), lead: Lead });
const LeadParams = z.object({ id: Id });

/** @throws NOT_FOUND; VALIDATION_ERROR if the lead would have too many tags. */
async function changeTags(
  db: TenantDb,
  id: string,
  change: { addTags?: string[]; removeTags?: string[] },
  now: Date,
): Promise<z.infer<typeof OneLead>> {
  const lead = await lockLead(db, id);
  if (!lead) throw new ApiError('NOT_FOUND', 'Lead not found');
  const tags = changedTags(lead.tags, change);
  if (tags.length > MAX_TAGS) throw invalid('tags', `a lead has at most ${MAX_TAGS} tags`);
  const isChanged = tags.length !== lead.tags.length || tags.some((tag, index) => tag !== lead.tags[index]);
  if (!isChanged) return { success: true, lead: presentLead(lead) };
  const tagged = await setLeadTags(db, id, tags);
  await emitLeadEvents(db, 'lead.updated', [tagged], now);
  await triggerTagRules(db, tagged, newTags(lead.tags, tags), now);
  return { success: true, lead: presentLead(tagged) };
}

export const leadTagRoutes = [
  workspaceRoute({
    id: 'addLeadTags',
    method: 'POST',
    path: '/api/leads/{id}/tags',
    tag: 'Contacts',
    summary: 'Add tags to a lead',
    description: `Tags that the lead has, in any case, stay as they are. A lead has at most ${MAX_TAGS} tags. Tags of leads are apart from those of conversations.`,
    params: LeadParams,
    body: TagsInput,
    responses: { 200: OneLead },
    errors: ['NOT_FOUND'],
    handler: async ({ db, params, body, now }) => ({
      status: 200,
      body: await changeTags(db, params.id, { addTags: body.tags }, now),
    }),
  }),

  workspaceRoute({
    id: 'removeLeadTags',
    method: 'DELETE',
    path: '/api/leads/{id}/tags',
    tag: 'Contacts',
    summary: 'Remove tags from a lead',
    description: 'In any case. Tags that the lead does not have are ignored.',
    params: LeadParams,
    body: TagsInput,
    responses: { 200: OneLead },
    errors: ['NOT_FOUND'],
    handler: async ({ db, params, body, now }) => ({
      status: 200,
      body: await changeTags(db, params.id, { removeTags: body.tags }, now),
    }),
  }),
];
