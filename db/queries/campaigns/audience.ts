import { type FragmentSqlToken, sql } from 'slonik';
import type { TenantDb } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { addressOn } from '#domain/campaigns/campaign-schedule.ts';
import { messageSteps } from '#domain/campaigns/step.ts';
import type { LeadRow } from '../contacts/leads.ts';
import { findList } from '../contacts/lists.ts';
import { findSegment, idsInSegment } from '../contacts/segments.ts';
import type { CampaignRow } from './campaigns.ts';

/** The leads of a list, as a query for `lead_id`. */
export const leadsOfList = (db: TenantDb, listId: string): FragmentSqlToken => sql.fragment`
  select distinct lead_id from list_addresses where workspace_id = ${db.workspaceId} and list_id = ${listId}`;

/** The leads of a draft enter when it starts. */
const hasEnteredAll = ({ status, enteredAll }: CampaignRow): boolean => status !== 'draft' && enteredAll;

/** Whether all leads of the segment were judged when the campaign started, and are its candidates. */
export const hasTakenSegment = ({
  segmentId,
  audience,
  scannedAt,
}: Pick<CampaignRow, 'segmentId' | 'audience' | 'scannedAt'>): boolean =>
  segmentId !== null && audience === 'snapshot' && scannedAt !== null;

/** Those of a segment that enter. A campaign that an older release started takes a snapshot bit by bit, of who was there at the start. */
export const enters = (
  db: TenantDb,
  { id, audience, startedAt }: Pick<CampaignRow, 'id' | 'audience' | 'startedAt'>,
): FragmentSqlToken => sql.fragment`
  not exists (
    select from campaign_leads e where e.workspace_id = ${db.workspaceId} and e.campaign_id = ${id} and e.lead_id = leads.id)
  ${
    audience === 'snapshot' && startedAt !== null
      ? sql.fragment`and created_at <= ${sql.timestamp(startedAt)}`
      : sql.fragment``
  }`;

/**
 * The leads of a campaign's list or segment that have yet to enter, as a query for `lead_id`; null: it has neither, or all have. Judges a
 * segment once, so that the query can be used several times.
 */
export async function leadsYetToEnter(db: TenantDb, campaign: CampaignRow): Promise<FragmentSqlToken | null> {
  if (hasEnteredAll(campaign)) return null;
  const { listId, segmentId, enteredTo, steps } = campaign;
  if (hasTakenSegment(campaign))
    return sql.fragment`
      select lead_id from campaign_candidates where workspace_id = ${db.workspaceId} and campaign_id = ${campaign.id}`;
  if (segmentId !== null) {
    const segment = await findSegment(db, segmentId);
    if (!segment) return null;
    const range = { after: enteredTo, only: enters(db, campaign) };
    // Whoever is in several lists is one person, who enters once.
    const [first] = messageSteps(steps);
    const personOf = (lead: LeadRow): string => (first && addressOn(first.step.messageType, lead)) ?? lead.id;
    const ids = await idsInSegment(db, segment.conditions, range, currentTime(), personOf);
    return sql.fragment`select unnest(${sql.array(ids, 'text')}) lead_id`;
  }
  // The leads that a deleted list still has do not enter.
  const list = listId === null ? null : await findList(db, listId);
  return list && sql.fragment`${leadsOfList(db, list.id)} and lead_id > ${enteredTo}`;
}
