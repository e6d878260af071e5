import type { ResponseOf } from './routes.ts';
import { useRead } from './queries.ts';

export type Identity = ResponseOf<'GET /api/workspace'>;

/** The workspace that is shown, and who is signed in. The shell renders its pages once it is known. */
export function useIdentity(): Identity {
  const { data } = useRead('GET /api/workspace', {});
  if (!data) throw new Error('not signed in');
  return data;
}

export const useTimeZone = (): string => useIdentity().workspace.timezone;
