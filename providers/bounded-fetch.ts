import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent, fetch as fetchWith } from 'undici';

/** A response is larger than expected. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

/** `fetch` that trusts the certificates of an authority in a PEM file as well; null: only those of the public ones. */
function trusting(caFile: string | null): typeof fetch {
  if (caFile === null) return fetch;
  const dispatcher = new Agent({ connect: { ca: [...rootCertificates, readFileSync(caFile, 'utf8')] } });
  const request = fetchWith as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => request(input, { ...init, dispatcher });
}

/**
 * `fetch` for services that the operator configures. It reads the whole response, which fails beyond a size: what answers may not be
 * what was configured.
 * @param maxBytes of the decoded body.
 * @param caFile PEM file of the authority of the service; null: a public one.
 */
export function boundedFetch(maxBytes: number, caFile: string | null = null): typeof fetch {
  const send = trusting(caFile);
  return async (...request) => {
    const { body, status, statusText, headers } = await send(...request);
    if (body === null) return new Response(null, { status, statusText, headers });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      // Leaving the loop cancels the response.
      if (size > maxBytes) throw new ResponseTooLarge(`the response has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return new Response(Buffer.concat(chunks), { status, statusText, headers });
  };
}
