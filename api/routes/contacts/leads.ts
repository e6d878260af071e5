import { z } from 'zod';
import { eraseContact } from '#db/commands/contacts/contact-erasure.ts';
import { emitLeadEvents, emitLeadsCreated } from '#db/commands/contacts/lead-events.ts';
import { deleteLeads } from '#db/commands/contacts/delete-leads.ts';
import { followAddresses } from '#db/commands/campaigns/campaign-steps.ts';
import { placeMessagesOfLead } from '#db/commands/messages/message-places.ts';
import {
  findLead,
  insertLeads,
  listLeads,
  lockLead,
  presentLead,
  type SavedLead,
  updateLead,
} from '#db/queries/contacts/leads.ts';
import { lockList, quickSendsList } from '#db/queries/contacts/lists.ts';
import { listContactTimeline, presentContactTimeline } from '#db/queries/inbox/contact-timeline.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { ContactTimelineEntry } from '#domain/contacts/contact-timeline.ts';
import { Id } from '#domain/base/ids.ts';
import {
  DefaultCountryCode,
  Lead,
  LeadFilter,
  LeadInput,
  LeadPatch,
  type NormalizedLead,
  type PhoneDefaults,
  normalizeLead,
  patchLead,
  unlikelyNumbers,
} from '#domain/contacts/lead.ts';
import { numberWarnings, Warning } from '#domain/messages/warnings.ts';
import { ApiError, invalidFields, type Issue, MAX_ISSUES } from '#api/http/errors.ts';
import { pageBy, PositionQuery } from '#api/http/cursor.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { chargeUnsubscribed } from '#api/http/unsubscribed.ts';
import { listNotFound } from './lists.ts';
import { oneLine } from '#domain/base/text.ts';
import { requireCustomFields } from '#db/queries/accounts/limits.ts';
import { mapInTurns } from '#domain/base/turns.ts';

const LeadParams = z.object({ id: Id });

const Success = z.object({ success: z.literal(true) });

const OneLead = z.object({ success: z.literal(true), lead: Lead });

export const leadNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Lead not found');

/** The maximum number of values in a body: enough for 10,000 leads with a dozen fields each. */
const MAX_VALUES = 150_000;
/** Leads inserted by one statement: preparing it and reading its rows block the event loop. */
const PART = 500;

const LeadsInput = z
  .object({
    leads: z.array(LeadInput).min(1, 'at least one lead is required').max(10_000),
    listId: Id.optional().meta({ description: 'Default: Quick Sends.' }),
    source: z.string().max(200).overwrite(oneLine).optional(),
    defaultCountryCode: DefaultCountryCode.optional().meta({
      description: 'For phone numbers without a country code; default: the country of the workspace.',
    }),
  })
  .meta({ id: 'LeadsInput' });

