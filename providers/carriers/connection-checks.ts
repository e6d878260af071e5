import { connectionFailure } from '../connection-failure.ts';
import type { Exchange } from '../egress-exchange.ts';
import type { Carrier, ConnectionCheck, ConnectionSubject } from './carrier.ts';

export const passed = (name: string, text: string): ConnectionCheck => ({ name, result: 'pass', text });
export const unknown = (name: string, text: string): ConnectionCheck => ({ name, result: 'unknown', text });
export const failed = (name: string, text: string, setting?: string): ConnectionCheck => ({
  name,
  result: 'fail',
  text,
  ...(setting !== undefined && { setting }),
});

/**
 * Whether a server has responded, whatever the response.
 * @param server its name, or host and port, for use in a sentence.
 */
export const serverCheck = (
  server: string,
  { error }: Pick<Exchange, 'error'>,
  setting?: string,
): ConnectionCheck =>
  error === null
    ? passed('server', `${server} responds.`)
    : failed('server', `${server} does not respond: ${connectionFailure(error)}.`, setting);

/** Whether a provider has accepted the credentials. @param said its names of who refuses what, and its reason. */
export function credentialsCheck(
  { status }: Pick<Exchange, 'status'>,
  isAccepted: boolean,
  { who, what, setting, reason }: { who: string; what: string; setting: string; reason: string },
): ConnectionCheck {
  if (isAccepted) return passed('credentials', `${who} accepts ${what}.`);
  return status === 401 || status === 403
    ? failed('credentials', `${who} refuses ${what}: ${reason}.`, setting)
    : unknown('credentials', `${who} did not say whether ${what} is right: ${reason}.`);
}

/** For who only wants to know what the provider says. */
export const notReached: ConnectionSubject['reachCallbacks'] = async () => ({
  result: 'unknown',
  text: 'Not checked.',
});

/**
 * Asks a carrier whether it reports replies to a line at its callback URL, which somebody may have removed there.
 * @returns null if it does not say, or is polled.
 */
export async function reportingCheck(
  carrier: Carrier,
  config: unknown,
  line: Pick<ConnectionSubject, 'lineId' | 'address' | 'callbackUrl'>,
): Promise<ConnectionCheck | null> {
  if (carrier.readInbox) return null;
  const subject = { ...line, reachCallbacks: notReached };
  for await (const check of carrier.checkConnection(config, subject))
    if (check.name === 'callback') return check.result === 'unknown' ? null : check;
  return null;
}
