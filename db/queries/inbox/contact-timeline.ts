import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { findCallsById, presentCall } from './calls.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { FileLinks, LinkReader } from '#domain/messages/attachment.ts';
import { Judged } from '#domain/campaigns/judge.ts';
import { DecidingStep } from '#domain/campaigns/walk.ts';
import type { ContactTimelineEntry } from '#domain/contacts/contact-timeline.ts';
import { formsOf } from '#domain/base/contact-key.ts';
import { outgoingText } from '#domain/messages/outgoing-text.ts';
import { isPlain, TemplateBudget } from '#domain/messages/template.ts';
import { findConsents, presentConsent } from '../contacts/consents.ts';
import { texts } from '../contacts/contacts.ts';
import { findLeads, presentLead } from '../contacts/leads.ts';
import { findNotes, presentNotes } from './conversation-notes.ts';
import { findRuleRuns } from './rule-runs.ts';
import { findThreadItems, presentThread, RECEIVED_AT, SENT_AT, type ThreadRow } from './thread.ts';
import { findOptOutChanges, presentChange } from '../contacts/opt-out-history.ts';

const Kind = z.enum([
  'message',
  'campaign_joined',
  'campaign_decided',
  'campaign_left',
  'rule',
  'consent',
  'opt_out',
  'note',
  'call',
]);

const EntryRow = z.object({
  kind: Kind,
  /** The id of the message, campaign, consent, note or call. */
  id: z.string(),
  at: z.date(),
  /** Orders what happened in the same millisecond. */
  key: z.string(),
});
export type EntryRow = z.infer<typeof EntryRow>;

interface Lead {
  id: string;
  phones: readonly string[];
  emails: readonly string[];
}

/**
 * What happened with a lead, newest first, starting after the position `after`. Each kind is found by the contact's
 * addresses, so that the rest of the workspace is not read.
 */
export async function listContactTimeline(
  db: TenantDb,
  lead: Lead,
  { limit, after }: { limit: number; after: { at: Date; key: string } | null },
): Promise<readonly EntryRow[]> {
  const addresses = texts([...lead.phones.flatMap(formsOf), ...lead.emails]);
  const ms = (at: FragmentSqlToken) => sql.fragment`date_trunc('milliseconds', ${at})`;
  /** @param from the table and conditions besides the workspace. */
  const part = (
    kind: FragmentSqlToken,
    {
      id = sql.fragment`id`,
      at,
      from,
    }: { id?: FragmentSqlToken; at: FragmentSqlToken; from: FragmentSqlToken },
  ) => sql.fragment`(
    select * from (select ${kind} kind, ${id}::text id, ${at} "at", ${kind} || ${id}::text "key" ${from}) found
    ${after ? sql.fragment`where ("at", "key") < (${sql.timestamp(after.at)}, ${after.key})` : sql.fragment``}
    order by "at" desc, "key" desc limit ${limit})`;
  const own = sql.fragment`workspace_id = ${db.workspaceId}`;
  const ofContact = sql.fragment`(address = any(${addresses}) or lead_id = ${lead.id})`;
  const inCampaign = sql.fragment`from campaign_leads where ${own} and lead_id = ${lead.id}`;
  const parts = [
    part(sql.fragment`'message'`, {
      at: SENT_AT,
      from: sql.fragment`from messages where ${own} and ${ofContact} and status <> 'canceled'`,
    }),
    part(sql.fragment`'message'`, {
      at: RECEIVED_AT,
      from: sql.fragment`from inbound_messages where ${own} and ${ofContact}`,
    }),
    part(sql.fragment`'campaign_joined'`, {
      id: sql.fragment`campaign_id`,
      at: ms(sql.fragment`entered_at`),
      from: inCampaign,
    }),
    part(sql.fragment`'campaign_decided'`, {
      at: ms(sql.fragment`decided_at`),
      from: sql.fragment`from campaign_decisions where ${own} and lead_id = ${lead.id}`,
    }),
    part(sql.fragment`'campaign_left'`, {
      id: sql.fragment`campaign_id`,
      at: ms(sql.fragment`updated_at`),
      from: sql.fragment`${inCampaign} and state <> 'running'`,
    }),
    part(sql.fragment`'rule'`, {
      at: ms(sql.fragment`ran_at`),
      from: sql.fragment`from rule_runs where ${own} and address = any(${addresses}) and ran_at is not null`,
    }),
    part(sql.fragment`(case when origin is null then 'consent' else 'opt_out' end)`, {
      at: ms(sql.fragment`"at"`),
      from: sql.fragment`from consents where ${own} and address = any(${addresses})`,
    }),
    part(sql.fragment`'note'`, {
      at: ms(sql.fragment`created_at`),
      from: sql.fragment`from conversation_notes where ${own} and address = any(${addresses})`,
    }),
    part(sql.fragment`'call'`, {
      at: ms(sql.fragment`requested_at`),
      from: sql.fragment`from calls where ${own} and (to_number = any(${addresses}) or from_number = any(${addresses}))`,
    }),
  ];
  return db.any(sql.type(EntryRow)`
    ${sql.join(parts, sql.fragment` union all `)} order by "at" desc, "key" desc limit ${limit}`);
}

const DecisionRow = z.object({
  id: z.string(),
  campaignId: z.string(),
  campaignName: z.string(),
  stepId: z.string(),
  step: DecidingStep,
  outcome: z.string(),
  why: z.string(),
  judged: z.array(Judged),
});

