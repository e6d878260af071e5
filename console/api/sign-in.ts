import { headersOf, send } from './client.ts';
import { keyOf, queryClient } from './queries.ts';
import { endedSession, type Session, setSession } from './session.ts';
import type { Identity } from './workspace.ts';

/** Signs in. The page of a session that ended by itself goes on for the same person in the same workspace. */
export async function signInAs(next: Session): Promise<void> {
  const left = endedSession();
  const known = queryClient.getQueryData<Identity>(keyOf('GET /api/workspace', {}));
  if (!left || !known) return setSession(next);
  const back: Session = {
    ...next,
    workspaceId: left.workspaceId ?? next.workspaceId,
    ...(left.first && { first: left.first }),
  };
  const found = await identityOf(back).catch(() => null);
  const isSame = found?.workspace._id === known.workspace._id && found.caller.id === known.caller.id;
  return isSame ? setSession(back, 'resumed') : setSession(next);
}

/** @throws ApiFailure */
const identityOf = async (session: Session): Promise<Identity> =>
  (await (await send('GET', '/api/workspace', { headers: headersOf(session) })).json()) as Identity;
