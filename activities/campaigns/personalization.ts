import { currentTime } from '#domain/base/clock.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findKnowledgeBase } from '#db/queries/drafts/knowledge-base.ts';
import { findLeads, type LeadRow, presentLead } from '#db/queries/contacts/leads.ts';
import {
  type DueMessage,
  duePersonalizations,
  nextPersonalization,
  personalizationProgress,
  releasePersonalized,
} from '#db/commands/campaigns/personalizations.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { wakeLines } from '#db/wakes/wakes.ts';
import {
  personalizationProblem,
  personalizationPrompt,
  PersonalizedMessage,
  type PersonalizationProgress,
} from '#domain/campaigns/personalization.ts';
import { renderTemplate } from '#domain/messages/template.ts';
import { personalizerId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { type Asked, askModel, type ModelNeeds } from '../drafts/ask-model.ts';
import type { Dependencies } from '../dependencies.ts';
import { forEachConcurrently } from '../base/for-each.ts';
import { isDue, repeatFor } from '../base/round.ts';

/** Concurrent model calls for one campaign. */
const CONCURRENCY = 16;
const BATCH = 64;
/** The length of a round. Short rounds let operators see progress. */
const ROUND_MS = 45_000;
const MORE = 'there are more messages to write';
/** How long to collect messages that fall due one by one: half of the time by which they are written in advance. */
const COLLECT_MS = 5 * 60_000;

interface Work extends Look {
  instructions: string;
  messages: DueMessage[];
  leads: Map<string, LeadRow>;
}

export function createPersonalizationActivities({
  logger,
  ...needs
}: ModelNeeds & Pick<Dependencies, 'logger'>) {
  const { pools } = needs;
  return {
    /** Has the model write the due messages of a campaign. Only these messages wait for it, not the lines. */
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
            'the model failed; a message is sent as its template',
          );
        await withTenant(pools, workspaceId, async (db) => {
          const released = await releasePersonalized(db, message, use, answer);
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
        // An empty message, or a template that cannot be rendered, is left to the line to send or to fail.
        if (text === null || text.trim() === '')
          return { use: NO_USE, answer: { error: 'the message has no text to personalize' } };
        const prompt = personalizationPrompt(instructions, text, known);
        const { use, answer } = await askModel(needs, workspaceId, {
          prompt,
          schema: PersonalizedMessage,
          canceled,
        });
        if ('error' in answer) return { use, answer };
        const fault = personalizationProblem(text, answer.message);
        return { use, answer: fault === null ? { text: answer.message } : { error: fault } };
      }

      return repeatFor(ROUND_MS, MORE, async (canceled) => {
        const work = await decide(pools, workspaceId, personalizerId(campaignId), (db) =>
          look(db, campaignId, currentTime()),
        );
        if (!isDue(work)) return work;
        await forEachConcurrently(work.messages, { atOnce: CONCURRENCY, canceled }, (message) =>
          write(message, work, canceled),
        );
        return null;
      });
    },
  };
}

const NO_USE = { model: 'none', promptTokens: null, completionTokens: null };

/** The messages to write now, or what the campaign waits for. */
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
    // The round continues after these. If its worker crashes, the sweep finds the campaign.
    return { instructions, messages, leads, nextAt: now, reason: MORE };
  }
  const progress = progressText(await personalizationProgress(db, campaignId));
  const next = await nextPersonalization(db, campaignId);
  if (next === null)
    return { ...rest, nextAt: null, reason: `no message is waiting: ${progress}`, ended: true };
  return {
    ...rest,
    nextAt: new Date(Math.max(next.getTime(), now.getTime() + COLLECT_MS)),
    reason: `the next messages are written shortly before they are due: ${progress}`,
  };
}

function progressText({ written, failed, lastError }: PersonalizationProgress): string {
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
