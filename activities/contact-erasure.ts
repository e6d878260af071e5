import { isGrpcServiceError } from '@temporalio/client';
import pLimit from 'p-limit';
import { currentTime, fromNow } from '#domain/clock.ts';
import { addChangesOfErased } from '#db/commands/analytics/count-days.ts';
import {
  cancelLate,
  type Chunk,
  eraseCalls,
  eraseCarrierEvents,
  eraseEvents,
  eraseMessages,
  eraseRejectedRows,
  eraseTestSends,
  eraseReplies,
  eraseWrittenDrafts,
  hasUnderWay,
  nextCalls,
  nextMessages,
  nextReplies,
  sharedLinks,
} from '#db/commands/contacts/erase-rows.ts';
import { decide } from '#db/decisions.ts';
import { type Erasure, finishErasure, findErasure, setEventsTo } from '#db/queries/erasures.ts';
import { draftsOf } from '#db/commands/drafts/ai-drafts.ts';
import { isImporting } from '#db/queries/lead-imports.ts';
import { emptyMails, emptyResponse, nextMails, nextResponses } from '#db/queries/sealed-copies.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { voiceNoteId } from '#db/queries/voice-notes.ts';
import { namesOf } from '#domain/erasure.ts';
import { firstId } from '#domain/ids.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { SecretBoxError, secretContext } from '#providers/secret-box.ts';
import { storageKey } from '#providers/storage/storage.ts';
import { aiDraftId, contactErasureId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { ownFile } from './outbound-files.ts';
import { type Look, roundOf } from './round.ts';

const ROUND_MS = 60_000;
/** By then, any work that read the contact before the erasure began has written its results. */
const SETTLED_AFTER_MS = 5000;
/** How often to check for open attempts, which are settled within a quarter of an hour. */
const LOOK_EVERY_MS = 2000;
/** A margin, because clocks differ and ids are created before they are committed. */
const AROUND_MS = 60_000;
const FILES_AT_ONCE = 8;

export function createContactErasureActivities({
  pools,
  storage,
  links,
  secrets,
  temporal,
  logger,
}: Pick<Dependencies, 'pools' | 'storage' | 'links' | 'secrets' | 'temporal' | 'logger'>) {
  const files = pLimit(FILES_AT_ONCE);

  /** The steps of one pass over all stored data, in the workspace of an erasure. */
  function passOf(workspaceId: string, erasureId: string) {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);

    /** The bytes go before the rows that name them: what a crash leaves behind is found again. */
    async function eraseChunks(
      next: (db: TenantDb) => Promise<Chunk>,
      erase: (db: TenantDb, chunk: Chunk) => Promise<void>,
      mayContinue: () => boolean,
    ): Promise<void> {
      while (mayContinue()) {
        const chunk = await tenant(next);
        if (chunk.ids.length === 0) return;
        const keys = chunk.fileIds.flatMap((id) => [id, voiceNoteId(id)]);
        await files.map(keys, (id) => storage.delete(storageKey(workspaceId, id)));
        await tenant((db) => erase(db, chunk));
      }
    }

    /** Uploads go with the messages that name them, unless somebody else's need them. */
    async function messagesWithFiles(db: TenantDb, erasure: Erasure): Promise<Chunk> {
      const messages = await nextMessages(db, erasure);
      const urls = [...new Set(messages.flatMap(({ urls }) => urls))];
      const shared = new Set(await sharedLinks(db, erasure, urls));
      return {
        ids: messages.map(({ id }) => id),
        fileIds: urls.flatMap((url) => (shared.has(url) ? [] : (ownFile(url, workspaceId, links) ?? []))),
      };
    }

    async function eraseSealed(erasure: Erasure): Promise<void> {
      const names = namesOf(erasure.addresses);
      const namesContact = (open: () => string): boolean => {
        const text = readable(open);
        return names.some((name) => text.includes(name));
      };
      const seal = mailSeal(secrets, workspaceId);
      for (let after = ''; ;) {
        const range = { after, last: firstId(fromNow(AROUND_MS)) };
        const mails = await tenant((db) => nextMails(db, range));
        const found = mails.filter(({ id, dataSealed }) => namesContact(() => seal.open(dataSealed, id)));
        if (found.length > 0)
          await tenant((db) =>
            emptyMails(
              db,
              found.map(({ id }) => id),
            ),
          );
        const last = mails.at(-1);
        if (!last) break;
        after = last.id;
      }
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

    return {
      /** @returns false when it was broken off. */
      async run(erasure: Erasure, mayContinue: () => boolean): Promise<boolean> {
        await tenant((db) => cancelLate(db, erasure));
        await eraseChunks(
          (db) => messagesWithFiles(db, erasure),
          (db, chunk) => eraseMessages(db, erasure, chunk),
          mayContinue,
        );
        await eraseChunks(
          (db) => nextReplies(db, erasure),
          (db, chunk) => eraseReplies(db, erasure, chunk),
          mayContinue,
        );
        await tenant((db) => eraseWrittenDrafts(db, erasure));
        // Recorded changes name the contact until they are added to the metrics.
        while (mayContinue() && (await tenant((db) => addChangesOfErased(db, erasure.addresses))));
        await eraseChunks(
          (db) => nextCalls(db, erasure),
          (db, chunk) => eraseCalls(db, erasure, chunk),
          mayContinue,
        );
        await tenant((db) => eraseRejectedRows(db, erasure));
        await tenant((db) => eraseTestSends(db, erasure));
        await tenant((db) => eraseCarrierEvents(db, erasure));
        await eraseSealed(erasure);
        const newest = firstId(new Date(erasure.requestedAt.getTime() - AROUND_MS));
        if (erasure.eventsTo > newest) await tenant((db) => setEventsTo(db, erasureId, newest));
        while (mayContinue()) {
          const isMore = await tenant(async (db) => {
            const now = await findErasure(db, erasureId);
            return now !== null && (await eraseEvents(db, now));
          });
          if (!isMore) return true;
        }
        return false;
      },

      /** The work that may still store something about the contact; null: none. */
      waitsFor: (erasure: Erasure): Promise<string | null> =>
        tenant(async (db) => {
          if (await hasUnderWay(db, erasure)) return 'the carrier has not reported the outcome of a message';
          return (await isImporting(db, erasureId)) ? 'an earlier import is running' : null;
        }),
    };
  }

  /** The history of a draft's workflow contains texts that operators entered instead of the draft. */
  async function deleteDraftHistories(workspaceId: string, { pseudonyms }: Erasure): Promise<void> {
    const replyIds = await withTenant(pools, workspaceId, (db) => draftsOf(db, pseudonyms));
    for (const replyId of replyIds) {
      await temporal.workflowService
        .deleteWorkflowExecution({
          namespace: temporal.options.namespace,
          workflowExecution: { workflowId: aiDraftId(replyId) },
        })
        .catch((error: unknown) => {
          const code: number | null = isGrpcServiceError(error) ? error.code : null;
          if (code === NOT_FOUND) return;
          logger.warn({ workspaceId, replyId, error }, 'the history of a draft could not be deleted');
        });
    }
  }

  return {
    /** Erases what is stored about a contact whose leads are gone already. */
    async eraseContactData({
      workspaceId,
      erasureId,
    }: {
      workspaceId: string;
      erasureId: string;
    }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        const mayContinue = (): boolean => !canceled.aborted && Date.now() < end;
        const find = () => withTenant(pools, workspaceId, (db) => findErasure(db, erasureId));
        const pass = passOf(workspaceId, erasureId);
        const erasure = await find();
        if (!erasure) return { nextAt: null, reason: 'the contact is erased', ended: true };
        const settledAt = new Date(erasure.requestedAt.getTime() + SETTLED_AFTER_MS);
        const isSettled = currentTime().getTime() >= settledAt.getTime();
        const waitsFor = await pass.waitsFor(erasure);
        // The first pass erases what it can; the last one is made when nothing is under way any more.
        const isFirst = erasure.eventsTo === '';
        const isDone = waitsFor !== null && !isFirst ? true : await pass.run(erasure, mayContinue);
        const isOver = isDone && isSettled && waitsFor === null && (await pass.waitsFor(erasure)) === null;
        if (isOver) await deleteDraftHistories(workspaceId, erasure);
        const look = await decide(
          pools,
          workspaceId,
          contactErasureId(erasureId),
          async (db): Promise<Look> => {
            if (isOver) {
              await finishErasure(db, erasureId);
              return { nextAt: null, reason: 'the contact is erased', ended: true };
            }
            if (!isDone) return { nextAt: currentTime(), reason: 'there is more to erase' };
            const soon = fromNow(waitsFor === null ? 0 : LOOK_EVERY_MS);
            return {
              nextAt: soon > settledAt ? soon : settledAt,
              reason: waitsFor ?? 'work that was in progress may have stored something new',
            };
          },
        );
        return roundOf(look);
      });
    },
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

/** Of gRPC. */
const NOT_FOUND = 5;
