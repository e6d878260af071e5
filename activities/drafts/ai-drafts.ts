import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { plainIssue } from '#domain/base/issue-text.ts';
import { refreshChats } from '#db/commands/drafts/chat-messages.ts';
import { triggerRules } from '#db/commands/inbox/rule-triggers.ts';
import {
  aboutDraft,
  discardWaitingDraft,
  holdBack,
  storeDraft,
  storeVersion,
} from '#db/commands/drafts/ai-drafts.ts';
import { type DraftRow, findDraft, isDraftedOften } from '#db/queries/drafts/ai-drafts.ts';
import {
  lockToAnswer,
  type ResolutionContext,
  resolveDraft,
  hasWithdrawn,
  sendByAutopilot,
} from '#db/commands/drafts/draft-resolution.ts';
import { autopilotFacts, autopilotOf } from '#db/queries/drafts/autopilot.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { type HeldBackBy, heldBackBy } from '#domain/drafts/autopilot.ts';
import { dayBounds } from '#domain/base/calendar.ts';
import { emitReplyEvents } from '#db/commands/inbox/reply-events.ts';
import { emitDraft } from '#db/commands/drafts/draft-events.ts';
import { draftingOf } from '#db/queries/drafts/knowledge-base.ts';
import { notifyPositive } from '#db/commands/events/notifications.ts';
import { lockConversation } from '#db/queries/sending/message-locks.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { targetsOfUpdate } from '#db/queries/accounts/audit-log.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { workspaceCountry, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { isSuspected } from '#db/queries/contacts/opt-out-suspicions.ts';
import type { FileLinks } from '#domain/messages/attachment.ts';
import { TOO_MANY_DRAFTS } from '#domain/drafts/ai-budget.ts';
import { DraftAction, DraftResolution } from '#domain/drafts/ai-draft.ts';
import type { ApprovalChannel } from '#domain/events/ai-draft.ts';
import { DraftOutput, type AskedOf, type DraftPrompt, draftPrompt } from '#domain/drafts/draft-prompt.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';
import type { DraftRound } from '#workflows/protocol/round.ts';
import type { DraftOrder, DraftVerdict } from '#workflows/protocol/updates.ts';
import { type Asked, askModel, type ModelNeeds } from './ask-model.ts';
import { conversationOf, documentsFor, indexDocuments } from './draft-context.ts';
import type { Dependencies } from '../dependencies.ts';
import { carryOut, record } from '../base/order.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { roundOf } from '../base/round.ts';

interface Reply {
  workspaceId: string;
  replyId: string;
}

type Needs = ModelNeeds & Pick<Dependencies, 'carriers' | 'logger' | 'links'>;

