import { findLead } from '#db/queries/contacts/leads.ts';
import {
  documentsToIndex,
  draftingOf,
  findKnowledgeBase,
  matchPassages,
  passagesAt,
  savePassages,
} from '#db/queries/drafts/knowledge-base.ts';
import { listThread } from '#db/queries/inbox/thread.ts';
import { contactName, findReply, shownText } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { choosePassages, passagesOf, wordsOf } from '#domain/drafts/document-choice.ts';
import { DOCUMENT_BUDGET, type PromptMessage, questionOf } from '#domain/drafts/draft-prompt.ts';
import type { KnowledgeBase, KnowledgeDocument } from '#domain/drafts/knowledge-base.ts';
import { ownLines } from '#domain/inbox/own-words.ts';

/** The number of messages of the conversation that the model reads. */
const THREAD_LENGTH = 20;

/** Makes the passages of the documents if they have changed. Not in a transaction: it may take long. @param isNeeded by the mode. */
export async function indexDocuments(
  tenant: <T>(work: (db: TenantDb) => Promise<T>) => Promise<T>,
  isNeeded: (mode: KnowledgeBase['mode']) => boolean,
): Promise<void> {
  const changed = await tenant(async (db) => {
    const { mode, isIndexed } = await draftingOf(db);
    return isIndexed || !isNeeded(mode) ? null : documentsToIndex(db);
  });
  if (!changed) return;
  const passages = await passagesOf(changed.documents);
  await tenant((db) => savePassages(db, changed.version, passages));
}

/** All documents if they fit into the prompt, else the passages that answer the conversation's question best. */
export async function documentsFor(
  db: TenantDb,
  conversation: readonly PromptMessage[],
): Promise<KnowledgeDocument[]> {
  const { isIndexed, characters } = await draftingOf(db);
  if (isIndexed && characters <= DOCUMENT_BUDGET) return (await findKnowledgeBase(db)).documents;
  const matches = await matchPassages(db, wordsOf(questionOf(conversation)));
  return [...(await passagesAt(db, choosePassages(matches, DOCUMENT_BUDGET)))];
}

/**
 * A conversation as the model reads it.
 * @param before what came later is left out; null: nothing is.
 * @returns also the texts of the contact since the last answer, the latest first.
 */
export async function conversationOf(
  db: TenantDb,
  { replyId, address }: { replyId: string; address: string },
  before: Date | null,
): Promise<{ contact: string; conversation: PromptMessage[]; unanswered: string[] }> {
  const reply = await findReply(db, replyId);
  const leadId = reply?.leadId ?? null;
  const lead = leadId === null ? null : await findLead(db, leadId);
  const thread = await listThread(db, address, {
    limit: THREAD_LENGTH,
    after: before && { at: before, key: '' },
  });
  const read = thread.filter(
    ({ direction, status, autoReply, body, transcript, unsentAt }) =>
      unsentAt === null &&
      (direction === 'in'
        ? !autoReply && (body !== '' || transcript !== null)
        : status === 'sent' || status === 'delivered' || status === 'sending'),
  );
  const answer = read.findIndex(({ direction }) => direction === 'out');
  const conversation = read.toReversed().map((row) => ({
    from: row.direction === 'in' ? ('contact' as const) : ('us' as const),
    text: row.direction === 'in' ? withTranscript(ownText(row.body), row.transcript) : shownText(row),
    at: row.at.toISOString(),
  }));
  return {
    contact: contactName(lead, null, address),
    conversation,
    unanswered: read
      .slice(0, answer === -1 ? undefined : answer)
      .map(({ body, transcript }) => withTranscript(body, transcript)),
  };
}

const ownText = (body: string): string => ownLines(body).join('\n') || body;
const withTranscript = (text: string, transcript: string | null): string =>
  [text, transcript ?? ''].filter((part) => part !== '').join('\n');
