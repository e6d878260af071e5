import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { ArrowLeft, Ban } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { isNotFound } from '#console/api/client.ts';
import { onPresence, useLiveInterval } from '#console/api/live.ts';
import { readAhead, refreshReads, useRead, useReadPages, useWrite } from '#console/api/queries.ts';
import { useStop, useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button, IconButton } from '#console/components/button.tsx';
import { ErrorState, Skeleton, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { addressName, dayNameOf } from '#console/lib/format.ts';
import { pagePart } from '#console/lib/page-part.ts';
import { useSearchChange } from '#console/lib/search.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { Bubble, elementOf, SendingBubble } from './bubble.tsx';
import { ConversationActions } from './conversation-actions.tsx';
import { type Contact, type Conversation, type Draft, type ThreadItem, threadOf } from './conversations.ts';
import { useDraftEdit } from './draft-edit.ts';
import { type Note, NoteItem } from './note.tsx';
import { NoDrafts } from './no-drafts.tsx';
import { Presence } from './presence.tsx';
import { keepReadingPlace, takeReadingPlace } from './reading-place.ts';
import { ReplyBox } from './reply-box.tsx';
import { useReplyOptions } from './reply-options.ts';
import { useSending } from './sending.ts';
import type { Suspicion } from './suspicion.ts';
import { Tags } from './tags.tsx';
import { useUserId } from './team.ts';

/** Loaded once the conversation is shown, and what few conversations have. */
const ContactTyping = lazy(() => import('./contact-typing.tsx'));
const DraftCard = lazy(() => import('./draft-card.tsx'));
const SuspicionCard = lazy(() => import('./suspicion-card.tsx'));

/** Loaded when somebody asks for it. */
const ContactDrawer = pagePart('inbox/contact-drawer', () => import('./contact-drawer.tsx'));

/** One conversation: who, what was said, and the answer. */
export function Thread({
  address,
  draft: newestDraft,
  suspicion: newestSuspicion,
  next,
  close,
  onDone,
}: {
  address: string;
  /** If it is among the newest of all, so that it is shown at once. */
  draft: Draft | undefined;
  suspicion: Suspicion | undefined;
  /** The conversation after it in the list. */
  next: string | undefined;
  close: () => void;
  /** Called when the conversation is closed or snoozed. */
  onDone: () => void;
}) {
  const { t } = useLingui();
  const refetchInterval = useLiveInterval();
  // Before all else: the browser opens few connections.
  const thread = useReadPages(...threadOf(address), { refetchInterval });
  const drafts = useRead(
    'GET /api/knowledge-base/auto-replies',
    { query: { status: 'drafted', address, limit: 1 } },
    { refetchInterval },
  );
  const suspicions = useRead(
    'GET /api/opt-outs/suspected',
    { query: { address, limit: 1 } },
    { refetchInterval },
  );
  const draft = drafts.data
    ? drafts.data.autoReplies.find(({ conversationRecipient }) => conversationRecipient === address)
    : newestDraft;
  const suspicion = suspicions.data
    ? suspicions.data.suspicions.find((one) => one.address === address)
    : newestSuspicion;
  const areDraftsRead = drafts.data !== undefined;
  const isRead = thread.data !== undefined;
  useEffect(() => {
    if (isRead && next !== undefined) readAhead(...threadOf(next));
  }, [isRead, next]);
  const notes = useRead(
    'GET /api/conversations/{address}/notes',
    { params: { address }, query: { limit: 200 } },
    { refetchInterval: useLiveInterval() },
  );
  // There is no event for a note: whoever writes one tells that they are there.
  useEffect(
    () =>
      onPresence((event) => {
        if (event.address !== address) return;
        void refreshReads(['GET /api/conversations/{address}/notes']);
      }),
    [address],
  );
  const [isTyping, setTyping] = useState(false);
  const [contactShown, showContact] = useState(false);
  const changeSearch = useSearchChange();
  const { edit, change } = useDraftEdit(address);
  // Whether they want to be left alone is decided first.
  const edited = edit && areDraftsRead ? edit.replyId : suspicion ? undefined : draft?.replyId;
  const userId = useUserId();
  const lines = useRead('GET /api/lines/by-user', {});
  const stop = useStop();
  const unread = thread.data?.pages[0]?.conversation.unread === true;
  const latest = thread.data?.pages[0]?.messages[0]?.messageId;
  const read = useWrite('POST /api/conversations/{address}/read', {
    refresh: ['GET /api/conversations', 'GET /api/conversations/{address}'],
  }).mutate;
  useEffect(() => {
    if (!unread || userId === null) return undefined;
    const readIfSeen = (): void => {
      if (!document.hidden) read({ params: { address } });
    };
    readIfSeen();
    document.addEventListener('visibilitychange', readIfSeen);
    return () => document.removeEventListener('visibilitychange', readIfSeen);
  }, [unread, latest, userId, address, read]);
  const messages = useMemo(
    () => thread.data?.pages.flatMap((page) => page.messages).toReversed(),
    [thread.data],
  );
  const box = useRef<HTMLTextAreaElement>(null);
  const { options, change: changeOptions } = useReplyOptions(address);
  const find = (id: string | undefined) => messages?.find(({ messageId }) => messageId === id);
  // Where somebody was reading when they loaded the tab again.
  const [place] = useState(() => takeReadingPlace(address));
  /** The message that is to be shown, once it is loaded. */
  const [sought, seek] = useState(place);
  const goTo = async (id: string): Promise<void> => {
    seek(id);
    let { data, hasNextPage }: Pick<typeof thread, 'data' | 'hasNextPage'> = thread;
    const isIn = (pages: typeof data): boolean =>
      pages?.pages.some((page) => page.messages.some(({ messageId }) => messageId === id)) === true;
    for (let page = 0; page < MAX_PAGES_BACK && hasNextPage && !isIn(data); page += 1)
      ({ data, hasNextPage } = await thread.fetchNextPage());
    if (isIn(data)) return;
    seek(null);
    toast(t`That message is not in this conversation`);
  };
  const { fetchNextPage } = thread;
  const isAbove =
    sought !== null &&
    sought === place &&
    thread.hasNextPage &&
    !thread.isFetching &&
    (thread.data?.pages.length ?? 0) < MAX_PAGES_BACK &&
    find(place) === undefined;
  useEffect(() => {
    if (isAbove) void fetchNextPage();
  }, [isAbove, fetchNextPage]);
  const showEarlier = async (): Promise<void> => {
    const { isFetchNextPageError, error } = await thread.fetchNextPage();
    if (isFetchNextPageError) toastError(error);
  };
  if (thread.error && (!thread.data || isNotFound(thread.error)))
    return <ErrorState error={thread.error} retry={() => void thread.refetch()} />;
  const conversation = thread.data?.pages[0]?.conversation;
  const leadId = conversation?.leadId ?? null;
  const own =
    conversation && messages
      ? lines.data?.lines.find(({ _id }) => _id === lineOf(conversation, messages))
      : undefined;
  const line = own && stop ? { ...own, stop } : own;
  return (
    // In a low window, as at 200 %, the whole of it scrolls.
    <div className="flex h-full flex-col scroll-y">
      {conversation && messages ? (
        <>
          <Header
            conversation={conversation}
            isTyping={isTyping}
            showContact={() => {
              showContact(true);
              changeSearch({ part: 'history' });
            }}
            close={close}
            onDone={onDone}
          />
          <Messages
            contact={{ address, name: conversation.name }}
            messages={messages}
            capabilitiesOf={(id) => lines.data?.lines.find(({ _id }) => _id === id)?.capabilities}
            find={find}
            goTo={(id) => void goTo(id)}
            sought={sought}
            takesFocus={sought !== place}
            onShown={() => seek(null)}
            onReply={(item) => {
              const canReply = line?.capabilities.includes('replies') === true && item.lineId === line._id;
              if (!canReply || conversation.optedOut) return undefined;
              return () => {
                changeOptions({ replyTo: item.messageId });
                return box.current;
              };
            }}
            notes={notesWithin(notes.data?.notes ?? [], messages, thread.hasNextPage)}
            earlier={
              thread.hasNextPage && (
                <Button
                  small
                  kind="ghost"
                  busy={thread.isFetchingNextPage}
                  onClick={() => void showEarlier()}
                >
                  <Trans>Show earlier messages</Trans>
                </Button>
              )
            }
          >
            {suspicion && (
              <Suspense fallback={null}>
                <SuspicionCard key={suspicion._id} suspicion={suspicion} />
              </Suspense>
            )}
            {edited ? (
              <Suspense fallback={<Skeleton className="mb-3 h-32" />}>
                <DraftCard
                  key={edited}
                  address={address}
                  replyId={edited}
                  draft={draft?.replyId === edited ? draft : undefined}
                  text={edit?.text ?? null}
                  setText={(text) => change(text === null ? null : { replyId: edited, text })}
                  line={line}
                />
              </Suspense>
            ) : (
              !suspicion && <NoDrafts />
            )}
          </Messages>
        </>
      ) : (
        <div className="min-h-60 flex-1">
          <SkeletonRows rows={5} className="h-12 w-3/5" />
        </div>
      )}
      {/* Also before the rest is read: whoever opens a conversation and answers at once types into it. */}
      <div className="shrink-0 border-t border-line bg-surface px-3 py-2">
        <ReplyBox
          box={box}
          contact={{ address, name: conversation?.name ?? '' }}
          answered={find(options.replyTo)}
          line={line}
          lastInboundAt={conversation?.lastInboundAt ?? null}
          optedOut={conversation?.optedOut ?? false}
          onTyping={setTyping}
        />
      </div>
      {leadId !== null && contactShown && (
        <Suspense fallback={null}>
          <ContactDrawer
            leadId={leadId}
            close={() => {
              showContact(false);
              changeSearch({ part: '' });
            }}
          />
        </Suspense>
      )}
    </div>
  );
}

/** Who it is, and what can be done. */
function Header({
  conversation,
  isTyping,
  showContact,
  close,
  onDone,
}: {
  conversation: Conversation;
  isTyping: boolean;
  showContact: () => void;
  close: () => void;
  onDone: () => void;
}) {
  const { t } = useLingui();
  const { address, name, leadId, group, optedOut, tags } = conversation;
  const who = group ? group.participants.map(addressName).join(', ') : address;
  return (
    <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-2">
      <IconButton label={t`Back to the list`} className="md:hidden" onClick={close}>
        <ArrowLeft className="size-5" aria-hidden="true" />
      </IconButton>
      {/* As wide as the name: what does not fit beside it is below. */}
      <div className="min-w-0 flex-auto">
        <h2 className="truncate font-semibold">
          {leadId === null ? (
            addressName(name)
          ) : (
            <button
              type="button"
              title={t`Everything about this contact`}
              className="max-w-full truncate rounded hover:underline"
              onClick={showContact}
            >
              {addressName(name)}
            </button>
          )}
        </h2>
        {group ? (
          <details className="text-xs text-muted">
            <summary className="cursor-pointer truncate">{who}</summary>
            <ul aria-label={t`In this group`} className="pt-1">
              {group.participants.map((participant) => (
                <li key={participant}>{addressName(participant)}</li>
              ))}
            </ul>
          </details>
        ) : (
          name !== who && <p className="truncate text-xs text-muted">{addressName(who)}</p>
        )}
      </div>
      {optedOut && (
        <Badge tone="bad">
          <Ban className="size-3" aria-hidden="true" /> <Trans>Opted out</Trans>
        </Badge>
      )}
      <Tags address={address} tags={tags} />
      <ConversationActions conversation={conversation} onUnread={close} onDone={onDone} />
      <Presence address={address} isTyping={isTyping} />
    </header>
  );
}

/** The line of a reply, as the API chooses it: the one to which the contact wrote last, otherwise theirs. */
const lineOf = ({ lineId }: Conversation, messages: readonly ThreadItem[]): string | null =>
  messages.findLast(({ direction, autoReply }) => direction === 'in' && !autoReply)?.lineId ?? lineId;

/** Oldest first; without those before the earliest message that is shown, if there are earlier ones. */
function notesWithin(notes: readonly Note[], messages: readonly ThreadItem[], hasEarlier: boolean): Note[] {
  const earliest = hasEarlier ? (messages[0]?.at ?? '') : '';
  return notes.filter(({ createdAt }) => createdAt >= earliest).toReversed();
}

/** How far a message that is answered is looked for. */
const MAX_PAGES_BACK = 20;

/** A message that leaves within a minute is being sent. */
const PLANNED_MS = 60_000;

/** Scrolls to the newest message and what is to be decided, and stays there while the reader is at the end. */
function Messages({
  contact,
  messages,
  capabilitiesOf,
  notes,
  earlier,
  find,
  goTo,
  sought,
  takesFocus,
  onShown,
  onReply,
  children,
}: {
  contact: Contact;
  messages: readonly ThreadItem[];
  /** What a line can do; undefined if it is gone, or not known yet. */
  capabilitiesOf: (lineId: string | null) => readonly string[] | undefined;
  notes: readonly Note[];
  earlier: ReactNode;
  find: (messageId: string) => ThreadItem | undefined;
  goTo: (messageId: string) => void;
  /** The message to go to as soon as it is there. */
  sought: string | null;
  /** Whether it gets the focus, too. */
  takesFocus: boolean;
  onShown: () => void;
  /** Has the reply answer a message; undefined if that cannot be shown. */
  onReply: (item: ThreadItem) => (() => HTMLElement | null) | undefined;
  /** What is to be decided: below the last message. */
  children: ReactNode;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { address } = contact;
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const listen = (): void => {
      atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    };
    // The box of the reply grows, and pictures have a height only once they are loaded.
    const stay = (): void => {
      if (atEnd.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(stay);
    observer.observe(element);
    // Its content grows when a draft appears.
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    const keepPlace = (): void => {
      const { top, height } = element.getBoundingClientRect();
      const inMiddle = [...element.querySelectorAll(`[id^="${elementOf('')}"]`)].find(
        (bubble) => bubble.getBoundingClientRect().bottom > top + height / 2,
      );
      const place = atEnd.current ? undefined : inMiddle?.id.slice(elementOf('').length);
      keepReadingPlace(address, place ?? null);
    };
    window.addEventListener('pagehide', keepPlace);
    element.addEventListener('scroll', listen, { passive: true });
    element.addEventListener('load', stay, { capture: true });
    return () => {
      observer.disconnect();
      window.removeEventListener('pagehide', keepPlace);
      element.removeEventListener('scroll', listen);
      element.removeEventListener('load', stay, { capture: true });
    };
  }, [address]);
  // What a campaign or a schedule will send is not what was said.
  const isPlanned = ({ status, at }: ThreadItem): boolean =>
    (status === 'pending' || status === 'scheduled') &&
    Date.parse(at) > workspaceNow().getTime() + PLANNED_MS;
  const planned = messages.filter(isPlanned);
  const said = messages.filter((message) => !isPlanned(message));
  const [first] = planned;
  const lastHeard = said.findLast(({ direction }) => direction === 'in')?.messageId;
  const [showsPlanned, showPlanned] = useState(false);
  const sending = useSending(contact.address, messages);
  const newest = `${messages.at(-1)?.messageId} ${notes.at(-1)?._id} ${sending.at(-1)?.at}`;
  const items = [
    ...said.map((message) => ({ id: message.messageId, at: message.at, message, note: null })),
    ...notes.map((note) => ({ id: note._id, at: note.createdAt, message: null, note })),
  ].toSorted((a, b) => a.at.localeCompare(b.at));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [newest]);
  useLayoutEffect(() => {
    const element = sought === null ? null : document.getElementById(elementOf(sought));
    if (!element) return;
    element.scrollIntoView({ block: 'center' });
    if (takesFocus) element.focus({ preventScroll: true });
    onShown();
  }, [sought, takesFocus, messages, onShown]);

  return (
    <div
      ref={scroller}
      role="group"
      aria-label={t`What was said`}
      tabIndex={0}
      className="min-h-60 flex-1 scroll-y -outline-offset-2"
    >
      <div className="flex min-h-full flex-col px-4 py-4">
        <div role="log" aria-label={t`Messages`} className="flex flex-1 flex-col gap-1.5 pb-3">
          <div className="flex justify-center">{earlier}</div>
          <div className="flex-1" />
          {items.map((item, index) => {
            const name = dayNameOf(item.at, zone);
            const before = items[index - 1];
            const isNewDay = !before || dayNameOf(before.at, zone) !== name;
            return (
              <div key={item.id} className="contents">
                {isNewDay && <p className="self-center py-2 text-xs font-medium text-muted">{name}</p>}
                {item.note ? (
                  <NoteItem note={item.note} />
                ) : (
                  <Bubble
                    item={item.message}
                    contact={contact}
                    capabilities={capabilitiesOf(item.message.lineId)}
                    takesKey={item.message.messageId === lastHeard}
                    onReply={onReply(item.message)}
                    findItem={find}
                    goTo={goTo}
                  />
                )}
              </div>
            );
          })}
          {sending.map((reply, index) => (
            <SendingBubble key={`${reply.at} ${index}`} reply={reply} />
          ))}
          {first && (
            <button
              type="button"
              aria-expanded={showsPlanned}
              onClick={() => showPlanned(!showsPlanned)}
              className="self-center rounded px-2 py-1 text-xs font-medium text-muted hover:text-ink hover:underline"
            >
              <Planned count={planned.length} day={dayNameOf(first.at, zone)} />
            </button>
          )}
          {showsPlanned &&
            planned.map((message) => (
              <Bubble key={message.messageId} item={message} contact={contact} findItem={find} goTo={goTo} />
            ))}
        </div>
        <Suspense fallback={null}>
          <ContactTyping contact={contact} lastHeard={lastHeard} />
        </Suspense>
        {children}
      </div>
    </div>
  );
}

const Planned = ({ count, day }: { count: number; day: string }) => (
  <Plural
    value={count}
    one={`# message is planned for ${day}`}
    other={`# messages are planned, the next for ${day}`}
  />
);
