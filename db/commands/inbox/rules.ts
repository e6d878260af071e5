import { sql } from 'slonik';
import { z } from 'zod';
import { assignAll, carryOut } from '#db/commands/campaigns/step-actions.ts';
import { emitLeadsCreated } from '#db/commands/contacts/lead-events.ts';
import { notify } from '#db/commands/events/notifications.ts';
import { acceptMessages } from '#db/commands/messages/accept-messages.ts';
import { answerInput } from '#db/commands/messages/answer-input.ts';
import { isOptedOutOrSuppressed } from '#db/commands/messages/message-actions.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { findOpeningHours, workspaceCountry, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { factsOf } from '#db/queries/campaigns/facts.ts';
import { isRevoked } from '#db/queries/contacts/consents.ts';
import {
  addressesOf,
  findLead,
  findLeadsByAddress,
  insertLeads,
  type LeadRow,
  lockLead,
} from '#db/queries/contacts/leads.ts';
import { lockList, quickSendsList } from '#db/queries/contacts/lists.ts';
import { isSuspected } from '#db/queries/contacts/opt-out-suspicions.ts';
import { findCallsById } from '#db/queries/inbox/calls.ts';
import { findReply, type InboundRow } from '#db/queries/inbox/replies.ts';
import {
  deleteRuleRun,
  findRuleRun,
  finishRuleRun,
  lastRuleTextAt,
  lockRuleRun,
  postponeRuleRun,
  type RuleRunRow,
} from '#db/queries/inbox/rule-runs.ts';
import { findRule, type RuleRow } from '#db/queries/inbox/rules.ts';
import { findSnippets } from '#db/queries/inbox/snippets.ts';
import { findLine, type LineRow, lockLinesShared } from '#db/queries/lines/lines.ts';
import { loadIntakeContext } from '#db/queries/messages/intake.ts';
import { lockConversation, lockFirstConversation } from '#db/queries/sending/message-locks.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { type Facts, judgeAll, type Judgement, needsOf } from '#domain/campaigns/judge.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { BLANK_LEAD } from '#domain/contacts/lead.ts';
import { aboutReply, strangerAt } from '#db/queries/inbox/rule-facts.ts';
import { ConversationStatus } from '#domain/inbox/conversation.ts';
import { noAnswerAt, type Plan, planOf, type Texted, type Waiting } from '#domain/inbox/rule-plan.ts';
import { type AcceptedMessage, acceptedMessageOf, RULE_SOURCE } from '#domain/messages/accepted-message.ts';
import { changeConversations } from './conversation-changes.ts';

/** The contact whom a rule is about, with what happened. */
interface Party {
  address: string;
  /** Their number as they wrote or called from it; null: an email address, or as `address`. */
  written: string | null;
  lead: LeadRow | null;
  line: LineRow | null;
  reply: InboundRow | null;
}

/**
 * Does what a rule says about one happening, in one transaction: once, whatever crashes or is repeated. What it does is recorded, and
 * triggers no rule (`triggerRules`).
 */
export async function runRule(db: TenantDb, id: string, now: Date): Promise<void> {
  const run = await findRuleRun(db, id);
  if (!run || run.dueAt === null) return;
  const rule = await findRule(db, run.ruleId);
  if (!rule || rule.trigger !== run.trigger || isErased(run.address)) return deleteRuleRun(db, id);
  const { party, lists } = await lockParty(db, rule, run);
  if (!(await lockRuleRun(db, id))) return;
  if (rule.trigger === 'no_answer_for') {
    const at = noAnswerAt(await waitingFor(db, rule, run.address), rule.afterMs ?? 0);
    if (at === null) return deleteRuleRun(db, id);
    if (at > now) return postponeRuleRun(db, id, at);
  }
  const judged = await judge(db, rule, run, party, now);
  if (!judged?.holds) return deleteRuleRun(db, id);
  const { plan, message } = await planFor(db, rule, party, now);
  await carryOutPlan(db, rule, { party, plan, lists }, now);
  if (message) await acceptMessages(db, [message], now);
  if (plan.notifies) await notify(db, `rule:${id}`, { about: 'rule_ran', runId: id }, now);
  const messageId = message?.id ?? null;
  const { why } = judged;
  await finishRuleRun(db, id, { ...plan, ruleName: rule.name, why, judged: judged.judged, messageId }, now);
}

