import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { onSessionChange } from '#console/api/session.ts';
import type { ThreadItem } from './conversations.ts';

/** A reply that is on its way to the API, or that the thread does not show yet. */
export interface Sending {
  address: string;
  text: string;
  /** What was written, if the text is a part of it. */
  whole?: string;
  files: number;
  /** Its `scheduledDate`. */
  at: string;
  /** null: the API has not accepted it yet. */
  messageId: string | null;
}

let replies: readonly Sending[] = [];
const listeners = new Set<() => void>();

function keep(next: typeof replies): void {
  replies = next;
  for (const listener of listeners) listener();
}

// What comes of them is read anew. A reply that was refused because its session had ended is in its box.
onSessionChange(() => keep([]));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function beginSending(reply: Omit<Sending, 'messageId'>): {
  accepted(messageId: string): void;
  refused(): void;
} {
  let own: Sending = { ...reply, messageId: null };
  keep([...replies, own]);
  return {
    accepted(messageId) {
      const before = own;
      own = { ...own, messageId };
      keep(replies.map((one) => (one === before ? own : one)));
    },
    refused: () => keep(replies.filter((one) => one !== own)),
  };
}

/** A message that was taken back is shown as the API shows it. */
export const forgetSending = (messageId: string): void =>
  keep(replies.filter((one) => one.messageId !== messageId));

/** Replies to a contact that the API has not accepted yet, or that are not among its messages yet. */
export function useSending(address: string, messages: readonly ThreadItem[] = []): readonly Sending[] {
  const all = useSyncExternalStore(subscribe, () => replies);
  useEffect(() => {
    const shown = new Set(messages.map(({ messageId }) => messageId));
    const isDone = ({ messageId }: Sending): boolean => messageId !== null && shown.has(messageId);
    if (all.some(isDone)) keep(replies.filter((one) => !isDone(one)));
  }, [all, messages]);
  return useMemo(() => {
    // The thread may be read again before the API has answered with the ID. No reply is sent before its time.
    const isShown = ({ messageId, at, text }: Sending): boolean =>
      messages.some((item) =>
        messageId === null
          ? item.direction === 'out' && item.at >= at && item.message === text
          : item.messageId === messageId,
      );
    return all.filter((one) => one.address === address && !isShown(one));
  }, [all, address, messages]);
}
