import { LinepaceConnectionError, LinepaceError } from './errors.ts';
import { type EventStreamOptions, readEventStream, type StreamedEvent } from './event-stream.ts';
import { createClient } from './generated/client/index.ts';
import { Api } from './generated/sdk.gen.ts';
import { retryingFetch } from './transport.ts';

export interface LinepaceOptions {
  /** A workspace key, an agency key, or a session token. Default: the environment variable `LINEPACE_API_KEY`. */
  apiKey?: string;
  /** Where Linepace runs, such as `https://linepace.example.com`. Default: `LINEPACE_URL`, else `http://localhost:3000`. */
  baseUrl?: string;
  /** A workspace of the signed-in user's agency to act in. */
  workspaceId?: string;
  /** The agency of a signed-in user who belongs to several. */
  agencyId?: string;
  /** How often a request is repeated after a failure that may pass. Default: 2. */
  maxRetries?: number;
  /** For each attempt. Default: 60,000. */
  timeoutMs?: number;
  fetch?: typeof fetch;
}

/**
 * A client of the API. Its methods are grouped and named as in the API reference. Each throws a `LinepaceError` if the
 * response is an error, and a `LinepaceConnectionError` if there is none.
 */
export class Linepace extends Api {
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;
  readonly #baseUrl: string;

  constructor({
    apiKey = environment('LINEPACE_API_KEY'),
    baseUrl = environment('LINEPACE_URL') ?? 'http://localhost:3000',
    workspaceId,
    agencyId,
    maxRetries = 2,
    timeoutMs = 60_000,
    fetch = globalThis.fetch,
  }: LinepaceOptions = {}) {
    if (!apiKey) throw new TypeError('apiKey is required: pass it, or set LINEPACE_API_KEY');
    const root = baseUrl.replace(/\/+$/, '');
    const headers = {
      Authorization: `Bearer ${apiKey}`,
      ...(workspaceId !== undefined && { 'X-Workspace-Id': workspaceId }),
      ...(agencyId !== undefined && { 'X-Agency-Id': agencyId }),
    };
    const client = createClient({
      baseUrl: root,
      headers,
      fetch: retryingFetch({ fetch, maxRetries, timeoutMs }),
      throwOnError: true,
    });
    client.interceptors.error.use((error, response) =>
      response === undefined || error instanceof LinepaceConnectionError
        ? error
        : new LinepaceError(response, error),
    );
    super({ client });
    this.#fetch = fetch;
    this.#headers = headers;
    this.#baseUrl = root;
  }

  /**
   * The events that webhooks get, as they happen:
   *
   *     for await (const { event, data } of linepace.stream()) { … }
   *
   * It resumes by itself when the connection is lost. `lastEventId` resumes an earlier stream, within 30 days.
   */
  stream(options: EventStreamOptions = {}): AsyncGenerator<StreamedEvent, void, undefined> {
    return readEventStream(
      (lastEventId, signal) =>
        this.#fetch(`${this.#baseUrl}/api/events/stream`, {
          headers: { ...this.#headers, ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }) },
          signal,
        }),
      options,
    );
  }
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env: Record<string, string | undefined> } };
  // Empty counts as unset.
  return process?.env[name] || undefined;
}
