import type { EventPayload } from '#domain/events/payloads.ts';
import type { ContactTyping } from '#domain/inbox/presence.ts';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { useEffect, useSyncExternalStore } from 'react';
import { ApiFailure, send } from './client.ts';
import { hasFewPages, refreshReads } from './queries.ts';
import type { ReadEndpoint, ResponseOf } from './routes.ts';
import { useIdentity } from './workspace.ts';

/** The refetch interval of queries without a connection. */
const POLL_MS = 5000;
/** Events come in bursts, so queries are refetched at most once in this time. */
const REFRESH_EVERY_MS = 2000;
/** There is no event for delivery receipts, so messages are refetched this long after `message.sent`. */
const RECEIPTS_AFTER_MS = [3000, 15_000];
/** A restart of the API takes less. */
const LOST_AFTER_MS = 8000;
const RETRY_MS = { first: 1000, most: 30_000, refused: 60_000 };

/** The endpoints that events affect. Without analytics, because each request counts all messages. */
const CHANGED_BY: readonly (readonly [prefix: string, endpoints: readonly ReadEndpoint[]])[] = [
  ...['message.reply', 'message.sent', 'message.ai_draft', 'conversation.', 'contact.', 'line.'].map(
    (prefix) => [prefix, ['GET /api/conversations/counts', 'GET /api/attention']] as const,
  ),
  ['message.ai_draft', ['GET /api/knowledge-base/auto-replies']],
  ['contact.opt_out_suspected', ['GET /api/opt-outs/suspected', 'GET /api/compliance']],
  [
    'conversation.',
    ['GET /api/conversations', 'GET /api/conversations/{address}', 'GET /api/conversations/{address}/notes'],
  ],
  // A STOP confirms a suspected opt-out.
  ['message.reply', ['GET /api/opt-outs/suspected', 'GET /api/opt-outs/history', 'GET /api/compliance']],
  // A newer reply supersedes the draft for an older one.
  ['message.reply', ['GET /api/knowledge-base/auto-replies']],
  [
    'message.',
    [
      'GET /api/conversations',
      'GET /api/conversations/{address}',
      'GET /api/leads/{id}/timeline',
      'GET /api/messages',
      'GET /api/messages/{id}',
      'GET /api/messages/{id}/timeline',
      'GET /api/lines/by-user',
      'GET /api/lines/{id}/pace',
      'GET /api/workspace/setup',
    ],
  ],
];

export type ReplyEvent = EventPayload<'message.reply'>;

const replyListeners = new Set<(event: ReplyEvent) => void>();

/** Calls back when a contact has written, in one tab of the browser. @returns a function that ends the calls. */
export function onReply(listener: (event: ReplyEvent) => void): () => void {
  replyListeners.add(listener);
  return () => void replyListeners.delete(listener);
}

export type PresenceEvent = ResponseOf<'POST /api/conversations/{address}/presence'>['others'][number] & {
  address: string;
};

const presenceListeners = new Set<(event: PresenceEvent) => void>();

/** Calls back when somebody looks at a conversation, answers it or leaves it. @returns a function that ends the calls. */
export function onPresence(listener: (event: PresenceEvent) => void): () => void {
  presenceListeners.add(listener);
  return () => void presenceListeners.delete(listener);
}

const typingListeners = new Set<(event: ContactTyping) => void>();

/** Calls back when a contact begins or ends to type. @returns a function that ends the calls. */
export function onContactTyping(listener: (event: ContactTyping) => void): () => void {
  typingListeners.add(listener);
  return () => void typingListeners.delete(listener);
}

let connected = false;
const listeners = new Set<() => void>();
/** Events have arrived, and have not for so long that what is shown may be old. */
let isLost = false;
let losing: ReturnType<typeof setTimeout> | undefined;

const tellListeners = (): void => {
  for (const listener of listeners) listener();
};

function setConnected(next: boolean): void {
  if (next || connected) clearTimeout(losing);
  if (next) isLost = false;
  else if (connected)
    losing = setTimeout(() => {
      isLost = true;
      tellListeners();
    }, LOST_AFTER_MS);
  connected = next;
  tellListeners();
}

/** Whether the browser is offline, or the API has not been reached for some seconds. */
export const useIsCutOff = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      window.addEventListener('online', listener);
      window.addEventListener('offline', listener);
      return () => {
        listeners.delete(listener);
        window.removeEventListener('online', listener);
        window.removeEventListener('offline', listener);
      };
    },
    () => isLost || !navigator.onLine,
  );

/**
 * The refetch interval of a query whose result may change at any time: none while events arrive, else a few seconds.
 * `useRead('GET /api/conversations', {}, { refetchInterval: useLiveInterval() })`
 */
export const useLiveInterval = (): number | false =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connected,
  )
    ? false
    : POLL_MS;

/**
 * Follows the events of the workspace while the component is shown. Of all tabs in which the caller is signed in to the
 * workspace, the one shown last has the connection, because browsers allow only six to a server and phones suspend hidden tabs.
 */
