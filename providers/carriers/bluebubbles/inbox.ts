import { z } from 'zod';
import { toStorable, truncate } from '#domain/base/text.ts';
import { sanitizeEvents } from '#domain/lines/carrier-event.ts';
import type { Carrier, InboxItem } from '../carrier.ts';
import { readOk } from '../http-response.ts';
import { type BlueBubblesApi, type BlueBubblesConfig, reasonOf } from './api.ts';
import { eventsOf } from './callback.ts';
import { CLOCK_SKEW_MS, MessageList, type MessagesRead, readMessages } from './message-list.ts';
import { BlueBubblesMessage } from './protocol.ts';
import { remember } from './remember.ts';

/** Pages of a batch. */
const INBOX_PAGES = 10;
const OVERLAP_MS = 30 * 60_000;
const DEEP_MS = 3 * 86_400_000;
const DEEP_EVERY_MS = 3_600_000;

/** Reads what the server has not reported, or has reported in vain. */
export function createInbox(
  api: BlueBubblesApi,
  clock: () => Date,
): Required<Pick<Carrier<BlueBubblesConfig>, 'readInbox'>> {
  /** When a line's messages of the last days were last read, by server and line. */
  const readDeeply = new Map<string, number>();
  /** Up to when they are read, where a batch does not suffice, by what was begun. */
  const readUntil = new Map<string, number>();

  return {
    /**
     * The server reports each event once and ignores whether anybody received it, so its list is read as well. Messages of the last
     * half hour, and now and then of the last days, are read again: they may have been delivered, read or edited since, and one that
     * reaches the Mac late has an early date.
     */
    async readInbox(config, from) {
      const position = from === null ? null : readPosition(from);
      if (!position) {
        const newest = await newestMessage(api, config, clock().getTime());
        return {
          read: [{ events: [], position: writePosition({ since: newest, seen: newest }) }],
          more: false,
        };
      }
      const { since, seen } = position;
      const key = `${config.url} ${config.callbackSecret}`;
      const isDeep = (readDeeply.get(key) ?? 0) < clock().getTime() - DEEP_EVERY_MS;
      const begun = `${key} ${isDeep}`;
      const start = Math.max(since, seen - (isDeep ? DEEP_MS : OVERLAP_MS));
      const after = Math.max(start, readUntil.get(begun) ?? 0);
      const read = await readMessages(api, config, { after, sort: 'ASC' }, INBOX_PAGES);
      if ('failure' in read) throw new Error(read.failure);
      const at = clock().getTime();
      return {
        read: itemsOf(read, config.url, position, clock()),
        more: !read.isComplete,
        stored() {
          if (read.isComplete) readUntil.delete(begun);
          // As many as a batch has may be of the same moment.
          else remember(readUntil, begun, Math.max(lastOf(read) ?? after, after + 1));
          if (isDeep && read.isComplete) remember(readDeeply, key, at);
        },
      };
    },
  };
}

/** The time of the newest message; if there is none, shortly before now. */
async function newestMessage(
  { query }: BlueBubblesApi,
  config: BlueBubblesConfig,
  now: number,
): Promise<number> {
  const response = await query(config, '/message/query', { body: { limit: 1, sort: 'DESC' } });
  const list = readOk(response, MessageList);
  if (!list) throw new Error(reasonOf(response));
  const newest = BlueBubblesMessage.safeParse(list.data[0]).data?.dateCreated;
  return newest ? Math.min(newest + 1, now) : now - CLOCK_SKEW_MS;
}

/** Times of the Mac, in milliseconds: the first message that counts was created at `since`, the last one that was read at `seen`. */
interface Position {
  since: number;
  seen: number;
}

const writePosition = ({ since, seen }: Position): string => `${since}-${seen}`;

/** @returns null if it belongs to another carrier that the line was connected to. */
function readPosition(text: string): Position | null {
  const [, since, seen] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  return since === undefined ? null : { since: Number(since), seen: Number(seen) };
}

/** When the last of some messages was created; undefined: nobody knows. */
const lastOf = ({ messages }: MessagesRead): number | undefined =>
  messages.findLast(({ dateCreated }) => typeof dateCreated === 'number')?.dateCreated ?? undefined;

/** One item for each message. Most were stored before, and leave the position as it is. */
function itemsOf(
  { messages, unreadable }: MessagesRead,
  url: string,
  { since, seen }: Position,
  now: Date,
): InboxItem[] {
  let last = seen;
  const skip = (raw: unknown, reason: string): InboxItem => ({
    events: [],
    position: writePosition({ since, seen: last }),
    unreadable: { reference: referenceOf(raw), reason: truncate(reason, MAX_REASON) },
  });
  const read = messages.flatMap((message) => {
    // One without a date is listed because it is new.
    const at = message.dateCreated ?? now.getTime();
    if (at < since) return [];
    try {
      const events = sanitizeEvents(eventsOf(message, { baseUrl: url, mayBeByHand: true, now }), now);
      // A clock that is ahead must not hide what comes after it is set.
      last = Math.max(last, Math.min(at, now.getTime()));
      return [{ events, position: writePosition({ since, seen: last }) }];
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      return [skip(message, z.prettifyError(error))];
    }
  });
  return [...read, ...unreadable.map(({ raw, reason }) => skip(raw, reason))];
}

const MAX_REASON = 500;

const referenceOf = (raw: unknown): string =>
  z.object({ guid: z.string().max(100).transform(toStorable) }).safeParse(raw).data?.guid ?? 'unknown';
