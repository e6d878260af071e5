import type { Context } from 'koa';
import type { Services } from '../services.ts';
import { clientAddress } from './client-address.ts';
import { ApiError } from './errors.ts';

/** Refuses a callback that its provider has not signed. @throws UNAUTHORIZED; RATE_LIMITED after too many from one client. */
export async function refuseSignature(
  context: Context,
  { rateLimits }: Pick<Services, 'rateLimits'>,
): Promise<never> {
  await rateLimits.countFailure(clientAddress(context));
  throw new ApiError('UNAUTHORIZED', 'The signature does not match');
}
