import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_SECONDS = 300;

/**
 * Whether a delivery is of the webhook with this secret: https://www.standardwebhooks.com.
 * @param headers of the request, with lower-case names
 */
export function isGenuine(
  secret: string,
  rawBody: Buffer,
  headers: Record<string, string | string[] | undefined>,
  nowSeconds: number,
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof given !== 'string') return false;
  // `not <=`, because a timestamp that is no number is none that is near.
  if (!(Math.abs(nowSeconds - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(rawBody).digest();
  return given.split(' ').some((signature) => {
    const [version, digest = ''] = signature.split(',');
    const bytes = Buffer.from(digest, 'base64');
    return version === 'v1' && bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}
