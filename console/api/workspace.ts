import type { ResponseOf } from './routes.ts';
import { useRead } from './queries.ts';

export type Identity = ResponseOf<'GET /api/workspace'>;

/** The current workspace and caller. The shell renders its pages once they are loaded. */
export function useIdentity(): Identity {
  const { data } = useRead('GET /api/workspace', {});
  if (!data) throw new Error('not signed in');
  return data;
}

export const useTimeZone = (): string => useIdentity().workspace.timezone;
