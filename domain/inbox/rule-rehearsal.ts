import type { RuleAction, RuleDeed, RuleDryRun, TextWithheld } from './rule.ts';
import { planOf, type Texted } from './rule-plan.ts';

/** Something that happened, of which a rule would have judged. */
export interface Past {
  at: Date;
  address: string;
  /** The same for all addresses of a contact. */
  person: string;
  leadId: string | null;
  /** Whether the conditions hold, and what was judged. */
  holds: boolean;
  why: string;
  barredBy: Texted['barredBy'];
}

const MAX_EXAMPLES = 50;

/** What a rule would have done, had it existed. @param past in order of time. */
export function rehearse(
  actions: readonly RuleAction[],
  past: readonly Past[],
  workspace: Pick<Texted, 'hours' | 'timezone' | 'snippets'>,
): Pick<RuleDryRun, 'happened' | 'matched' | 'did' | 'withheld' | 'examples'> {
  const lastTextAt = new Map<string, Date>();
  const did = new Map<RuleDeed, number>();
  const withheld = new Map<TextWithheld, number>();
  const done: RuleDryRun['examples'] = [];
  for (const { at, address, person, leadId, holds, why, barredBy } of past) {
    if (!holds) continue;
    const contact = { ...workspace, barredBy, lastTextAt: lastTextAt.get(person) ?? null };
    const plan = planOf(actions, contact, at);
    if (plan.text !== null) lastTextAt.set(person, at);
    for (const deed of plan.did) did.set(deed, (did.get(deed) ?? 0) + 1);
    if (plan.withheld !== null) withheld.set(plan.withheld, (withheld.get(plan.withheld) ?? 0) + 1);
    done.push({ at: at.toISOString(), address, leadId, did: plan.did, withheld: plan.withheld, why });
  }
  return {
    happened: past.length,
    matched: done.length,
    did: Object.fromEntries(did),
    withheld: Object.fromEntries(withheld),
    examples: done.toReversed().slice(0, MAX_EXAMPLES),
  };
}
