import pLimit from 'p-limit';
import { fromNow } from '#domain/base/clock.ts';
import { addChangesOfErased } from '#db/commands/analytics/count-days.ts';
import {
  cancelLate,
  type Chunk,
  eraseAutopilotCases,
  eraseCalls,
  eraseCarrierEvents,
  eraseEvents,
  eraseMessages,
  eraseRejectedRows,
  eraseReplies,
  eraseRuleRuns,
  eraseTestSends,
  eraseWrittenDrafts,
  nextCalls,
  nextMessages,
  nextReplies,
  sharedFiles,
} from '#db/commands/contacts/erase-rows.ts';
import { type Erasure, findErasure, setEventsTo } from '#db/queries/contacts/erasures.ts';
import { emptyMails, emptyResponse, nextMails, nextResponses } from '#db/queries/operations/sealed-copies.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { voiceNoteId } from '#db/queries/messages/voice-notes.ts';
import { namesOf } from '#domain/contacts/erasure.ts';
import { firstId } from '#domain/base/ids.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { SecretBoxError, secretContext } from '#providers/secret-box.ts';
import { storageKey } from '#providers/storage/storage.ts';
import type { Dependencies } from '../dependencies.ts';
import { ownFile } from '../sending/outbound-files.ts';

/** A margin, because clocks differ and ids are created before they are committed. */
const AROUND_MS = 60_000;
const FILES_AT_ONCE = 8;

type Needs = Pick<Dependencies, 'pools' | 'storage' | 'links' | 'secrets'>;

/**
 * Erases everything that is stored about a contact at the moment.
 * @returns false if it was broken off, because `mayContinue` returned false.
 */
export type ErasurePass = (
  workspaceId: string,
  erasure: Erasure,
  mayContinue: () => boolean,
) => Promise<boolean>;

export function createErasurePass({ pools, storage, links, secrets }: Needs): ErasurePass {
  const files = pLimit(FILES_AT_ONCE);

  return async (workspaceId, erasure, mayContinue) => {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    const namesContact = contactNames(erasure);

    /** The bytes go before the rows that name them: what a crash leaves behind is found again. */
    async function eraseChunks(
      next: (db: TenantDb, erasure: Erasure) => Promise<Chunk>,
      erase: (db: TenantDb, erasure: Erasure, chunk: Chunk) => Promise<void>,
    ): Promise<void> {
      while (mayContinue()) {
        const chunk = await tenant((db) => next(db, erasure));
        if (chunk.ids.length === 0) return;
        const keys = chunk.fileIds.flatMap((id) => [id, voiceNoteId(id)]);
        await files.map(keys, (id) => storage.delete(storageKey(workspaceId, id)));
        await tenant((db) => erase(db, erasure, chunk));
      }
    }

    /** Uploads go with the messages that name them, unless somebody else's need them. */
    async function nextMessagesWithFiles(db: TenantDb): Promise<Chunk> {
      const messages = await nextMessages(db, erasure);
      const named = messages.flatMap(({ urls }) =>
        urls.flatMap((url) => ownFile(url, workspaceId, links) ?? []),
      );
      const fileIds = [...new Set(named)];
      const shared = new Set(await sharedFiles(db, erasure, fileIds));
      return { ids: messages.map(({ id }) => id), fileIds: fileIds.filter((id) => !shared.has(id)) };
    }

    async function emptyMailsAboutContact(): Promise<void> {
      const seal = mailSeal(secrets, workspaceId);
      for (let after = ''; ;) {
        const range = { after, last: firstId(fromNow(AROUND_MS)) };
        const mails = await tenant((db) => nextMails(db, range));
        const found = mails.filter(({ id, dataSealed }) => namesContact(() => seal.open(dataSealed, id)));
        const ids = found.map(({ id }) => id);
        if (ids.length > 0) await tenant((db) => emptyMails(db, ids));
        const last = mails.at(-1);
        if (!last) return;
        after = last.id;
      }
    }

    async function emptyResponsesAboutContact(): Promise<void> {
      for (let after = { route: '', key: '' }; ;) {
        const responses = await tenant((db) => nextResponses(db, after));
        for (const { route, key, response } of responses) {
          const context = secretContext('idempotency', workspaceId, `${route} ${key}`);
          const open = (): string =>
            typeof response === 'string' ? secrets.open(response, context) : JSON.stringify(response);
          if (namesContact(open)) await tenant((db) => emptyResponse(db, { route, key }));
        }
        const last = responses.at(-1);
        if (!last) return;
        after = last;
      }
    }

    /** @returns false if it was broken off. */
    async function eraseAllEvents(): Promise<boolean> {
      const newest = firstId(new Date(erasure.requestedAt.getTime() - AROUND_MS));
      if (erasure.eventsTo > newest) await tenant((db) => setEventsTo(db, erasure.id, newest));
      while (mayContinue()) {
        const isMore = await tenant(async (db) => {
          const now = await findErasure(db, erasure.id);
          return now !== null && (await eraseEvents(db, now));
        });
        if (!isMore) return true;
      }
      return false;
    }

    await tenant((db) => cancelLate(db, erasure));
    await eraseChunks(nextMessagesWithFiles, eraseMessages);
    await eraseChunks(nextReplies, eraseReplies);
    await tenant((db) => eraseWrittenDrafts(db, erasure));
    // Recorded changes name the contact until they are added to the metrics.
    while (mayContinue() && (await tenant((db) => addChangesOfErased(db, erasure.addresses))));
    await eraseChunks(nextCalls, eraseCalls);
    await tenant((db) => eraseRejectedRows(db, erasure));
    await tenant((db) => eraseRuleRuns(db, erasure));
    await tenant((db) => eraseAutopilotCases(db, erasure));
    await tenant((db) => eraseTestSends(db, erasure));
    await tenant((db) => eraseCarrierEvents(db, erasure));
    await emptyMailsAboutContact();
    await emptyResponsesAboutContact();
    return eraseAllEvents();
  };
}

/** Whether an encrypted text contains an address of the contact. */
function contactNames({ addresses }: Erasure): (open: () => string) => boolean {
  const names = namesOf(addresses);
  return (open) => {
    const text = readable(open);
    return names.some((name) => text.includes(name));
  };
}

/** A value that no configured key decrypts cannot be read by anybody. */
function readable(open: () => string): string {
  try {
    return open();
  } catch (error) {
    if (error instanceof SecretBoxError) return '';
    throw error;
  }
}
