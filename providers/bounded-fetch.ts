/** A response is larger than expected. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

/**
 * `fetch` for services that the operator configures. It reads the whole response, which fails beyond a size: what answers may not be
 * what was configured.
 * @param maxBytes of the decoded body.
 */
export const boundedFetch =
  (maxBytes: number): typeof fetch =>
  async (...request) => {
    const { body, status, statusText, headers } = await fetch(...request);
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