const findDecisions = (db: TenantDb, ids: readonly string[]) =>
  db.any(sql.type(DecisionRow)`
    select d.id, d.campaign_id, c.name campaign_name, d.step_id, d.kind step, d.outcome, d.why, d.judged
    from campaign_decisions d join campaigns c on c.workspace_id = d.workspace_id and c.id = d.campaign_id
    where d.workspace_id = ${db.workspaceId} and d.id = any(${texts([...ids])})`);

const NameRow = z.object({ id: z.string(), name: z.string() });
const LeftRow = z.object({ campaignId: z.string(), stopReason: z.string().nullable() });

/** In the order of the rows, without items that were deleted in the meantime. */
export async function presentContactTimeline(
  db: TenantDb,
  leadId: string,
  rows: readonly EntryRow[],
  links: FileLinks & LinkReader,
  now: Date,
): Promise<ContactTimelineEntry[]> {
  const idsOf = (...kinds: EntryRow['kind'][]): string[] =>
    rows.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id);
  const items = await findThreadItems(db, idsOf('message'));
  const shown = await presentThread(db, items, links, now);
  const rendered = await textsToSend(db, items);
  const messages = new Map(
    shown.map((message, index) => [
      message.messageId,
      {
        message: { ...message, message: rendered.get(message.messageId) ?? message.message },
        address: items[index]?.address ?? '',
      },
    ]),
  );
  const consents = byId(await findConsents(db, idsOf('consent')));
  const optOuts = byId(await findOptOutChanges(db, idsOf('opt_out')));
  const noteRows = await findNotes(db, idsOf('note'));
  const notes = new Map((await presentNotes(db, noteRows)).map((note) => [note._id, note]));
  const calls = byId(await findCallsById(db, idsOf('call')));
  const campaignIds = texts(idsOf('campaign_joined', 'campaign_left'));
  const campaigns = byId(
    await db.any(sql.type(NameRow)`
      select id, name from campaigns where workspace_id = ${db.workspaceId} and id = any(${campaignIds})`),
  );
  const decisions = new Map(
    (await findDecisions(db, idsOf('campaign_decided'))).map((decision) => [decision.id, decision]),
  );
  const rules = byId(await findRuleRuns(db, idsOf('rule')));
  const left = new Map(
    (
      await db.any(sql.type(LeftRow)`
        select campaign_id, stop_reason from campaign_leads
        where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and campaign_id = any(${campaignIds})`)
    ).map(({ campaignId, stopReason }) => [campaignId, stopReason]),
  );

  function present({ kind, id, at: date }: EntryRow): ContactTimelineEntry | null {
    const at = date.toISOString();
    switch (kind) {
      case 'message': {
        const found = messages.get(id);
        return found ? { type: kind, at, ...found } : null;
      }
      case 'campaign_joined':
      case 'campaign_left': {
        const row = campaigns.get(id);
        if (!row) return null;
        const campaign = { _id: row.id, name: row.name };
        return kind === 'campaign_joined'
          ? { type: kind, at, campaign }
          : { type: kind, at, campaign, reason: left.get(id) ?? null };
      }
      case 'campaign_decided': {
        const row = decisions.get(id);
        if (!row) return null;
        const { campaignId, campaignName, stepId, step, outcome, why, judged } = row;
        return {
          type: kind,
          at,
          campaign: { _id: campaignId, name: campaignName },
          stepId,
          step,
          outcome,
          why,
          judged,
        };
      }
      case 'rule': {
        const row = rules.get(id);
        if (!row) return null;
        const { ruleId, ruleName, trigger, did, withheld, messageId, why, judged } = row;
        const rule = { _id: ruleId, name: ruleName };
        return { type: kind, at, rule, on: trigger, did, withheld, messageId, why: why ?? '', judged };
      }
      case 'consent': {
        const row = consents.get(id);
        return row ? { type: kind, at, consent: presentConsent(row) } : null;
      }
      case 'opt_out': {
        const row = optOuts.get(id);
        return row ? { type: kind, at, optOut: presentChange(row) } : null;
      }
      case 'note': {
        const note = notes.get(id);
        return note ? { type: kind, at, note } : null;
      }
      case 'call': {
        const row = calls.get(id);
        return row ? { type: kind, at, call: presentCall(db.workspaceId, row, links, now) } : null;
      }
    }
  }
  return rows.map(present).filter((entry) => entry !== null);
}

/** The templates among messages that have not been sent, as they would be now; one that fails stays a template. */
async function textsToSend(db: TenantDb, items: readonly ThreadRow[]): Promise<ReadonlyMap<string, string>> {
  const templates = items.filter(
    ({ direction, sentText, unsentAt, body }) =>
      direction === 'out' && sentText === null && unsentAt === null && !isPlain(body),
  );
  const leads = await findLeads(
    db,
    templates.flatMap(({ leadId }) => leadId ?? []),
  );
  const budget = new TemplateBudget();
  return new Map(
    templates.flatMap(({ id, body, leadId }) => {
      const lead = leads.get(leadId ?? '');
      const text = outgoingText(body, lead ? presentLead(lead) : null, 1, budget);
      return 'text' in text ? [[id, text.text] as const] : [];
    }),
  );
}

const byId = <Row extends { id: string }>(rows: readonly Row[]): Map<string, Row> =>
  new Map(rows.map((row) => [row.id, row]));
