import { z } from 'zod';
import { listOf } from '#domain/base/bounded-schema.ts';
import { MAX_PAGE_BYTES, readOk } from '../http-response.ts';
import { type BlueBubblesApi, type BlueBubblesConfig, reasonOf } from './api.ts';
import { ServerInfo } from './connection.ts';
import { BlueBubblesMessage } from './protocol.ts';

/** How far clocks differ beyond what the server knows of its own, and where it knows nothing. */
export const CLOCK_SKEW_MS = 5 * 60_000;
const UNKNOWN_SKEW_MS = 3_600_000;
const PAGE = 100;

/** The messages of a list, and entries that are none. */
export interface MessagesRead {
  messages: BlueBubblesMessage[];
  unreadable: Unreadable[];
  /** Whether the list has no more. */
  isComplete: boolean;
}
interface Unreadable {
  raw: unknown;
  reason: string;
}

/** The server returns no more, whatever the limit. */
const MAX_LISTED = 1000;
export const MessageList = z.object({
  data: listOf(z.unknown(), MAX_LISTED),
  metadata: z.object({ total: z.number().nullish() }).nullish(),
});

/** How far the times in the server's list may be from ours, in milliseconds. */
export async function clockSkew({ query }: BlueBubblesApi, config: BlueBubblesConfig): Promise<number> {
  const info = readOk(await query(config, '/server/info'), ServerInfo);
  const seconds = info?.data.macos_time_sync;
  return typeof seconds === 'number' ? CLOCK_SKEW_MS + Math.abs(seconds) * 1000 : UNKNOWN_SKEW_MS;
}

/** Reads up to `maxPages` pages of the list of messages. */
export async function readMessages(
  { query }: BlueBubblesApi,
  config: BlueBubblesConfig,
  filter: { after: number; before?: number; sort: 'ASC' | 'DESC' },
  maxPages: number,
): Promise<MessagesRead | { failure: string }> {
  const messages: BlueBubblesMessage[] = [];
  const unreadable: Unreadable[] = [];
  let offset = 0;
  for (let page = 0; page < maxPages; page += 1) {
    const response = await query(config, '/message/query', {
      body: { ...filter, limit: PAGE, offset, with: ['chat', 'chat.participants', 'attachment'] },
      maxBytes: MAX_PAGE_BYTES,
    });
    const list = readOk(response, MessageList);
    if (!list) return { failure: reasonOf(response) };
    for (const raw of list.data) {
      const { data, error } = BlueBubblesMessage.safeParse(raw);
      if (data) messages.push(data);
      else unreadable.push({ raw, reason: z.prettifyError(error) });
    }
    offset += list.data.length;
    const total = list.metadata?.total;
    const isLast = typeof total === 'number' ? offset >= total : list.data.length < PAGE;
    if (isLast || list.data.length === 0)
      return { messages, unreadable, isComplete: isLast || typeof total !== 'number' };
  }
  return { messages, unreadable, isComplete: false };
}
