import { setTimeout as pause } from 'node:timers/promises';

/** A client that follows the event stream of a workspace, and resumes whenever the connection ends or stays silent. */
export interface StreamReader {
  /** The events that arrived, by id, with how often. */
  readonly events: ReadonlyMap<string, number>;
  /** How often a stream began with `stream.reset`: events may be missing. */
  readonly resets: number;
  /** Settles when the first stream is open. */
  readonly opened: Promise<void>;
  stop(): Promise<void>;
}

const RETRY_MS = 1000;
/** A comment comes every 15 seconds. */
const SILENCE_MS = 40_000;

export function followStream(baseUrl: string, key: string): StreamReader {
  const events = new Map<string, number>();
  const opened = Promise.withResolvers<void>();
  const stopping = new AbortController();
  let last: string | null = null;
  let resets = 0;

  function take(block: string, start: string | null): void {
    const lines = block.split('\n');
    const field = (name: string) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const [id, event] = [field('id'), field('event')];
    if (event === 'stream.reset') {
      resets += 1;
      last = start;
    }
    if (id === undefined) return;
    events.set(id, (events.get(id) ?? 0) + 1);
    last = id;
  }

  async function read(): Promise<void> {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), SILENCE_MS);
    try {
      const response = await fetch(`${baseUrl}/api/events/stream`, {
        headers: { authorization: `Bearer ${key}`, ...(last !== null && { 'last-event-id': last }) },
        signal: AbortSignal.any([stopping.signal, silent.signal]),
      });
      if (response.status !== 200 || !response.body) return void (await response.text());
      const start = response.headers.get('last-event-id');
      last ??= start;
      opened.resolve();
      let rest = '';
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), SILENCE_MS);
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) take(block, start);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async function follow(): Promise<void> {
    while (!stopping.signal.aborted) {
      await read().catch(() => {});
      await pause(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }
  const ended = follow();
  return {
    events,
    get resets() {
      return resets;
    },
    opened: opened.promise,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
