import pLimit from 'p-limit';
import { wakeLines } from '#db/commands/campaigns/campaign-entry.ts';
import { findCampaign } from '#db/queries/campaigns.ts';
import { findKnowledgeBase } from '#db/queries/knowledge-base.ts';
import { findLeads, type LeadRow, presentLead } from '#db/queries/leads.ts';
import {
  type DueMessage,
  duePersonalizations,
  nextPersonalization,
  personalizationProgress,
  releasePersonalized,
} from '#db/commands/campaigns/personalizations.ts';
import { decide } from '#db/decisions.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import {
  personalizationProblem,
  personalizationPrompt,
  PersonalizedMessage,
  type PersonalizationProgress,
} from '#domain/personalization.ts';
import { renderTemplate } from '#domain/template.ts';
import { personalizerId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import { type Asked, askModel } from './ask-model.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, type Look, roundOf } from './round.ts';

/** Questions to the model under way at once, for one campaign. */
const CONCURRENCY = 16;
const BATCH = 64;
/** A round ends after this, however much is left: an activity that goes on for ever tells the operator nothing. */
const ROUND_MS = 45_000;
/** Messages that fall due one by one are collected for so long, which is half of what they are written ahead. */
const COLLECT_MS = 5 * 60_000;

interface Work extends Look {
  instructions: string;
  messages: DueMessage[];
  leads: Map<string, LeadRow>;
}

export function createPersonalizationActivities({
  pools,
  model,
  logger,
}: Pick<Dependencies, 'pools' | 'model' | 'logger'>) {
  return {
    /** Has the model write what is due of a campaign, apart from its lines: only these messages wait for it. */
    async writeMessages({
      workspaceId,
      campaignId,
    }: {
      workspaceId: string;
      campaignId: string;
    }): Promise<Round> {
      async function write(message: DueMessage, work: Work, canceled: AbortSignal): Promise<void> {
        const lead = work.leads.get(message.leadId ?? '') ?? null;
        const { use, answer } = await rewrite(message, lead, work.instructions, canceled);
        if ('error' in answer)
          logger.warn(
            { workspaceId, campaignId, messageId: message.id, model: use.model, reason: answer.error },
            'a message leaves as its template says',
          );
        await withTenant(pools, workspaceId, async (db) => {
          const released = await releasePersonalized(db, message.id, use, answer);
          if (released) wakeLines(db, [released]);
        });
      }

      async function rewrite(
        { body }: DueMessage,
        lead: LeadRow | null,
        instructions: string,
        canceled: AbortSignal,
      ): Promise<Asked<{ text: string }>> {
        const known = lead && presentLead(lead);
        const text = rendered(body, known);
        // Without words, or with a template that cannot be rendered: for its line to send, or to fail.
        if (text === null || text.trim() === '')
          return { use: NO_USE, answer: { error: 'the message has no text to write anew' } };
        const prompt = personalizationPrompt(instructions, text, known);
        const { use, answer } = await askModel(model, prompt, PersonalizedMessage, canceled);
        if ('error' in answer) return { use, answer };
        const fault = personalizationProblem(text, answer.message);
        return { use, answer: fault === null ? { text: answer.message } : { error: fault } };
      }

      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        while (!canceled.aborted && Date.now() < end) {
          const work = await decide(pools, workspaceId, personalizerId(campaignId), (db) =>
            look(db, campaignId, new Date()),
          );
          if (!isDue(work)) return roundOf(work);
          const atOnce = pLimit(CONCURRENCY);
          await Promise.all(
            work.messages.map((message) =>
              atOnce(async () => (canceled.aborted ? undefined : write(message, work, canceled))),
            ),
          );
        }
        return { nextAt: new Date().toISOString(), reason: 'more is to be written' };
      });
    },
  };
}

const NO_USE = { model: 'none', promptTokens: null, completionTokens: null };

/** What is to be written now, or what there is to wait for. */
async function look(db: TenantDb, campaignId: string, now: Date): Promise<Work> {
  const rest = { instructions: '', messages: [], leads: new Map() };
  const campaign = await findCampaign(db, campaignId);
  if (campaign?.status !== 'active') {
    const reason = `the campaign is ${campaign?.status ?? 'deleted'}`;
    return { ...rest, nextAt: null, reason, ended: true };
  }
  const messages = await duePersonalizations(db, campaignId, now, BATCH);
  if (messages.length > 0) {
    const { instructions } = await findKnowledgeBase(db);
    const leads = await findLeads(
      db,
      messages.flatMap(({ leadId }) => leadId ?? []),
    );
    // The round goes on after these; one that dies is found by the sweep.
    return { instructions, messages, leads, nextAt: now, reason: 'more is to be written' };
  }
  const told = tell(await personalizationProgress(db, campaignId));
  const next = await nextPersonalization(db, campaignId);
  if (next === null) return { ...rest, nextAt: null, reason: `nothing waits: ${told}`, ended: true };
  return { ...rest, nextAt: new Date(Math.max(next.getTime(), now.getTime() + COLLECT_MS)), reason: told };
}

function tell({ written, failed, lastError }: PersonalizationProgress): string {
  const why = lastError === null ? '' : ` (${lastError})`;
  return `${written} messages written, ${failed} left as their template says${why}`;
}

function rendered(body: string, lead: Parameters<typeof renderTemplate>[1]): string | null {
  try {
    return renderTemplate(body, lead);
  } catch {
    return null;
  }
}
