import { findOpeningHours, workspaceTimezone } from '../accounts/workspaces.ts';
import { factsOf } from '../campaigns/facts.ts';
import { findLeads, findLeadsByAddress } from '../contacts/leads.ts';
import { optedOutAmong } from '../contacts/opt-outs.ts';
import { suspicionsOf } from '../contacts/opt-out-suspicions.ts';
import { suppressedAmong } from '../contacts/suppressions.ts';
import { pastHappenings } from './past-happenings.ts';
import { aboutReply, strangerAt } from './rule-facts.ts';
import { findSnippets } from './snippets.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { durationMs } from '#domain/base/duration.ts';
import { judgeAll, needsOf } from '#domain/campaigns/judge.ts';
import { lowerCaseTags } from '#domain/inbox/conversation.ts';
import type { RuleDryRun, RuleDryRunInput } from '#domain/inbox/rule.ts';
import { type Past, rehearse } from '#domain/inbox/rule-rehearsal.ts';

const DAYS = 30;
const MOST = 2000;

/** What a rule would have done in the last 30 days, judged by what is known of the contacts now. Changes nothing. */
export async function rehearseRule(
  db: TenantDb,
  { on, after, tags = [], when, do: actions }: RuleDryRunInput,
  now: Date,
): Promise<RuleDryRun> {
  const since = new Date(now.getTime() - DAYS * 86_400_000);
  const range = { since, now, limit: MOST + 1 };
  const about = {
    on,
    afterMs: after ? durationMs(after) : 0,
    tags: lowerCaseTags(tags),
  };
  const found = await pastHappenings(db, about, range);
  const happened = found.slice(-MOST);
  const addresses = [...new Set(happened.map(({ address }) => address))];
  const leadIds = await findLeadsByAddress(db, addresses);
  const leads = await findLeads(db, [...new Set(leadIds.values())]);
  const judged = new Map(
    addresses.map((address) => [
      address,
      leads.get(leadIds.get(address) ?? '') ?? strangerAt(db, address, null, now),
    ]),
  );
  const facts = await factsOf(db, [...new Set(judged.values())], needsOf(when), null);
  const barred = await barredAmong(db, addresses);
  const past = await mapInTurns(happened, ({ at, address, text }): Past | null => {
    const person = judged.get(address)?.id ?? address;
    const known = facts.get(person);
    if (!known) return null;
    const { holds, why } = judgeAll(when, text === null ? known : aboutReply(known, { at, text }), at);
    const leadId = leads.has(person) ? person : null;
    return { at, address, person, leadId, holds, why, barredBy: barred.get(address) ?? null };
  });
  const named = actions.flatMap(({ reply }) => reply?.snippetId ?? []);
  const workspace = {
    hours: await findOpeningHours(db),
    timezone: await workspaceTimezone(db),
    snippets: new Map((await findSnippets(db, named)).map(({ id, text }) => [id, text])),
  };
  return {
    since: since.toISOString(),
    ...rehearse(
      actions,
      past.filter((one) => one !== null),
      workspace,
    ),
    isPartial: found.length > MOST,
  };
}

async function barredAmong(
  db: TenantDb,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, Past['barredBy']>> {
  const suspected = (await suspicionsOf(db, addresses)).filter(({ status }) => status === 'open');
  const excluded = [...(await optedOutAmong(db, addresses)), ...(await suppressedAmong(db, addresses))];
  return new Map([
    ...suspected.map(({ address }) => [address, 'opt_out_suspected'] as const),
    ...excluded.map((address) => [address, 'opted_out'] as const),
  ]);
}
