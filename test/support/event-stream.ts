import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { eventually } from './app.ts';

export interface StreamedEvent {
  id: string | null;
  event: string;
  data: string;
  /** When it arrived. */
  at: number;
}

export interface TestStream {
  status: number;
  header(name: string): string | null;
  /** In the order of their arrival. */
  events: StreamedEvent[];
  comments: number;
  /** The server has ended it, cleanly or not. */
  isOver(): boolean;
  /** Waits for so many events. @returns them all. */
  received(count: number): Promise<StreamedEvent[]>;
  /** Disconnects. */
  close(): void;
}

/** Opens an event stream as a client does. The body of a refusal is not read. */
export async function openEventStream(
  url: string,
  credential: string,
  { lastEventId, query = '' }: { lastEventId?: string; query?: string } = {},
): Promise<TestStream> {
  const call = request(`${url}/api/events/stream${query}`, {
    agent: false,
    headers: {
      authorization: `Bearer ${credential}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  let over = false;
  const stream: TestStream = {
    status: response.statusCode ?? 0,
    header: (name) => (response.headers[name.toLowerCase()] as string | undefined) ?? null,
    events: [],
    comments: 0,
    isOver: () => over,
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
      if (data !== null)
        stream.events.push({ id: field('id'), event: field('event') ?? 'message', data, at: Date.now() });
    }
  });
  response.on('error', () => {}).on('close', () => (over = true));
  call.on('error', () => {});
  return stream;
}
