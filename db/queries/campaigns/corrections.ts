import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { LineRow } from '#db/queries/lines/lines.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import { type CampaignStep, messageSteps, stepNumbers } from '#domain/campaigns/step.ts';
import {
  countWays,
  hasOtherText,
  planCorrections,
  type StepCorrection,
} from '#domain/campaigns/correction.ts';
import type { CapabilitiesOf } from '#domain/lines/capability.ts';
import { EDIT_WITHIN_MS } from '#domain/messages/message-action.ts';
import { StoredStatus } from '#domain/messages/message-status.ts';
import { VariantName } from '#domain/messages/variant-name.ts';
import type { CampaignRow } from './campaigns.ts';
import { stepsOfVersions } from './versions.ts';

/** Whose messages of a campaign have another text than its steps have now. */

const SentRow = z.object({
  id: z.string(),
  leadId: z.string(),
  address: z.string(),
  lineId: z.string().nullable(),
  status: StoredStatus,
  variant: VariantName.nullable(),
  sentAt: z.date().nullable(),
  isKnown: z.boolean(),
  edits: z.int(),
  state: z.enum(['running', 'finished', 'stopped']),
  isPaused: z.boolean(),
  /** The version whose text it has, or was last corrected to. */
  version: z.int(),
});
export type SentStep = z.infer<typeof SentRow> & { isOptedOut: boolean; isSuppressed: boolean };

/**
 * The messages of a step that were sent with another text than it has in some steps and were not corrected yet, by their ids.
 * @param part.only of these messages.
 * @returns those of the part, and the id of its last message; null: nothing comes after it.
 */
export async function formerTexts(
  db: TenantDb,
  { id: campaignId, ...numbered }: Pick<CampaignRow, 'id' | 'steps' | 'stepIds' | 'version'>,
  stepId: string,
  steps: readonly CampaignStep[],
  part: { after?: string | undefined; limit: number; only?: readonly string[] },
  now: Date,
): Promise<{ found: SentStep[]; last: string | null }> {
  const recently = sql.timestamp(new Date(now.getTime() - EDIT_WITHIN_MS));
  const rows = await db.any(sql.type(SentRow)`
    select m.id, m.lead_id, m.address, m.line_id, m.status, m.variant, m.sent_at, m.carrier_message_id is not null is_known,
      case when m.sent_at > ${recently} then (
        select count(*) from message_actions a
        where a.workspace_id = m.workspace_id and a.message_id = m.id and a.kind = 'edit' and a.status <> 'failed') else 0 end::int edits,
      l.state, l.paused_at is not null is_paused, coalesce(k.version, m.campaign_version, 1) "version"
    from messages m
    join campaign_leads l on l.workspace_id = m.workspace_id and l.campaign_id = m.campaign_id and l.lead_id = m.lead_id
    left join lateral (
      select max(c.version) "version" from campaign_corrections c
      left join message_actions a on a.workspace_id = c.workspace_id and a.id = c.action_id
      where c.workspace_id = m.workspace_id and c.message_id = m.id
        -- An edit that certainly failed corrected nothing.
        and (c.sent_message_id is not null or a.status <> 'failed' or a.reason = 'outcome_unknown')
    ) k on true
    where m.workspace_id = ${db.workspaceId} and m.campaign_id = ${campaignId} and m.step_index = ${stepNumbers(numbered).get(stepId) ?? -1}
      and m.status in ('sent', 'delivered', 'fallback') and m.unsent_at is null and not starts_with(m.address, 'erased:')
      and m.id > ${part.after ?? ''}
      ${part.only ? sql.fragment`and m.id = any(${sql.array([...part.only], 'text')})` : sql.fragment``}
    order by m.id limit ${part.limit}`);
  const trees = await stepsOfVersions(
    db,
    campaignId,
    rows.map(({ version }) => version),
  );
  const former = rows.filter(({ version, variant }) =>
    hasOtherText(trees.get(version) ?? numbered.steps, steps, { stepId, variant }),
  );
  const addresses = former.map(({ address }) => address);
  const optedOut = await optedOutAmong(db, addresses);
  const suppressed = await suppressedAmong(db, addresses);
  return {
    found: former.map((row) => ({
      ...row,
      isOptedOut: optedOut.has(row.address),
      isSuppressed: suppressed.has(row.address),
    })),
    last: rows.length === part.limit ? (rows.at(-1)?.id ?? null) : null,
  };
}

