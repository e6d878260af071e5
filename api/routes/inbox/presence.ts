import { PRESENCE_CHANNEL } from '#db/queries/inbox/presence.ts';
import { listen } from '#db/connection/listener.ts';
import { realTime } from '#domain/base/clock.ts';
import { Presence, type PresentPerson } from '#domain/inbox/presence.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { secretContext, type SecretBox } from '#providers/secret-box.ts';

/** Who looks at conversations now. API processes inform each other; it is kept only in memory. */
export interface PresenceBoard {
  /** Whether announcements of other processes arrive, and one's own. */
  readonly isListening: boolean;
  /** Encrypts what `announcePresence` sends. */
  seal(presence: Presence): string;
  /** Replaces `announcePresence` while notifications cannot arrive: only this process knows. */
  set(presence: Presence): void;
  /** Who is there, except for one user. */
  others(conversation: { workspaceId: string; address: string }, userId: string): PresentPerson[];
  /** Calls back with what happens in a workspace. @returns a function that ends the calls. */
  follow(workspaceId: string, onPresence: (presence: Presence) => void): () => void;
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
  const followers = new Map<string, Set<(presence: Presence) => void>>();
  const keyOf = ({ workspaceId, address, userId }: Presence): string =>
    JSON.stringify([workspaceId, address, userId]);
  const isOver = ({ expiresAt }: Presence): boolean => Date.parse(expiresAt) <= realTime().getTime();

  function set(presence: Presence): void {
    const key = keyOf(presence);
    people.delete(key);
    if (presence.state !== 'left') people.set(key, presence);
    for (const [oldest, person] of people) {
      if (people.size <= MAX_PEOPLE && !isOver(person)) break;
      people.delete(oldest);
    }
    for (const tell of followers.get(presence.workspaceId) ?? []) tell(presence);
  }

  const listener = listen(databaseUrl, PRESENCE_CHANNEL, (payload) => {
    const presence = announced(payload, secrets);
    if (presence) set(presence);
  });

  return {
    get isListening() {
      return listener.isListening;
    },
    seal: (presence) => secrets.seal(JSON.stringify(presence), CONTEXT),
    set,
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
    follow(workspaceId, onPresence) {
      const following = followers.get(workspaceId) ?? new Set();
      followers.set(workspaceId, following.add(onPresence));
      return () => {
        following.delete(onPresence);
        if (following.size === 0 && followers.get(workspaceId) === following) followers.delete(workspaceId);
      };
    },
    close: () => listener.close(),
  };
}

/** null: it is empty, of a process of another release, or not of ours. */
function announced(payload: string, secrets: Pick<SecretBox, 'open'>): Presence | null {
  try {
    return Presence.parse(parseOwnJson(secrets.open(payload, CONTEXT)));
  } catch {
    return null;
  }
}
