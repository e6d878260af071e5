import type { Carrier, ConnectionCheck, ConnectionSubject, Finding } from '#providers/carriers/carrier.ts';
import { withoutSecrets } from '#providers/carriers/secret-config.ts';
import type { Egress } from '#providers/egress.ts';
import { truncate } from '#domain/base/text.ts';
import { parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import type { Services } from '#api/services.ts';

/** The time limit of all checks of a connection together. */
export const TEST_TIMEOUT_MS = 15_000;
const CALLBACK_TIMEOUT_MS = 4000;

/** Runs a carrier's checks of settings. No text contains a secret of the settings. */
export async function testConnection(
  carrier: Carrier,
  settings: unknown,
  subject: Omit<ConnectionSubject, 'reachCallbacks'>,
  { egress, config: { publicUrl } }: Pick<Services, 'egress' | 'config'>,
) {
  const found: ConnectionCheck[] = [];
  const { promise: timeout, resolve: giveUp } = Promise.withResolvers<'timeout'>();
  const timer = setTimeout(giveUp, TEST_TIMEOUT_MS, 'timeout');
  const all = { ...subject, reachCallbacks: () => reachCallbacks(publicUrl, egress) };
  const running = carrier.checkConnection(settings, all);
  const checks = running[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([checks.next(), timeout]);
      if (next === 'timeout') {
        found.push({ name: 'time', result: 'unknown', text: 'The other checks took too long. Try again.' });
        break;
      }
      if (next.done) break;
      found.push(next.value);
    }
  } finally {
    clearTimeout(timer);
  }
  return {
    success: true as const,
    works: found.every(({ result }) => result !== 'fail'),
    checks: found.map(({ name, result, text, setting }) => ({
      name,
      result,
      text: firstLine(withoutSecrets(carrier.config, settings, text)),
      field: setting === undefined ? null : setting === 'address' ? setting : `config.${setting}`,
    })),
  };
}

/**
 * Checks whether this installation responds at its public URL, to which carriers report. It asks from here, through the public
 * name: a firewall may let carriers pass and not this process, or the other way round.
 */
async function reachCallbacks(publicUrl: string, egress: Pick<Egress, 'post'>): Promise<Finding> {
  const { error, blocked, body } = await egress.post(`${publicUrl}/callbacks`, {
    headers: { 'content-type': 'application/json' },
    body: '{}',
    timeoutMs: CALLBACK_TIMEOUT_MS,
    maxResponseBytes: 4096,
  });
  if (blocked)
    return {
      result: 'fail',
      text: `A carrier cannot reach ${publicUrl}: ${error}. Set PUBLIC_URL to a public address.`,
    };
  if (error !== null)
    return {
      result: 'unknown',
      text: `${publicUrl} could not be reached from here: ${error}. Check that the internet can reach it.`,
    };
  if (isOurs(body)) return { result: 'pass', text: `This installation answers at ${publicUrl}.` };
  return {
    result: 'unknown',
    text: `From here, something else answers at ${publicUrl}/callbacks. Check that the proxy passes it on to Linepace.`,
  };
}

/** Nothing exists at that path, so only this installation responds with this error. */
function isOurs(body: string): boolean {
  try {
    return (parseUntrustedJson(body) as { code?: unknown }).code === 'NOT_FOUND';
  } catch {
    return false;
  }
}

/** The length of a text that quotes a server: enough to explain a refusal. */
export const firstLine = (text: string): string => truncate(text.split(/\p{Cc}/u, 1)[0] ?? '', 200);