/** Locks what a rule may change: the lead, lists, lines, then the conversations with the contact. @returns the lists that exist. */
async function lockParty(
  db: TenantDb,
  rule: RuleRow,
  run: RuleRunRow,
): Promise<{ party: Party; lists: ReadonlySet<string> }> {
  const { address } = run;
  const reply = run.replyId === null ? null : await findReply(db, run.replyId);
  const [call] = run.callId === null ? [] : await findCallsById(db, [run.callId]);
  const lineId = run.lineId ?? reply?.lineId ?? null;
  const leadId = (await findLeadsByAddress(db, [address])).get(address);
  const lead = leadId === undefined ? null : await lockLead(db, leadId);
  const targets = rule.actions.flatMap(({ moveToListId }) => moveToListId ?? []);
  const wanted = lead ? targets : [...targets, await quickSendsList(db)];
  const lists = new Set<string>();
  for (const id of [...new Set(wanted)].toSorted()) if (await lockList(db, id)) lists.add(id);
  const addresses = addressesWith(address, lead);
  await lockLinesShared(db, [...(await linesOf(db, addresses)), ...[lineId].filter((id) => id !== null)]);
  for (const one of addresses.toSorted())
    await (one === address ? lockFirstConversation(db, one) : lockConversation(db, one));
  const line = lineId === null ? null : await findLine(db, lineId);
  return {
    party: { address, written: reply?.senderPhone ?? call?.fromNumber ?? null, lead, line, reply },
    lists,
  };
}

/** The addresses of a contact. */
const addressesWith = (address: string, lead: LeadRow | null): string[] => [
  ...new Set([address, ...(lead ? addressesOf(lead) : [])]),
];

const LineIdRow = z.object({ lineId: z.string() });

/** The lines assigned to contacts. */
const linesOf = (db: TenantDb, addresses: readonly string[]): Promise<readonly string[]> =>
  db.anyFirst(sql.type(LineIdRow)`
    select line_id from conversations
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) and line_id is not null`);

const WaitingRow = z.object({
  status: ConversationStatus,
  snoozedUntil: z.date().nullable(),
  since: z.date().nullable(),
  lastRunAt: z.date().nullable(),
});

/** How a contact waits for an answer. */
const waitingFor = (db: TenantDb, { id }: RuleRow, address: string): Promise<Waiting> =>
  db.one(sql.type(WaitingRow)`
    select c.status, c.snoozed_until, (
      select min(i.received_at) from inbound_messages i
      where i.workspace_id = ${db.workspaceId} and i.address = c.address and not i.auto_reply and i.warning is null
        and i.keyword is distinct from 'stop' and i.received_at > coalesce(c.answered_at, '-infinity')
        and i.received_at > coalesce(c.closed_at, '-infinity')) since, (
      select max(r.ran_at) from rule_runs r
      where r.workspace_id = ${db.workspaceId} and r.address = c.address and r.rule_id = ${id} and r.ran_at is not null) last_run_at
    from conversations c where c.workspace_id = ${db.workspaceId} and c.address = ${address}`);

/** Whether it is still so, and the conditions of the rule hold; null: it is not so any more. */
async function judge(
  db: TenantDb,
  { conditions }: RuleRow,
  run: RuleRunRow,
  party: Party,
  now: Date,
): Promise<Judgement | null> {
  if (run.callId !== null) {
    const [call] = await findCallsById(db, [run.callId]);
    // A carrier may tell of the answer after the end.
    if (!call || call.answeredAt !== null) return null;
  }
  if (run.replyId !== null && !party.reply) return null;
  const facts = await factsAbout(db, conditions, party, now);
  return judgeAll(conditions, facts, now);
}

