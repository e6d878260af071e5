import type { Webhooks as WebhookRequests } from './generated/types.gen.ts';

/** An event, by its name in `event`. */
export type WebhookEvent = WebhookRequests['body'];

/** The delivery is not signed with the secret, or is too old. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

export interface UnwrapOptions {
  /** How far the timestamp may be from this computer's time. Default: 300. */
  toleranceSeconds?: number;
}

type Headers_ = Headers | Record<string, string | readonly string[] | undefined>;

export const webhooks = {
  /**
   * Verifies a delivery, by the Standard Webhooks scheme, and parses its event.
   * @param body the body as it was received: parsing and writing it again changes its bytes.
   * @param secret `whsec_…`, from the registration of the webhook.
   * @throws WebhookVerificationError
   */
  async unwrap(
    body: string | Uint8Array,
    headers: Headers_,
    secret: string,
    { toleranceSeconds = 300 }: UnwrapOptions = {},
  ): Promise<WebhookEvent> {
    const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
      headerOf(headers, name),
    );
    if (!id || !timestamp || !signatures) throw new WebhookVerificationError('The headers are missing');
    const age = Math.abs(Date.now() / 1000 - Number(timestamp));
    if (!(age <= toleranceSeconds)) throw new WebhookVerificationError('The timestamp is too far from now');

    const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
    const key = await crypto.subtle.importKey(
      'raw',
      bytesOf(secret.replace(/^whsec_/, '')),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['verify'],
    );
    const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
    for (const signature of signatures.split(' ')) {
      const [version, value = ''] = signature.split(',');
      // Compares in constant time.
      if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, bytesOf(value), signed)))
        return JSON.parse(text) as WebhookEvent;
    }
    throw new WebhookVerificationError('No signature matches');
  },
};

function headerOf(headers: Headers_, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.[0];
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw new WebhookVerificationError('The secret or the signature is not base64');
  }
}
