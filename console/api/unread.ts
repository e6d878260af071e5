import { useLiveInterval } from './live.ts';
import { useRead } from './queries.ts';
import { useSession } from './session.ts';

/** How many open conversations the user has not read; 0 while it is not known. */
export function useUnread(): number {
  const session = useSession();
  const { data } = useRead(
    'GET /api/conversations/counts',
    {},
    { enabled: session !== null, refetchInterval: useLiveInterval() },
  );
  return data?.counts.unread ?? 0;
}