export const leadRoutes = [
  workspaceRoute({
    id: 'createLeads',
    method: 'POST',
    path: '/api/leads',
    tag: 'Contacts',
    summary: 'Create one or more leads',
    description:
      'A lead that shares an email or phone with another lead of the list is a duplicate and is skipped. If any lead is invalid, none is created.',
    idempotent: true,
    body: LeadsInput,
    maxValues: MAX_VALUES,
    responses: {
      201: z.object({
        message: z.string(),
        savedCount: z.int(),
        duplicateCount: z.int(),
        totalProcessed: z.int(),
        listId: Id,
        leadIds: z.array(Id).meta({
          description: 'One per lead of the request, in order; for a duplicate, the id of the existing lead.',
        }),
        warnings: z.array(Warning).meta({
          description: '`number_unlikely` if a country does not have the number of a lead, which is saved.',
        }),
      }),
    },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    async check({ caller, body, ...services }) {
      await chargeUnsubscribed(services, caller, body.leads.length - 1);
    },
    async handler({ db, caller, body, now }) {
      const leads = await normalizeLeads(body.leads, {
        country: caller.workspace.country,
        callingCode: body.defaultCountryCode,
      });
      const unlikely = await mapInTurns(leads, unlikelyNumbers);
      await requireCustomFields(
        db,
        leads.map(({ customFields }) => customFields),
      );
      const ownerOf = await contactOwners(
        db,
        leads.map(({ contactOwnerEmail }) => contactOwnerEmail),
      );
      const listId = body.listId ?? (await quickSendsList(db));
      if (!(await lockList(db, listId))) throw listNotFound();
      const owned = leads.map((lead): NormalizedLead => ({
        ...lead,
        contactOwnerEmail: ownerOf(lead.contactOwnerEmail),
      }));
      const results: SavedLead[] = [];
      for (let start = 0; start < owned.length; start += PART)
        results.push(
          ...(await insertLeads(db, listId, owned.slice(start, start + PART), {
            source: body.source ?? 'api',
            now,
          })),
        );
      const created = results.filter(({ isNew }) => isNew).map(({ id }) => id);
      await emitLeadsCreated(db, created, now);
      const savedCount = created.length;
      const duplicateCount = results.length - savedCount;
      return {
        status: 201,
        body: {
          message: `${savedCount} saved, ${duplicateCount} duplicates skipped`,
          savedCount,
          duplicateCount,
          totalProcessed: results.length,
          listId,
          leadIds: results.map(({ id }) => id),
          warnings: numberWarnings(unlikely.flat()),
        },
      };
    },
  }),

  workspaceRoute({
    id: 'listLeads',
    method: 'GET',
    path: '/api/leads',
    tag: 'Contacts',
    summary: 'List leads, newest first',
    heavy: true,
    query: PageQuery.extend(LeadFilter),
    responses: { 200: z.object({ success: z.literal(true), leads: z.array(Lead), nextCursor: NextCursor }) },
    async handler({ db, query: { limit, cursor, ...filter } }) {
      const { items, nextCursor } = page(await listLeads(db, filter, { limit: limit + 1, cursor }), limit);
      return { status: 200, body: { success: true, leads: items.map(presentLead), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'getLead',
    method: 'GET',
    path: '/api/leads/{id}',
    tag: 'Contacts',
    summary: 'Get a lead',
    params: LeadParams,
    responses: { 200: OneLead },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const lead = await findLead(db, params.id);
      if (!lead) throw leadNotFound();
      return { status: 200, body: { success: true, lead: presentLead(lead) } };
    },
  }),

  workspaceRoute({
    id: 'getLeadTimeline',
    method: 'GET',
    path: '/api/leads/{id}/timeline',
    tag: 'Contacts',
    summary: 'List the history of a lead, newest first',
    description:
      "Messages in both directions, campaigns joined and left, consents, opt-outs, notes and calls, of all the lead's addresses. A message that has not been sent has the text that it would have now.",
    params: LeadParams,
    query: PositionQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        entries: z.array(ContactTimelineEntry),
        nextCursor: NextCursor,
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, query: { limit, cursor }, links, now }) {
      const lead = await findLead(db, params.id);
      if (!lead) throw leadNotFound();
      const rows = await listContactTimeline(db, lead, { limit: limit + 1, after: cursor ?? null });
      const { items, nextCursor } = pageBy(rows, limit, (row) => row);
      const entries = await presentContactTimeline(db, lead.id, items, links, now);
      return { status: 200, body: { success: true, entries, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'updateLead',
    method: 'PATCH',
    path: '/api/leads/{id}',
    tag: 'Contacts',
    summary: 'Update a lead',
    description:
      '`email` and `phone` replace the first address of their kind, `emails` and `phones` replace all of them. `customFields` is replaced as a whole.',
    params: LeadParams,
    body: LeadPatch,
    responses: { 200: OneLead },
    errors: ['NOT_FOUND', 'DUPLICATE_LEAD', 'LIMIT_REACHED'],
    async handler({ db, caller, params, body, now }) {
      const lead = await lockLead(db, params.id);
      if (!lead) throw leadNotFound();
      const { lead: changed, problems } = normalizeLead(patchLead(lead, body), {
        country: caller.workspace.country,
        callingCode: body.defaultCountryCode,
      });
      if (problems.length > 0)
        throw invalidFields(problems.map(({ field, message }) => ({ path: field, message })));
      if (body.contactOwnerEmail !== undefined) {
        changed.contactOwnerEmail = (await contactOwners(db, [changed.contactOwnerEmail]))(
          changed.contactOwnerEmail,
        );
      }
      await requireCustomFields(db, [changed.customFields]);
      const result = await updateLead(db, lead, changed);
      if (result === null) throw new ApiError('DUPLICATE_LEAD');
      await followAddresses(db, lead, result, now);
      if (result.timezone !== lead.timezone) await placeMessagesOfLead(db, lead.id, result.timezone, now);
      await emitLeadEvents(db, 'lead.updated', [result], now);
      return { status: 200, body: { success: true, lead: presentLead(result) } };
    },
  }),

  workspaceRoute({
    id: 'deleteLead',
    method: 'DELETE',
    path: '/api/leads/{id}',
    tag: 'Contacts',
    summary: 'Delete a lead and cancel its unsent messages, or erase the contact',
    description:
      'With `erase=true`, everything stored about the contact is erased: this lead, every lead that shares an address with it, and everything sent to and received from these addresses. Messages keep their counts, statuses and times. After the response, nothing more is sent to the contact; the rest is erased within a minute for an ordinary contact. An opt-out remains in force.',
    params: LeadParams,
    query: z.object({ erase: z.enum(['true', 'false']).optional() }),
    responses: { 200: Success, 202: Success },
    errors: ['NOT_FOUND'],
    audit: { action: 'contact.erased', target: 'lead', targets: 'handler' },
    async handler({ db, params, query, now, audit }) {
      if (query.erase === 'true') {
        if (!(await findLead(db, params.id))) throw leadNotFound();
        await eraseContact(db, params.id);
        await audit(db, [{ id: params.id, changes: {} }]);
        return { status: 202, body: { success: true } };
      }
      const lead = await lockLead(db, params.id);
      if (!lead) throw leadNotFound();
      await deleteLeads(db, [lead], now);
      return { status: 200, body: { success: true } };
    },
  }),
];

/** @throws VALIDATION_ERROR with the first problems. */
async function normalizeLeads(
  inputs: readonly LeadInput[],
  phoneDefaults: PhoneDefaults,
): Promise<NormalizedLead[]> {
  const issues: Issue[] = [];
  const leads = await mapInTurns(inputs, (input, index) => {
    const { lead, problems } = normalizeLead(input, phoneDefaults);
    for (const { field, message } of problems) issues.push({ path: `leads.${index}.${field}`, message });
    if (issues.length >= MAX_ISSUES) throw invalidFields(issues);
    return lead;
  });
  if (issues.length > 0) throw invalidFields(issues);
  return leads;
}
