import { LinepaceError } from './errors.ts';
import { backoff, pause } from './transport.ts';
import type { WebhookEvent } from './webhooks.ts';

export interface StreamedEvent {
  /** To resume after this event. Empty for `stream.reset`. */
  id: string;
  /** `stream.reset` if events were missed, because the stream was away for longer than they are kept. */
  event: WebhookEvent['event'] | 'stream.reset';
  data: WebhookEvent;
}

export interface EventStreamOptions {
  /** The `id` of the last event that was handled. Without it, the stream begins with what happens next. */
  lastEventId?: string;
  signal?: AbortSignal;
}

/** The server sends a comment every 15 seconds. */
const SILENCE_MS = 45_000;

/**
 * Reads the event stream, and resumes it where it ended whenever the connection is lost. It ends when `signal` is aborted.
 * @throws LinepaceError if the server refuses the request, for example because the key was revoked.
 */
export async function* readEventStream(
  connect: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>,
  { lastEventId, signal = new AbortController().signal }: EventStreamOptions = {},
): AsyncGenerator<StreamedEvent, void, undefined> {
  // The server treats an empty id as none.
  let last = lastEventId === '' ? undefined : lastEventId;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    const silence = new AbortController();
    try {
      const response = await connect(last, AbortSignal.any([signal, silence.signal]));
      if (!response.ok) throw new LinepaceError(response, await response.json().catch(() => null));
      // The position before the first event. Without it, a connection that is lost before its first event would lose the events
      // until the next connection.
      const start = response.headers.get('Last-Event-ID') ?? undefined;
      last ??= start;
      for await (const event of eventsOf(response, silence)) {
        attempt = 0;
        // Not before the reset has arrived: if it is lost, the old id makes the server send it again.
        if (event.event === 'stream.reset') last = start ?? last;
        else if (event.id !== '') last = event.id;
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LinepaceError && error.status < 500 && error.status !== 429) throw error;
    }
    await pause(backoff(attempt), signal).catch(() => {});
  }
}

async function* eventsOf({ body }: Response, silence: AbortController): AsyncGenerator<StreamedEvent> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let buffer = '';
  try {
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (buffer + value).split('\n\n');
      buffer = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event) yield event;
      }
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {});
  }
}

/** @returns null for a comment. */
function parseBlock(block: string): StreamedEvent | null {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    // The flag `s` lets `.` match U+2028, which JSON does not escape.
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    fields[name] = value;
  }
  const { id = '', event, data } = fields;
  if (event === undefined || data === undefined) return null;
  return { id, event: event as StreamedEvent['event'], data: JSON.parse(data) as WebhookEvent };
}
