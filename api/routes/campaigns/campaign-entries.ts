import { z } from 'zod';
import { stopLead } from '#db/commands/campaigns/campaign-stops.ts';
import { pauseLead, resumeLead } from '#db/commands/campaigns/lead-pauses.ts';
import { findCampaignLead, listCampaignLeads } from '#db/queries/campaigns/campaign-leads.ts';
import { type CampaignRow, findCampaign, lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { lockSequence } from '#db/queries/sending/message-locks.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { Instant } from '#domain/base/moment.ts';
import { CampaignLead, CampaignLeadFilter } from '#domain/campaigns/campaign-lead.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, PageQuery } from '#api/http/page.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';

const PlaceParams = z.object({ id: Id, campaignId: Id });
const OnePlace = z.object({ success: z.literal(true), place: CampaignLead });

/** Where leads are in a campaign. */
export const campaignEntryRoutes = [
  workspaceRoute({
    id: 'listCampaignLeads',
    method: 'GET',
    path: '/api/campaigns/{id}/leads',
    tag: 'Campaigns',
    heavy: true,
    summary: 'List the leads that have entered a campaign, newest first, and where each is',
    description:
      'With `stepIndex` and `counted`, those whom a number of the funnel counts; leads that were deleted are not among them.',
    params: CampaignParams,
    query: PageQuery.extend(CampaignLeadFilter.shape),
    responses: {
      200: z.object({ success: z.literal(true), leads: z.array(CampaignLead), nextCursor: NextCursor }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, query: { limit, cursor, ...filter }, now }) {
      const campaign = await findCampaign(db, params.id);
      if (!campaign) throw campaignNotFound();
      const found = await listCampaignLeads(db, campaign, filter, { limit: limit + 1, cursor }, now);
      const leads = found.slice(0, limit);
      const nextCursor = found.length > limit ? (leads.at(-1)?.leadId ?? null) : null;
      return { status: 200, body: { success: true, leads, nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'stopCampaignLead',
    method: 'POST',
    path: '/api/campaigns/{id}/leads/{leadId}/stop',
    tag: 'Campaigns',
    summary: 'Stop a campaign for one lead, and cancel its unsent messages there',
    description: 'For a lead that has finished or was stopped, nothing changes. It cannot enter again.',
    limit: perMinute(200),
    params: CampaignParams.extend({ leadId: Id }),
    responses: { 200: OnePlace },
    errors: ['NOT_FOUND'],
    async handler({ db, params: { id, leadId }, now }) {
      const campaign = await findCampaign(db, id);
      if (!campaign) throw campaignNotFound();
      if (!(await lockSequence(db, id, leadId))) throw placeNotFound();
      await stopLead(db, id, leadId, now);
      return { status: 200, body: { success: true, place: await placeOf(db, campaign, leadId, now) } };
    },
  }),
];

/** Where a lead is in its campaigns. */
export const leadCampaignRoutes = [
  workspaceRoute({
    id: 'getCampaignLead',
    method: 'GET',
    path: '/api/leads/{id}/campaigns/{campaignId}',
    tag: 'Campaigns',
    summary: 'Get where a lead is in a campaign',
    params: PlaceParams,
    responses: { 200: OnePlace },
    errors: ['NOT_FOUND'],
    async handler({ db, params: { id, campaignId }, now }) {
      const campaign = await findCampaign(db, campaignId);
      if (!campaign) throw placeNotFound();
      return { status: 200, body: { success: true, place: await placeOf(db, campaign, id, now) } };
    },
  }),

  workspaceRoute({
    id: 'updateCampaignLead',
    method: 'PATCH',
    path: '/api/leads/{id}/campaigns/{campaignId}',
    tag: 'Campaigns',
    summary: 'Pause a lead in a campaign, change when it goes on, or let it go on',
    description:
      'A lead that a reply or an absence has paused goes on at `resumesAt`. A time that is not in the future lets it go on now.',
    params: PlaceParams,
    body: z
      .object({
        resumesAt: Instant.nullable().meta({ description: 'null: not before somebody says so.' }),
      })
      .meta({ id: 'CampaignLeadPatch' }),
    responses: { 200: OnePlace },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
    audit: { action: 'campaign.updated', target: 'campaign', changes: ['resumesAt'] },
    async handler({ db, params: { id, campaignId }, body, now }) {
      const campaign = await lockCampaign(db, campaignId);
      if (!campaign || !(await lockSequence(db, campaignId, id))) throw placeNotFound();
      const { state } = await placeOf(db, campaign, id, now);
      if (state !== 'running') throw new ApiError('INVALID_STATE', `The lead has ${state}`);
      const until = body.resumesAt === null ? null : new Date(body.resumesAt);
      if (until !== null && until <= now) await resumeLead(db, campaign, id, now);
      else await pauseLead(db, campaignId, id, until, now);
      return { status: 200, body: { success: true, place: await placeOf(db, campaign, id, now) } };
    },
  }),
];

const placeNotFound = (): ApiError => new ApiError('NOT_FOUND', 'The lead is not in the campaign');

/** @throws NOT_FOUND */
async function placeOf(
  db: TenantDb,
  campaign: CampaignRow,
  leadId: string,
  now: Date,
): Promise<CampaignLead> {
  const place = await findCampaignLead(db, campaign, leadId, now);
  if (!place) throw placeNotFound();
  return place;
}
