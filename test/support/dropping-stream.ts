import { createServer } from 'node:http';
import { listening } from './lossy-front.ts';

interface Connection {
  /** The id in the header of the response. */
  after?: string;
  body: string;
}

/**
 * An event stream that ends each connection after its body.
 * @param connections in turn; after the last one, it begins again.
 * @returns `resumeIds`: the ids after which clients asked to resume; null: none.
 */
export async function startDroppingStream(connections: readonly Connection[]) {
  const resumeIds: (string | null)[] = [];
  const server = createServer((request, response) => {
    const { after, body } = connections[resumeIds.length % connections.length]!;
    resumeIds.push(request.headersDistinct['last-event-id']?.[0] ?? null);
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      ...(after !== undefined && { 'Last-Event-ID': after }),
    });
    response.write(body, () => request.socket.destroySoon());
  });
  return { url: await listening(server), resumeIds };
}

/** Texts may contain separators that end a line neither in JSON nor in the stream. */
const TEXT = 'one\u2028two\u0085three';

const streamed = (event: string, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify({ event, text: TEXT })}\n\n`;

/** Everything that can be lost with a connection. A client gets `EXPECTED_EVENTS` and sends `EXPECTED_RESUME_IDS`. */
export const LOST_CONNECTIONS: readonly Connection[] = [
  { after: 'a', body: ':\n\n' },
  { after: 'b', body: ':\n\n' },
  { after: 'b', body: streamed('stream.reset') },
  { after: 'b', body: streamed('message.sent', 'c') },
  { after: 'c', body: streamed('message.reply', 'd') },
];

/** The second reset is resumeIds for again, because the first one was lost. */
export const EXPECTED_RESUME_IDS = [null, 'a', 'a', 'b', 'c'];
export const EXPECTED_EVENTS = ['stream.reset', 'message.sent', 'message.reply'];