export function useLiveEvents(): void {
  const { workspace, caller } = useIdentity();
  const name = `linepace follows ${workspace._id} ${caller.id}`;
  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const stream: Stream = { lastEventId: '', changes: collectChanges(signal) };
    if ('locks' in navigator) void takeTurns(name, stream, signal);
    else void follow(stream, signal);
    return () => {
      stopping.abort();
      setConnected(false);
    };
  }, [name]);
}

interface Stream {
  lastEventId: string;
  changes: ReturnType<typeof collectChanges>;
  /** To the other tabs. */
  channel?: BroadcastChannel;
}

/** Not of the API: the connection is open, after the event of the id. */
const OPEN = 'open';
/** Not of the API either: the connection is lost. */
const LOST = 'lost';

/** Follows the stream while the tab holds a lock: once it is shown, or once the tab that had it is closed. */
async function takeTurns(name: string, stream: Stream, signal: AbortSignal): Promise<void> {
  const channel = new BroadcastChannel(name);
  stream.channel = channel;
  let leads = false;
  let waiting = new AbortController();
  let following = new AbortController();
  channel.addEventListener('message', ({ data }: MessageEvent<EventSourceMessage>) => {
    // Only now that another tab has a connection, so that no event comes between the two.
    if (data.event === OPEN) following.abort();
    hear(data, stream);
  });
  document.addEventListener('visibilitychange', () => !document.hidden && !leads && waiting.abort(), {
    signal,
  });
  signal.addEventListener('abort', () => {
    channel.close();
    waiting.abort();
    following.abort();
  });
  for (let steal = !document.hidden; !signal.aborted; steal = !leads) {
    leads = steal;
    waiting = new AbortController();
    try {
      await navigator.locks.request(name, steal ? { steal } : { signal: waiting.signal }, () => {
        leads = true;
        following.abort();
        following = new AbortController();
        return signal.aborted ? undefined : follow(stream, following.signal);
      });
    } catch (error) {
      // Otherwise it was stolen, or the tab is shown.
      if (error instanceof Error && error.name === 'AbortError') continue;
      // The browser blocks storage, and locks with it.
      delete stream.channel;
      return follow(stream, signal);
    }
  }
}

async function follow(stream: Stream, signal: AbortSignal): Promise<void> {
  const tell = (event: EventSourceMessage): void => {
    if (signal.aborted) return;
    stream.channel?.postMessage(event);
    hear(event, stream);
  };
  let retryMs = RETRY_MS.first;
  while (!signal.aborted) {
    try {
      const { lastEventId } = stream;
      const headers = lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId };
      const response = await send('GET', '/api/events/stream?presence=true', { signal, headers });
      retryMs = RETRY_MS.first;
      tell({ event: OPEN, id: response.headers.get('last-event-id') ?? lastEventId, data: '' });
      await readEvents(response, (event) => {
        tell(event);
        if (event.event === 'message.reply' && replyListeners.size > 0) {
          const reply = JSON.parse(event.data) as ReplyEvent;
          for (const listener of replyListeners) listener(reply);
        }
      });
    } catch (error) {
      const isRefused = error instanceof ApiFailure && error.status >= 400 && error.status < 500;
      retryMs = isRefused ? RETRY_MS.refused : Math.min(RETRY_MS.most, retryMs * 2);
    }
    tell({ event: LOST, data: '' });
    await pause(retryMs, signal);
  }
}

/** Takes up an event, which this tab or another one has received. */
function hear({ id, event = '', data }: EventSourceMessage, stream: Stream): void {
  const { lastEventId, changes } = stream;
  stream.lastEventId = id ?? lastEventId;
  if (event === OPEN) {
    setConnected(true);
    // For events from before the connection.
    if (lastEventId === '' || lastEventId !== id) changes.all();
  } else if (event === LOST) setConnected(false);
  else if (event === 'conversation.presence') {
    const presence = JSON.parse(data) as PresenceEvent;
    for (const tell of presenceListeners) tell(presence);
  } else if (event === 'conversation.typing') {
    const typing = JSON.parse(data) as ContactTyping;
    for (const tell of typingListeners) tell(typing);
  } else if (event === 'stream.reset') changes.all();
  else changes.add(event);
}

async function readEvents(response: Response, onEvent: (event: EventSourceMessage) => void): Promise<void> {
  const parser = createParser({ onEvent });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
    parser.feed(part.value);
}

/** Refetches what has changed: for the first change at once, for others in quick succession together. */
function collectChanges(signal: AbortSignal) {
  const changed = new Set<ReadEndpoint>();
  let isWaiting = false;
  const refresh = async (): Promise<void> => {
    if (isWaiting) return;
    isWaiting = true;
    while (changed.size > 0 && !signal.aborted) {
      const endpoints = [...changed];
      changed.clear();
      void refreshReads(endpoints, hasFewPages);
      await pause(REFRESH_EVERY_MS, signal);
    }
    isWaiting = false;
  };
  const change = (event: string): void => {
    for (const [prefix, endpoints] of CHANGED_BY) {
      if (event.startsWith(prefix)) for (const endpoint of endpoints) changed.add(endpoint);
    }
    void refresh();
  };
  return {
    add(event: string): void {
      change(event);
      if (event === 'message.sent') for (const ms of RECEIPTS_AFTER_MS) setTimeout(change, ms, event);
    },
    all(): void {
      void refreshReads(null);
    },
  };
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
