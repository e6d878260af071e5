import type { EventName } from './event.ts';
import type { Seen } from '../inbox/presence.ts';

/** Streams that one key or user may have open at a time. */
export const STREAMS_PER_HOLDER = 20;

/** After this time without any other data, a comment shows that the connection is alive. */
export const COMMENT_EVERY_MS = 15_000;

/** A stream can be resumed from an event of this age. */
export const RESUMABLE_MS = 30 * 86_400_000;

/** The name of the event that says that a stream cannot be resumed: events may be missing. */
const RESET_EVENT = 'stream.reset';

/** A comment, which clients ignore. */
export const COMMENT = ':\n\n';

/**
 * An event in the format of Server-Sent Events; '' if it was deleted or erased.
 * @param body JSON on one line.
 */
export const formatEvent = ({
  id,
  event,
  body,
}: {
  id: string;
  event: EventName | null;
  body: string | null;
}) => (event === null || body === null ? '' : `id: ${id}\nevent: ${event}\ndata: ${body}\n\n`);

/** Without an id, because it is not stored. */
export const formatPresence = (body: Seen): string =>
  `event: ${body.event}\ndata: ${JSON.stringify(body)}\n\n`;

/** Without an id: a client that reconnects before the next event is told again. */
export const formatReset = (body: object): string =>
  `event: ${RESET_EVENT}\ndata: ${JSON.stringify({ event: RESET_EVENT, ...body })}\n\n`;
