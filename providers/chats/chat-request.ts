import { boundedFetch } from '../bounded-fetch.ts';
import { connectionFailure } from '../connection-failure.ts';
import { type ChatOutcome, ChatUnavailable } from './chat.ts';

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Posts JSON to a provider. @param signal instead of the usual time limit. @throws ChatUnavailable if there is no response */
type PostToChat = (
  url: string,
  headers: Record<string, string>,
  parameters: object,
  signal?: AbortSignal,
) => Promise<Response>;

/** @param caFile PEM file of the authority of the provider; null: a public one. */
export function chatPoster(caFile: string | null): PostToChat {
  const request = boundedFetch(MAX_RESPONSE_BYTES, caFile);
  return (url, headers, parameters, signal = AbortSignal.timeout(TIMEOUT_MS)) =>
    request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(parameters),
      redirect: 'error',
      signal,
    }).catch((error: unknown) => {
      // Without the error, whose text may contain the URL, of which a token can be a part.
      throw new ChatUnavailable(connectionFailure(error instanceof TypeError ? error.cause : error));
    });
}

/** A delivery to a provider that does not respond is tried again. */
export async function unlessUnavailable(delivery: Promise<ChatOutcome>): Promise<ChatOutcome> {
  try {
    return await delivery;
  } catch (error) {
    if (!(error instanceof ChatUnavailable)) throw error;
    return { kind: 'later', retryAfterMs: null, reason: error.message };
  }
}
