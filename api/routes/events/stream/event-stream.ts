import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { StreamPosition } from '#db/queries/events/published-events.ts';
import { COMMENT, COMMENT_EVERY_MS } from '#domain/events/event-stream.ts';
import type { Feed } from './feed.ts';

interface EventStreamOptions {
  workspaceId: string;
  /** Events after this position are sent. */
  place: StreamPosition;
  /** The position up to which events are published. */
  published: number;
  /** Sent first. */
  beginning: string;
  feed: Feed;
  logger: Logger;
}

const RETRY_MS = 1000;
const MAX_PASSING = 100;

/**
 * The events of a workspace for one client. It holds one chunk at a time and reads the next one when the client has
 * taken it. So the events that a slow client has not read yet stay in the table and cost no memory.
 */
export class EventStream extends Readable {
  readonly #options: EventStreamOptions;
  readonly #chunks: AsyncGenerator<string | Buffer>;
  #published: number;
  /** Unstored messages, sent as soon as the client reads. */
  #passing: string[] = [];
  #isEnding = false;
  #isReading = false;
  #wake = (): void => {};

  constructor(options: EventStreamOptions) {
    super({ highWaterMark: 1 });
    this.#options = options;
    this.#published = options.published;
    this.#chunks = this.#follow();
  }

  /** Announces that events are published up to a position. */
  tell(published: number): void {
    if (published <= this.#published) return;
    this.#published = published;
    this.#wake();
  }

  /** Sends something that is not stored and cannot be resumed. A client that does not read misses it. */
  show(chunk: string): void {
    if (this.#passing.length >= MAX_PASSING) return;
    this.#passing.push(chunk);
    this.#wake();
  }

  /** Ends the response, so that the client reconnects; at once if the client is not reading. */
  end(): void {
    this.#isEnding = true;
    if (this.#isReading) this.#wake();
    else this.destroy();
  }

  async *#follow(): AsyncGenerator<string | Buffer> {
    const { workspaceId, beginning, feed, logger } = this.#options;
    let { place } = this.#options;
    let commentAt = Date.now() + COMMENT_EVERY_MS;
    yield beginning;
    while (!this.#isEnding) {
      if (Date.now() >= commentAt) {
        yield COMMENT;
        commentAt = Date.now() + COMMENT_EVERY_MS;
      } else if (this.#passing.length > 0) {
        yield this.#passing.splice(0).join('');
      } else if (place.position < this.#published) {
        try {
          const { chunk, next } = await feed.read(workspaceId, place, this.#published);
          place = next;
          if (chunk) yield chunk;
        } catch (error) {
          logger.warn({ error }, 'events of a stream cannot be read for now');
          await this.#rest(RETRY_MS);
        }
      } else {
        await this.#rest(commentAt - Date.now());
      }
    }
  }

  /** Waits for `tell` or `end`, up to the given time. */
  async #rest(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }

  override _read(): void {
    this.#isReading = true;
    this.#chunks.next().then(
      ({ done, value }) => {
        this.#isReading = false;
        this.push(done ? null : value);
      },
      (error: unknown) => this.destroy(error as Error),
    );
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#isEnding = true;
    this.#wake();
    callback(error);
  }
}
