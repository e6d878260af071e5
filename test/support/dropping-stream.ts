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
 * @returns `asked`: the ids after which clients wanted to continue, null for none.
 */
export async function startDroppingStream(connections: readonly Connection[]) {
  const asked: (string | null)[] = [];
  const server = createServer((request, response) => {
    const { after, body } = connections[asked.length % connections.length]!;
    asked.push(request.headersDistinct['last-event-id']?.[0] ?? null);
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      ...(after !== undefined && { 'Last-Event-ID': after }),
    });
    response.write(body, () => request.socket.destroySoon());
  });
  return { url: await listening(server), asked };
}

/** Contacts also write separators that are no line breaks in JSON, and none of the stream. */
const TEXT = 'one\u2028two\u0085three';

const streamed = (event: string, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify({ event, text: TEXT })}\n\n`;

/** Everything that can be lost with a connection. A client sees `EVENTS_OF_DROPS` and asks for `ASKED_OF_DROPS`. */
export const DROPS: readonly Connection[] = [
  { after: 'a', body: ':\n\n' },
  { after: 'b', body: ':\n\n' },
  { after: 'b', body: streamed('stream.reset') },
  { after: 'b', body: streamed('message.sent', 'c') },
  { after: 'c', body: streamed('message.reply', 'd') },
];

/** The second reset is asked for again, because the first one was lost. */
export const ASKED_OF_DROPS = [null, 'a', 'a', 'b', 'c'];
export const EVENTS_OF_DROPS = ['stream.reset', 'message.sent', 'message.reply'];
