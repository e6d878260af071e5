import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { eventually } from './app.ts';

export interface StreamedEvent {
  id: string | null;
  event: string;
  data: string;
}

export interface TestStream {
  status: number;
  header(name: string): string | null;
  /** In order of arrival. */
  events: StreamedEvent[];
  comments: number;
  /** Whether the server has closed the stream. */
  isClosed(): boolean;
  /** Whether it ended the response before, instead of cutting the connection. */
  isComplete(): boolean;
  /** Waits until `count` events have arrived. @returns all events. */
  received(count: number): Promise<StreamedEvent[]>;
  /** Disconnects. */
  close(): void;
}

/** Opens an event stream. @param options.headers default: those of the credential. The body of an error response is not read. */
export async function openEventStream(
  url: string,
  credential: string,
  {
    lastEventId,
    query = '',
    headers = { authorization: `Bearer ${credential}` },
  }: { lastEventId?: string; query?: string; headers?: Record<string, string> } = {},
): Promise<TestStream> {
  const call = request(`${url}/api/events/stream${query}`, {
    agent: false,
    headers: {
      ...headers,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  let closed = false;
  const stream: TestStream = {
    status: response.statusCode ?? 0,
    header: (name) => (response.headers[name.toLowerCase()] as string | undefined) ?? null,
    events: [],
    comments: 0,
    isClosed: () => closed,
    isComplete: () => response.complete,
    async received(count) {
      await eventually(async () => stream.events.length >= count);
      return stream.events;
    },
    close: () => call.destroy(),
  };
  let rest = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => /^(\w*):? ?(.*)$/s.exec(line)?.slice(1) ?? []);
      const field = (name: string): string | null => fields.find(([key]) => key === name)?.[1] ?? null;
      stream.comments += fields.filter(([key]) => key === '').length;
      const data = field('data');
      if (data !== null) stream.events.push({ id: field('id'), event: field('event') ?? 'message', data });
    }
  });
  response.on('error', () => {}).on('close', () => (closed = true));
  call.on('error', () => {});
  return stream;
}
