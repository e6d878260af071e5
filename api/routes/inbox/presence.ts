import { announcePresence, PRESENCE_CHANNEL } from '#db/queries/inbox/presence.ts';
import { listen } from '#db/connection/listener.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { realTime } from '#domain/base/clock.ts';
import { type Presence, PRESENCE_EVENT, type PresentPerson, Seen } from '#domain/inbox/presence.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { secretContext, type SecretBox } from '#providers/secret-box.ts';

/** Who looks at conversations now, or types. API processes inform each other; it is kept only in memory. */
export interface PresenceBoard {
  /** Tells all processes once the transaction is committed. While notifications cannot arrive, only this process knows, at once. */
  tell(db: TenantDb, seen: Seen): Promise<void>;
  /** Who is there, except for one user. */
  others(conversation: { workspaceId: string; address: string }, userId: string): PresentPerson[];
  /** Calls back with what happens in a workspace. @returns a function that ends the calls. */
  follow(workspaceId: string, onSeen: (seen: Seen) => void): () => void;
  close(): Promise<void>;
}

/** The maximum number of people that a process remembers, to bound its memory. */
const MAX_PEOPLE = 10_000;

/** All API processes have the same keys, and no database login has any. */
const CONTEXT = secretContext('presence', 'all', 'processes');

export function createPresenceBoard(
  databaseUrl: string,
  secrets: Pick<SecretBox, 'seal' | 'open'>,
): PresenceBoard {
  /** By workspace, address and user; the last one heard of at the end. */
  const people = new Map<string, Presence>();
  const followers = new Map<string, Set<(seen: Seen) => void>>();
  const keyOf = ({ workspaceId, address, userId }: Presence): string =>
    JSON.stringify([workspaceId, address, userId]);
  const isOver = ({ expiresAt }: Presence): boolean => Date.parse(expiresAt) <= realTime().getTime();

  function remember(presence: Presence): void {
    const key = keyOf(presence);
    people.delete(key);
    if (presence.state !== 'left') people.set(key, presence);
    for (const [oldest, person] of people) {
      if (people.size <= MAX_PEOPLE && !isOver(person)) break;
      people.delete(oldest);
    }
  }

  function set(seen: Seen): void {
    if (seen.event === PRESENCE_EVENT) remember(seen);
    for (const tell of followers.get(seen.workspaceId) ?? []) tell(seen);
  }

  const listener = listen(databaseUrl, PRESENCE_CHANNEL, (payload) => {
    const seen = announced(payload, secrets);
    if (seen) set(seen);
  });

  return {
    async tell(db, seen) {
      if (listener.isListening) await announcePresence(db, secrets.seal(JSON.stringify(seen), CONTEXT));
      else set(seen);
    },
    others: ({ workspaceId, address }, userId) =>
      [...people.values()]
        .filter(
          (person) =>
            person.workspaceId === workspaceId &&
            person.address === address &&
            person.userId !== userId &&
            !isOver(person),
        )
        .map((person) => ({
          userId: person.userId,
          name: person.name,
          state: person.state,
          expiresAt: person.expiresAt,
        })),
    follow(workspaceId, onSeen) {
      const following = followers.get(workspaceId) ?? new Set();
      followers.set(workspaceId, following.add(onSeen));
      return () => {
        following.delete(onSeen);
        if (following.size === 0 && followers.get(workspaceId) === following) followers.delete(workspaceId);
      };
    },
    close: () => listener.close(),
  };
}

/** null: it is empty, of a process of another release, or not of ours. */
function announced(payload: string, secrets: Pick<SecretBox, 'open'>): Seen | null {
  try {
    return Seen.parse(parseOwnJson(secrets.open(payload, CONTEXT)));
  } catch {
    return null;
  }
}
