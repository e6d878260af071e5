import { emitLeadEvents } from '#db/commands/contacts/lead-events.ts';
import { z } from 'zod';
import { addLead } from '#db/commands/campaigns/added-lead.ts';
import { stepTimes } from '#db/commands/campaigns/step-messages.ts';
import { requireLines } from '#db/commands/campaigns/campaign-status.ts';
import { type CampaignRow, lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { requireCustomFields } from '#db/queries/accounts/limits.ts';
import { addLeadsToList, findLead, insertLeads, type LeadRow, lockLead } from '#db/queries/contacts/leads.ts';
import { lockList, lockListOrQuickSends } from '#db/queries/contacts/lists.ts';
import { type TenantDb } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { Id } from '#domain/base/ids.ts';
import { firstSendTime } from '#domain/sending/quiet-hours.ts';
import { DefaultCountryCode, LeadInput, normalizeLead } from '#domain/contacts/lead.ts';
import { messageSteps } from '#domain/campaigns/step.ts';
import { ApiError, invalid, invalidFields } from '#api/http/errors.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';
import { leadNotFound } from '../contacts/leads.ts';
import { previewCampaign } from './campaign-preview.ts';

const CampaignLeadInput = z
  .object({
    leadId: Id.optional().meta({ description: 'An existing lead. Either `leadId` or `lead` is required.' }),
    lead: LeadInput.optional().meta({
      description: 'A new lead. If the list has a lead with the same email or phone, that lead is used.',
    }),
    defaultCountryCode: DefaultCountryCode.optional(),
  })
  .refine(({ leadId, lead }) => (leadId === undefined) !== (lead === undefined), {
    path: ['leadId'],
    message: 'either leadId or lead is required',
  })
  .meta({ id: 'CampaignLeadInput' });

const CampaignLeadResult = z.object({
  success: z.literal(true),
  leadId: Id,
  campaignId: Id,
  messageCount: z.int(),
  message: z.string(),
});

export const campaignLeadRoutes = [
  workspaceRoute({
    id: 'addCampaignLead',
    method: 'POST',
    path: '/api/campaigns/{id}/leads',
    tag: 'Campaigns',
    needsSubscription: true,
    summary: "Add a lead to a campaign and to the campaign's list, and schedule the messages of all steps",
    description:
      'If the lead, or another with its address, has already entered, or it has not consented (`requireConsent`), `messageCount` is 0. Until the campaign is started, and while it is paused, its messages wait.',
    limit: perMinute(200),
    idempotent: true,
    params: CampaignParams,
    body: CampaignLeadInput,
    responses: { 200: CampaignLeadResult, 201: CampaignLeadResult },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'NO_ACTIVE_LINE', 'LIMIT_REACHED'],
    async handler({ db, caller, params, body, now, waitingMessages }) {
      waitingMessages.admit(caller.workspace.id);
      const stored = await lockCampaign(db, params.id);
      if (!stored) throw campaignNotFound();
      if (stored.status === 'archived') throw new ApiError('INVALID_STATE', 'The campaign is archived');
      if (stored.status === 'active' || stored.status === 'completed') await requireLines(db, stored);
      const lead = await leadOf(db, stored, body, caller.workspace.country, now);
      const { admitted, unreachable, noConsent, messageCount } = await addLead(db, stored, lead, now);
      const result = { success: true, leadId: lead.id, campaignId: stored.id, messageCount } as const;
      if (admitted === 0)
        return { status: 200, body: { ...result, message: 'The contact is already in this campaign' } };
      if (noConsent > 0)
        return { status: 201, body: { ...result, message: 'The lead is skipped: it has not consented' } };
      if (unreachable > 0)
        throw invalid('leadId', 'the lead has no contact details for any step of the campaign');
      await requireSendTime(db, stored, lead, now);
      return { status: 201, body: { ...result, message: `${messageCount} messages scheduled` } };
    },
  }),

  previewCampaign,
];

/** Finds or creates the lead and adds it to the campaign's list, or to Quick Sends if that list was deleted. */
async function leadOf(
  db: TenantDb,
  { listId }: CampaignRow,
  { leadId, lead: input, defaultCountryCode }: z.output<typeof CampaignLeadInput>,
  country: string,
  now: Date,
): Promise<LeadRow> {
  if (leadId !== undefined) {
    // Also keeps a deletion, which cancels the lead's messages, from missing those that are inserted here.
    const known = await lockLead(db, leadId);
    if (!known) throw leadNotFound();
    if (listId !== null && (await lockList(db, listId))) await addLeadsToList(db, [known], listId);
    return known;
  }
  const { lead, problems } = normalizeLead(input ?? {}, { country, callingCode: defaultCountryCode });
  if (problems.length > 0)
    throw invalidFields(problems.map(({ field, message }) => ({ path: `lead.${field}`, message })));
  await requireCustomFields(db, [lead.customFields]);
  const target = await lockListOrQuickSends(db, listId);
  const ownerOf = await contactOwners(db, [lead.contactOwnerEmail]);
  const [saved] = await insertLeads(
    db,
    target,
    [{ ...lead, contactOwnerEmail: ownerOf(lead.contactOwnerEmail) }],
    { source: 'campaign', now },
  );
  const row = saved && (await findLead(db, saved.id));
  if (!row) throw new Error('the lead was not saved');
  if (saved.isNew) await emitLeadEvents(db, 'lead.created', [row], now);
  return row;
}

/** @throws VALIDATION_ERROR if the send window of the campaign never opens while the lead is awake. */
async function requireSendTime(db: TenantDb, campaign: CampaignRow, lead: LeadRow, now: Date): Promise<void> {
  const timesOf = await stepTimes(db, campaign);
  for (const {
    step: { messageType },
  } of messageSteps(campaign.steps)) {
    const address = addressOn(messageType, lead);
    if (address === null) continue;
    const times = timesOf({ lead, address });
    if (firstSendTime(times, now) !== null) continue;
    const { start = '', end = '', zones = [] } = times.quiet ?? {};
    throw invalid(
      'leadId',
      `the send window of the campaign never opens while the lead is awake: the quiet hours allow messages from ${start} to ${end} ${zones.join(', ')}`,
    );
  }
}
