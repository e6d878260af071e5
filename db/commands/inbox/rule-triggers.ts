import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import { insertion } from '#db/connection/recordset.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { newId } from '#domain/base/ids.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import type { LeadRow } from '#db/queries/contacts/leads.ts';
import { lastInbound } from '#db/queries/inbox/conversations.ts';
import { lowerCaseTags } from '#domain/inbox/conversation.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import { RuleTrigger } from '#domain/inbox/rule.ts';
import { ruleRunnerId } from '#workflows/protocol/workflow-ids.ts';

/** What has happened with a contact. */
export interface Happening {
  on: RuleTrigger;
  address: string;
  /** Through which the contact wrote or called. */
  lineId: string | null;
  replyId?: string | null;
  callId?: string;
  /** The tags that were added. */
  tags?: readonly string[];
  /** Looked at only if there is a rule about it. */
  isTrue?: () => Promise<boolean>;
}

const RuleRow = z.object({
  id: z.string(),
  name: z.string(),
  trigger: RuleTrigger,
  afterMs: z.number().nullable(),
  tags: z.array(z.string()),
});
type RuleRow = z.infer<typeof RuleRow>;

/**
 * Has rules look at what has happened, in the transaction in which it happens, so that nothing is lost and nothing is done twice.
 *
 * Called where a contact, a person or a program acts, and by nothing that a rule or a campaign does. So nothing that a rule does is followed
 * by a rule, and there are no loops.
 */
export async function triggerRules(db: TenantDb, all: readonly Happening[], now: Date): Promise<void> {
  // A group is no contact.
  const happenings = all.filter(({ address }) => !isGroupAddress(address));
  if (happenings.length === 0) return;
  await recordTags(db, happenings, now);
  const kinds = [...new Set(happenings.map(({ on }) => on))];
  const rules = await db.any(sql.type(RuleRow)`
    select id, name, trigger, after_ms, tags from rules
    where workspace_id = ${db.workspaceId} and trigger = any(${sql.array(kinds, 'text')}) order by id`);
  const runs: Record<string, unknown>[] = [];
  for (const happening of happenings) {
    const about = await rulesAbout(db, happening, rules);
    for (const { id, name, afterMs } of about) {
      const dueAt = new Date(now.getTime() + (afterMs ?? 0));
      wake(db, ruleRunnerId(db.workspaceId), dueAt, 'rulesDue');
      runs.push({
        workspaceId: db.workspaceId,
        id: newId(now),
        ruleId: id,
        ruleName: name,
        trigger: happening.on,
        address: happening.address,
        lineId: happening.lineId,
        replyId: happening.replyId ?? null,
        callId: happening.callId ?? null,
        happenedAt: now,
        dueAt,
      });
    }
  }
  if (runs.length > 0) await db.query(sql.type(NoRows)`${insertion('rule_runs', runs)}`);
}

/** What a dry run of a rule looks at that does not exist yet. */
async function recordTags(db: TenantDb, happenings: readonly Happening[], now: Date): Promise<void> {
  const added = happenings.flatMap(({ on, address, tags = [] }) =>
    on === 'tag_added'
      ? [{ workspaceId: db.workspaceId, id: newId(now), address, tags: lowerCaseTags(tags), addedAt: now }]
      : [],
  );
  if (added.length > 0) await db.query(sql.type(NoRows)`${insertion('added_tags', added)}`);
}

/** Tags were added to a lead: the conversation is that with the address from which it wrote last. */
export async function triggerTagRules(
  db: TenantDb,
  lead: Pick<LeadRow, 'emails' | 'phones'>,
  tags: readonly string[],
  now: Date,
): Promise<void> {
  const addresses = [...lead.phones.map(contactKey), ...lead.emails];
  if (tags.length === 0 || addresses.length === 0) return;
  const last = await lastInbound(db, addresses);
  const address = last?.address ?? addresses[0];
  if (address === undefined) return;
  await triggerRules(db, [{ on: 'tag_added', address, lineId: last?.lineId ?? null, tags }], now);
}

async function rulesAbout(
  db: TenantDb,
  { on, address, tags = [], isTrue }: Happening,
  rules: readonly RuleRow[],
): Promise<readonly RuleRow[]> {
  const added = new Set(lowerCaseTags(tags));
  const about = rules.filter(
    (rule) => rule.trigger === on && (rule.tags.length === 0 || rule.tags.some((tag) => added.has(tag))),
  );
  if (about.length === 0 || (isTrue && !(await isTrue()))) return [];
  if (on !== 'no_answer_for') return about;
  // The wait for an answer has begun already. When it is over, the runner looks since when.
  const waiting = new Set(
    await db.anyFirst(sql.type(RuleIdRow)`
      select rule_id from rule_runs
      where workspace_id = ${db.workspaceId} and address = ${address} and trigger = 'no_answer_for' and due_at is not null`),
  );
  return about.filter(({ id }) => !waiting.has(id));
}

const RuleIdRow = z.object({ ruleId: z.string() });
