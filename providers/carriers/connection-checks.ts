import { connectionFailure } from '../connection-failure.ts';
import type { Exchange } from '../egress-exchange.ts';
import type { ConnectionCheck } from './carrier.ts';

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