const PlaceRow = z.object({ stepId: z.string(), waiting: z.int(), received: z.int() });

/** How many leads of a campaign wait at each of its steps, or for its message, and have got it. */
export async function leadsOfSteps(
  db: TenantDb,
  campaign: CampaignRow,
): Promise<ReadonlyMap<string, z.infer<typeof PlaceRow>>> {
  const numbers = [...stepNumbers(campaign)].map(([stepId, number]) => [stepId, number] as const);
  const ofCampaign = sql.fragment`workspace_id = ${db.workspaceId} and campaign_id = ${campaign.id}`;
  const rows = await db.any(sql.type(PlaceRow)`
    select step_id, sum(waiting)::int waiting, sum(received)::int received from (
      select s.step_id, m.waiting, m.received
      from ${sql.unnest(numbers, ['text', 'int4'])} as s (step_id, step_index)
      join (
        select step_index, count(*) filter (where status in ('pending', 'scheduled', 'sending')) waiting,
          count(*) filter (where status in ('sent', 'delivered', 'fallback')) received
        from messages where ${ofCampaign} and step_index is not null group by step_index
      ) m on m.step_index = s.step_index
      union all
      select step_id, count(*), 0 from campaign_leads
      where ${ofCampaign} and state = 'running' and step_id is not null and not is_passed group by step_id
    ) placed group by step_id`);
  return new Map(rows.map((row) => [row.stepId, row]));
}

const EditorRow = LineRow.pick({ id: true, carrier: true, channel: true, carrierConfig: true }).extend({
  open: z.int(),
});

/** How many actions wait on each line of the workspace that can edit messages. */
export async function editingLines(
  db: TenantDb,
  capabilitiesOf: CapabilitiesOf,
): Promise<ReadonlyMap<string, number>> {
  const lines = await db.any(sql.type(EditorRow)`
    select l.id, l.carrier, l.channel, l.carrier_config, (
      select count(*)::int from message_actions a
      where a.workspace_id = l.workspace_id and a.line_id = l.id and a.status in ('pending', 'calling')) open
    from lines l where l.workspace_id = ${db.workspaceId}`);
  return new Map(
    lines.flatMap((line) => (capabilitiesOf(line).includes('edit') ? [[line.id, line.open] as const] : [])),
  );
}

/** Messages that are looked at in one statement. */
const PART = 5000;

/**
 * Who got another text of each message of some steps than it has there. Messages whose text all have are left out.
 * @param steps those of the campaign, or those that it is to have.
 */
export async function correctionsOf(
  db: TenantDb,
  campaign: CampaignRow,
  steps: readonly CampaignStep[],
  capabilitiesOf: CapabilitiesOf,
  now: Date,
): Promise<StepCorrection[]> {
  const lines = await editingLines(db, capabilitiesOf);
  const numbers = stepNumbers(campaign);
  const corrections: StepCorrection[] = [];
  for (const { id: stepId } of messageSteps(steps)) {
    const stepIndex = numbers.get(stepId);
    if (stepIndex === undefined) continue;
    const sent: SentStep[] = [];
    let after: string | null | undefined;
    while (after !== null) {
      const { found, last } = await formerTexts(db, campaign, stepId, steps, { after, limit: PART }, now);
      sent.push(...found);
      after = last;
    }
    if (sent.length > 0)
      corrections.push({ stepId, stepIndex, ...countWays(planCorrections(sent, lines, now)) });
  }
  return corrections;
}
