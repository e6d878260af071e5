import { useRead } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';

export interface Colleague {
  userId: string;
  name: string;
}

/** The members who may answer, the user first. */
export function useColleagues(): Colleague[] {
  const { caller } = useIdentity();
  const { data } = useRead('GET /api/team', {});
  return (data?.members ?? [])
    .map(({ userId, name, email }) => ({ userId, name: name || email || userId }))
    .toSorted((a, b) => Number(b.userId === caller.id) - Number(a.userId === caller.id));
}

/** The id of the signed-in user; null: a key. */
export function useUserId(): string | null {
  const { caller } = useIdentity();
  return caller.type === 'user' ? caller.id : null;
}
