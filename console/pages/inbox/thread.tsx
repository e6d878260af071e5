import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { ArrowLeft, Ban } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { isNotFound } from '#console/api/client.ts';
import { onPresence, useLiveInterval } from '#console/api/live.ts';
import { refreshReads, useRead, useReadPages, useWrite } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button, IconButton } from '#console/components/button.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toastError } from '#console/components/toast.tsx';
import { addressName, dayNameOf } from '#console/lib/format.ts';
import { Bubble, type Contact } from './bubble.tsx';
import { ConversationActions } from './conversation-actions.tsx';
import type { Conversation, Draft, ThreadItem } from './conversations.ts';
import { DraftCard, useDraftEdit } from './draft-card.tsx';
import { type Note, NoteItem } from './note.tsx';
import { NoDrafts } from './no-drafts.tsx';
import { Presence } from './presence.tsx';
import { ReplyBox } from './reply-box.tsx';
import { SuspicionCard } from './suspicion-card.tsx';
import type { Suspicion } from './suspicion.ts';
import { Tags } from './tags.tsx';
import { useUserId } from './team.ts';

/** One conversation: who, what was said, and the answer. */
export function Thread({
  address,
  draft,
  areDraftsRead,
  suspicion,
  close,
}: {
  address: string;
  draft: Draft | undefined;
  /** Otherwise it is not known yet whether there is a draft. */
  areDraftsRead: boolean;
  suspicion: Suspicion | undefined;
  close: () => void;
}) {
  const { t } = useLingui();
  const thread = useReadPages(
    'GET /api/conversations/{address}',
    { params: { address }, query: { limit: 50 } },
    { refetchInterval: useLiveInterval() },
  );
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
  const { edit, change } = useDraftEdit(address);
  // Whether they want to be left alone is decided first.
  const edited = edit && areDraftsRead ? edit.replyId : suspicion ? undefined : draft?.replyId;
  const userId = useUserId();
  const lines = useRead('GET /api/lines/by-user', {});
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
  const showEarlier = async (): Promise<void> => {
    const { isFetchNextPageError, error } = await thread.fetchNextPage();
    if (isFetchNextPageError) toastError(error);
  };
  if (thread.error && (!thread.data || isNotFound(thread.error)))
    return <ErrorState error={thread.error} retry={() => void thread.refetch()} />;
  const conversation = thread.data?.pages[0]?.conversation;
  if (!conversation || !messages) return <SkeletonRows rows={5} className="h-12 w-3/5" />;
  const { name, leadId, optedOut, tags } = conversation;
  const line = lines.data?.lines.find(({ _id }) => _id === lineOf(conversation, messages));
  const shownNotes = notesWithin(notes.data?.notes ?? [], messages, thread.hasNextPage);
  return (
    <div className="flex h-full flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-2.5">
        <IconButton label={t`Back to the list`} className="md:hidden" onClick={close}>
          <ArrowLeft className="size-5" aria-hidden="true" />
        </IconButton>
        <div className="min-w-0 flex-1">
          <h2 className="truncate font-semibold">
            {leadId === null ? (
              addressName(name)
            ) : (
              <Link
                to="/contacts"
                search={{ lead: leadId, part: 'history' }}
                title={t`Everything about this contact`}
                className="hover:underline"
              >
                {addressName(name)}
              </Link>
            )}
          </h2>
          {name !== address && <p className="truncate text-xs text-muted">{addressName(address)}</p>}
        </div>
        {optedOut && (
          <Badge tone="bad">
            <Ban className="size-3" aria-hidden="true" /> <Trans>Opted out</Trans>
          </Badge>
        )}
        <Tags address={address} tags={tags} />
        <ConversationActions conversation={conversation} />
        <Presence address={address} isTyping={isTyping} />
      </header>
      <Messages
        contact={{ address, name }}
        messages={messages}
        notes={shownNotes}
        earlier={
          thread.hasNextPage && (
            <Button small kind="ghost" busy={thread.isFetchingNextPage} onClick={() => void showEarlier()}>
              <Trans>Show earlier messages</Trans>
            </Button>
          )
        }
      />
      <div className="shrink-0 border-t border-line bg-surface p-3">
        {suspicion && <SuspicionCard key={suspicion._id} suspicion={suspicion} />}
        {edited ? (
          <DraftCard
            key={edited}
            address={address}
            replyId={edited}
            draft={draft?.replyId === edited ? draft : undefined}
            text={edit?.text ?? null}
            setText={(text) => change(text === null ? null : { replyId: edited, text })}
            line={line}
          />
        ) : (
          !suspicion && <NoDrafts />
        )}
        <ReplyBox address={address} line={line} optedOut={optedOut} onTyping={setTyping} />
      </div>
    </div>
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

/** Scrolls to the newest message, and stays there while the reader is at the end. */
function Messages({
  contact,
  messages,
  notes,
  earlier,
}: {
  contact: Contact;
  messages: readonly ThreadItem[];
  notes: readonly Note[];
  earlier: React.ReactNode;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
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
    element.addEventListener('scroll', listen, { passive: true });
    element.addEventListener('load', stay, { capture: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', listen);
      element.removeEventListener('load', stay, { capture: true });
    };
  }, []);
  const newest = `${messages.at(-1)?.messageId} ${notes.at(-1)?._id}`;
  const items = [
    ...messages.map((message) => ({ id: message.messageId, at: message.at, message, note: null })),
    ...notes.map((note) => ({ id: note._id, at: note.createdAt, message: null, note })),
  ].toSorted((a, b) => a.at.localeCompare(b.at));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [newest]);

  return (
    <div
      ref={scroller}
      role="log"
      aria-label={t`Messages`}
      tabIndex={0}
      className="flex min-h-0 flex-1 flex-col gap-1.5 scroll-y px-4 py-4 -outline-offset-2"
    >
      <div className="flex justify-center">{earlier}</div>
      <div className="flex-1" />
      {items.map((item, index) => {
        const name = dayNameOf(item.at, zone);
        const before = items[index - 1];
        const isNewDay = !before || dayNameOf(before.at, zone) !== name;
        return (
          <div key={item.id} className="contents">
            {isNewDay && <p className="self-center py-2 text-xs font-medium text-muted">{name}</p>}
            {item.note ? <NoteItem note={item.note} /> : <Bubble item={item.message} contact={contact} />}
          </div>
        );
      })}
    </div>
  );
}