async function factsAbout(
  db: TenantDb,
  conditions: RuleRow['conditions'],
  { address, written, lead, reply }: Party,
  now: Date,
): Promise<Facts> {
  const judged = lead ?? strangerAt(db, address, written, now);
  const facts = (await factsOf(db, [judged], needsOf(conditions), null)).get(judged.id);
  if (!facts) throw new Error('a contact without facts');
  return reply ? aboutReply(facts, { at: reply.receivedAt, text: reply.body }) : facts;
}

/** What a rule does about a contact, with the message that it sends. */
async function planFor(
  db: TenantDb,
  { actions }: RuleRow,
  party: Party,
  now: Date,
): Promise<{ plan: Plan; message: AcceptedMessage | null }> {
  const named = actions.flatMap(({ reply }) => reply?.snippetId ?? []);
  const contact: Texted = {
    barredBy: await barredBy(db, party),
    lastTextAt: await lastRuleTextAt(db, addressesWith(party.address, party.lead)),
    hours: await findOpeningHours(db),
    timezone: await workspaceTimezone(db),
    snippets: new Map((await findSnippets(db, named)).map(({ id, text }) => [id, text])),
  };
  const plan = planOf(actions, contact, now);
  if (plan.text === null) return { plan, message: null };
  const message = await messageTo(db, party, plan.text, now);
  return message
    ? { plan, message }
    : { plan: planOf(actions, { ...contact, barredBy: 'cannot_send' }, now), message: null };
}

/** Why no automatic text may be sent to a contact; null: one may. */
async function barredBy(db: TenantDb, { address, line }: Party): Promise<Texted['barredBy']> {
  if (await isOptedOutOrSuppressed(db, address)) return 'opted_out';
  if (await isSuspected(db, address)) return 'opt_out_suspected';
  const channel = line?.channel ?? (address.includes('@') ? 'email' : 'sms');
  if (await isRevoked(db, address, channel)) return 'no_consent';
  return (await unlessRefused(() => requireSending(db))) === null ? 'cannot_send' : null;
}

/** @returns null if there is no line for it. */
async function messageTo(
  db: TenantDb,
  party: Party,
  text: string,
  now: Date,
): Promise<AcceptedMessage | null> {
  const workspace = { timezone: await workspaceTimezone(db), country: await workspaceCountry(db) };
  const input = await answerInput(db, party, text);
  const context = await loadIntakeContext(db, [input], workspace);
  return unlessRefused(async () =>
    acceptedMessageOf(input, context, { now, source: RULE_SOURCE, schedule: now, userId: null }),
  );
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

async function carryOutPlan(
  db: TenantDb,
  { name }: RuleRow,
  { party, plan, lists }: { party: Party; plan: Plan; lists: ReadonlySet<string> },
  now: Date,
): Promise<void> {
  const { address } = party;
  const isForLead = plan.lead.some((actions) =>
    Object.entries(actions).some(([name, value]) => name !== 'assign' && value !== undefined),
  );
  const lead = party.lead ?? (isForLead ? await leadFor(db, party, now) : null);
  if (lead) await carryOut(db, { name, listId: null }, lead, plan.lead, { now, lists });
  else
    for (const { assign } of plan.lead)
      if (assign !== undefined) await assignAll(db, [address], assign, { name, now });
  if (plan.conversation)
    await changeConversations(db, new Map([[address, plan.conversation]]), {
      by: { type: 'system', id: null, name },
      now,
    });
}

/** A contact with whom something is done becomes a lead, as when they are written to. Requires the lock of Quick Sends. */
async function leadFor(db: TenantDb, { address, written }: Party, now: Date): Promise<LeadRow | null> {
  const contactOwnerEmail = (await contactOwners(db, []))(null);
  const addresses = address.includes('@') ? { emails: [address] } : { phones: [written ?? address] };
  const [saved] = await insertLeads(
    db,
    await quickSendsList(db),
    [{ ...BLANK_LEAD, ...addresses, contactOwnerEmail }],
    { source: 'rule', now },
  );
  if (!saved) return null;
  await emitLeadsCreated(db, [saved.id], now);
  return findLead(db, saved.id);
}