export function createDraftActivities({ carriers, logger, links, ...needs }: Needs) {
  const { pools } = needs;
  async function look({ workspaceId, replyId }: Reply): Promise<DraftRound> {
    const found = await decide(pools, workspaceId, aiDraftId(replyId), (db) => lookAtDraft(db, replyId));
    const { status, approvalChannel, isRetrying } = found;
    return { ...roundOf(found), status, approvalChannel, ...(isRetrying && { isRetrying }) };
  }

  return {
    /** Writes the draft if it is due. Calls the model outside of any transaction. @returns what the draft waits for. */
    async draftReply(reply: Reply): Promise<DraftRound> {
      const { workspaceId, replyId } = reply;
      const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenant(pools, workspaceId, work);
      await indexDocuments(tenant, (mode) => mode !== 'off');
      const prompt = await tenant((db) => promptOf(db, replyId, currentTime()));
      if (!prompt) return look(reply);
      const written: Asked<DraftOutput> = (await tenant((db) => isDraftedOften(db, replyId, currentTime())))
        ? { use: NO_USE, answer: { error: TOO_MANY_DRAFTS } }
        : await withHeartbeat((canceled) =>
            askModel(needs, workspaceId, { prompt, schema: DraftOutput, canceled }),
          );
      if ('error' in written.answer) {
        logger.warn(
          { workspaceId, replyId, model: written.use.model, reason: written.answer.error },
          'a reply could not be drafted',
        );
      }
      const { capabilitiesOf } = carriers;
      await tenant((db) => keep(db, { replyId, links, capabilitiesOf }, written, currentTime()));
      return look(reply);
    },

    /** @returns what the draft waits for, without calling the model. */
    lookAtDraft: (reply: Reply): Promise<DraftRound> => look(reply),

    /** Resolves a draft for an operator, like the API. A retried order finds its own decision. */
    async decideDraft({
      workspaceId,
      replyId,
      updateId,
      ...order
    }: Reply & DraftOrder & { updateId: string }): Promise<DraftVerdict> {
      return carryOut(pools, workspaceId, order, async (db) => {
        const asked = DraftResolution.safeParse({ ...order, replyId }, { error: plainIssue });
        if (!asked.success) throw new Refusal('VALIDATION_ERROR', null, z.prettifyError(asked.error));
        const { data: action } = DraftAction.safeParse(asked.data.action);
        if (!action)
          throw new Refusal('VALIDATION_ERROR', 'action', 'operators decide; they ask for no other version');
        const timezone = await workspaceTimezone(db);
        const workspace = { timezone, country: await workspaceCountry(db) };
        const by = { type: 'operator', id: null, name: order.by } as const;
        const decision = { ...asked.data, action, channel: 'dashboard', userId: null, by } as const;
        if ((await targetsOfUpdate(db, 'draft.decided', updateId)).includes(replyId)) {
          const draft = await findDraft(db, replyId);
          return { replyId, status: draft?.status ?? 'deleted', messageId: draft?.messageId ?? null };
        }
        const context = { workspace, links, capabilitiesOf: carriers.capabilitiesOf, now: currentTime() };
        const { status, messageId } = await resolveDraft(db, decision, context);
        await record(db, order, 'draft.decided', { type: 'draft', id: replyId }, { action, updateId });
        return { replyId, status, messageId };
      });
    },
  };
}

const NO_USE = { model: 'none', promptTokens: null, completionTokens: null };

/** The prompt of the draft that is due now; null if none is due. */
async function promptOf(db: TenantDb, replyId: string, now: Date): Promise<DraftPrompt | null> {
  const draft = await findDraft(db, replyId);
  if (!draft || !isDue(draft, now) || (await isSuspected(db, draft.address))) return null;
  const { mode, instructions } = await draftingOf(db);
  if (mode !== 'off') {
    const asked = await conversationOf(db, draft, null);
    const documents = await documentsFor(db, asked.conversation);
    const isAutopilot = mode === 'autopilot' && draft.status === 'waiting';
    return draftPrompt({ instructions, documents }, { ...asked, ...formerOf(draft), isAutopilot });
  }
  if (draft.status === 'waiting') await discardWaitingDraft(db, replyId, now);
  else await storeVersion(db, replyId, NO_USE, { error: 'the copilot is off' });
  return null;
}

/** A draft that waits to be written, or of which another version was asked for. */
const isDue = ({ status, dueAt, retryAt }: DraftRow, now: Date): boolean =>
  status === 'waiting' ? dueAt <= now : status === 'drafted' && retryAt !== null;

/** The versions that somebody did not want, and what they want instead. */
const formerOf = ({
  status,
  formerVersions,
  draft,
  retryHint,
}: DraftRow): Pick<AskedOf, 'unwanted' | 'hint'> =>
  status === 'waiting'
    ? {}
    : { unwanted: [...formerVersions.map((version) => version.draft), draft ?? ''], hint: retryHint };

type DraftLook = Look & Pick<DraftRound, 'status' | 'approvalChannel' | 'isRetrying'>;

