import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { type PersonHold, personHold, type PersonRules } from '#domain/sending/person-holds.ts';
import { FrequencyCap } from '#domain/sending/person-holds.ts';
import { DISPATCHED_AT, IS_DISPATCHED } from '../messages/messages.ts';

/** A message that a rule about its person may hold. */
interface Asked {
  id: string;
  isAnswer: boolean;
  leadId?: string | null;
  /** Of a campaign. */
  isStep?: boolean;
}

const FactsRow = z.object({
  id: z.string(),
  cappedSince: z.date().nullable(),
  memberAnsweredAt: z.date().nullable(),
});

/**
 * Which of the messages are held because of their persons. A person is the lead with all its addresses, or the address alone. Looks up
 * conversations by their addresses, and with a cap, the messages to them; without messages of campaigns, nothing.
 */
export async function personHolds(
  db: TenantDb,
  rules: PersonRules,
  messages: readonly Asked[],
  now: Date,
): Promise<ReadonlyMap<string, PersonHold>> {
  const { frequencyCap, contactBusy } = rules;
  const steps = new Map(messages.filter(({ isStep }) => isStep).map((message) => [message.id, message]));
  if (steps.size === 0 || (frequencyCap === null && !contactBusy)) return new Map();
  const sent = sql.fragment`s.campaign_id is not null and s.bubble_of is null and s.dispatched`;
  const candidates = sql.fragment`(select id, address, lead_id, campaign_id, bubble_of, ${DISPATCHED_AT} "at", ${IS_DISPATCHED} dispatched
    from messages where workspace_id = ${db.workspaceId}) s`;
  const cappedSince =
    frequencyCap === null
      ? sql.fragment`null::timestamptz`
      : sql.fragment`(
          select at from (
            select s.id, s.at from ${candidates} where s.address = any(p.addresses) and ${sent}
            union
            select s.id, s.at from ${candidates} where s.lead_id = p.lead_id and ${sent}
          ) sent order by at desc offset ${frequencyCap.messages - 1} limit 1)`;
  const memberAnsweredAt = contactBusy
    ? sql.fragment`(
        select max(c.member_answered_at) from conversations c
        where c.workspace_id = ${db.workspaceId} and c.address = any(p.addresses) and c.status <> 'closed')`
    : sql.fragment`null::timestamptz`;
  const rows = await db.any(sql.type(FactsRow)`
    with persons as materialized (
      select m.id, m.lead_id, coalesce(contact_keys(l.emails || l.phones), '{}') || m.address addresses
      from messages m left join leads l on l.workspace_id = m.workspace_id and l.id = m.lead_id
      where m.workspace_id = ${db.workspaceId} and m.id = any(${sql.array([...steps.keys()], 'text')})
    )
    select p.id, ${cappedSince} capped_since, ${memberAnsweredAt} member_answered_at from persons p`);
  return new Map(
    rows.flatMap(({ id, ...facts }): [string, PersonHold][] => {
      const hold = personHold(rules, facts, steps.get(id)?.isAnswer ?? false, now);
      return hold ? [[id, hold]] : [];
    }),
  );
}

/**
 * Locks leads without waiting, so that no two lines count the same messages of a person for a cap at once.
 * @returns those that others have locked.
 */
export async function lockPersons(db: TenantDb, leadIds: readonly string[]): Promise<ReadonlySet<string>> {
  const these = sql.fragment`workspace_id = ${db.workspaceId} and id = any(${sql.array([...new Set(leadIds)], 'text')})`;
  const busy = await db.anyFirst(sql.type(IdRow)`
    with locked as materialized (select id from leads where ${these} for no key update skip locked)
    select id from leads where ${these} and id not in (select id from locked)`);
  return new Set(busy);
}

const RulesRow = z.object({ frequencyCap: FrequencyCap.nullable(), contactBusy: z.boolean() });

export async function personRules(db: TenantDb): Promise<PersonRules> {
  return db.one(sql.type(RulesRow)`
    select frequency_cap, contact_busy from workspaces where id = ${db.workspaceId}`);
}

export async function setFrequencyCap(db: TenantDb, cap: FrequencyCap | null): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set frequency_cap = ${cap === null ? sql.fragment`null` : sql.jsonb(cap)} where id = ${db.workspaceId}`);
}

export async function setContactBusy(db: TenantDb, contactBusy: boolean): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set contact_busy = ${contactBusy} where id = ${db.workspaceId}`);
}
