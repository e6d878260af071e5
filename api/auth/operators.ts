import type { Context } from 'koa';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import type { Config } from '#domain/base/config.ts';
import { clientAddress } from '../http/client-address.ts';
import { ApiError } from '../http/errors.ts';
import type { Services } from '../services.ts';
import { authenticateUser } from './authenticate.ts';
import { BACKGROUND_HEADER, SESSION_HEADER } from './user-sessions.ts';

/** What the users in `OPERATORS` see beside their workspace. */
interface Operations {
  /** What precedes the id of a workflow in the address of its page in the Temporal UI; null: it is not configured. */
  workflowsUrl: string | null;
}

/** @returns null: the caller does not operate the installation. */
export function operationsFor(
  { via, userId }: Pick<WorkspaceCaller, 'via' | 'userId'>,
  { operators, temporalUi, temporal: { namespace } }: Pick<Config, 'operators' | 'temporalUi' | 'temporal'>,
): Operations | null {
  if (via !== 'session' || userId === null || operators?.includes(userId) !== true) return null;
  return { workflowsUrl: temporalUi && `${temporalUi}/namespaces/${namespace}/workflows/` };
}

/**
 * The id of the user who sends the request, who may be in no workspace.
 * @param operators the users who may.
 * @throws UNAUTHORIZED, SESSION_REQUIRED, OPERATOR_REQUIRED, RATE_LIMITED, UNAVAILABLE
 */
export async function requireOperator(
  context: Context,
  services: Services,
  operators: readonly string[] | null,
): Promise<string> {
  const request = {
    authorization: context.get('authorization'),
    path: context.path,
    cookies: context.get('cookie'),
    sessionId: context.get(SESSION_HEADER),
    inBackground: context.get(BACKGROUND_HEADER) !== '',
    client: () => clientAddress(context),
  };
  const { userId } = await authenticateUser(request, services);
  if (operators?.includes(userId) !== true) throw new ApiError('OPERATOR_REQUIRED');
  return userId;
}