/** Finds out what the draft waits for. */
async function lookAtDraft(db: TenantDb, replyId: string): Promise<DraftLook> {
  const draft = await findDraft(db, replyId);
  const at = { status: draft?.status ?? 'deleted', approvalChannel: draft?.approvalChannel ?? null };
  // Whoever decided, or asked for another version, and wherever: it wakes the draft's workflow.
  const isAskedAgain = draft !== null && (draft.retryAt !== null || draft.retryError !== null);
  if (at.status !== 'drafted' || isAskedAgain) await refreshChats(db, replyId, currentTime());
  if (draft?.status === 'waiting' && (await isSuspected(db, draft.address)))
    return { ...at, nextAt: null, reason: 'the contact may have asked to be left alone' };
  if (draft?.status === 'waiting')
    return { ...at, nextAt: draft.dueAt, reason: 'the contact may write more' };
  if (draft?.status === 'drafted' && draft.retryAt !== null && !(await isSuspected(db, draft.address)))
    return { ...at, isRetrying: true, nextAt: draft.retryAt, reason: 'another version is to be written' };
  if (draft?.status === 'drafted')
    return {
      ...at,
      nextAt: null,
      reason: 'the draft waits to be approved, rejected or claimed',
    };
  return { ...at, nextAt: null, reason: endOf(draft), ended: true };
}

function endOf(draft: DraftRow | null): string {
  if (!draft) return 'the reply was deleted';
  if (draft.status === 'failed') return `no draft: ${draft.error ?? ''}`;
  return `the draft is ${draft.status}${decisionOf(draft)}`;
}

/** Where it was decided, and by whom. Decisions of operators count as those of the dashboard. */
function decisionOf({ approvalChannel, resolvedBy }: DraftRow): string {
  if (approvalChannel === null) return '';
  const by = resolvedBy === null ? '' : ` by ${resolvedBy}`;
  return resolvedBy?.startsWith('operator ') ? by : ` through ${nameOf(approvalChannel)}${by}`;
}

function nameOf(channel: ApprovalChannel): string {
  if (channel === 'api') return 'the API';
  if (channel === 'dashboard') return 'the dashboard';
  return channel === 'inbox_direct_send' ? 'an answer from the inbox' : 'a chat app';
}

async function keep(
  db: TenantDb,
  {
    replyId,
    links,
    capabilitiesOf,
  }: Pick<ResolutionContext, 'links' | 'capabilitiesOf'> & { replyId: string; links: FileLinks },
  { use, answer }: Asked<DraftOutput>,
  now: Date,
): Promise<void> {
  const draft = await findDraft(db, replyId);
  if (!draft) return;
  const { mode, autopilot, disclosure } = await autopilotOf(db);
  const isAutopilot = mode === 'autopilot' && draft.status === 'waiting';
  if (isAutopilot) await lockToAnswer(db, draft);
  else await lockConversation(db, draft.address);
  if (await isSuspected(db, draft.address)) return;
  if (draft.status === 'drafted') {
    const version = await storeVersion(db, replyId, use, answer);
    if (version) await emitDraft(db, version, now);
    return;
  }
  const kept = await storeDraft(db, replyId, use, answer, now);
  if (kept?.status !== 'drafted') return;
  await notifyPositive(db, kept.address, now);
  // Whoever is told of a draft knows the reply.
  await emitReplyEvents(db, { replyId, links, now, waits: false });
  if (isAutopilot && !('error' in answer)) {
    const workspace = { timezone: await workspaceTimezone(db), country: await workspaceCountry(db) };
    const facts = await autopilotFacts(db, kept, dayBounds(workspace.timezone, now).start);
    const judged = { draft: answer, timezone: workspace.timezone, ...facts };
    const send = () => sendByAutopilot(db, kept, disclosure, { workspace, links, capabilitiesOf, now });
    const heldBack = heldBackBy(autopilot, judged, now) ?? (await whyNotSent(db, kept, send));
    if (heldBack === null) return;
    await holdBack(db, replyId, heldBack);
  }
  await emitDraft(db, kept, now);
  await triggerRules(db, [aboutDraft(kept)], now);
}

/** @param send writes nothing if it is refused. @returns null if the draft was sent. */
async function whyNotSent(
  db: TenantDb,
  draft: DraftRow,
  send: () => Promise<void>,
): Promise<HeldBackBy | null> {
  if (await hasWithdrawn(db, draft)) return 'cannot_send';
  try {
    await requireSending(db);
    await send();
    return null;
  } catch (error) {
    if (error instanceof Refusal) return 'cannot_send';
    throw error;
  }
}
