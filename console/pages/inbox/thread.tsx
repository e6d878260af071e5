import { ArrowLeft, Ban } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useReadPages } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button, IconButton } from '#console/components/button.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, dayNameOf } from '#console/lib/format.ts';
import { Bubble } from './bubble.tsx';
import type { Draft, ThreadItem } from './conversations.ts';
import { DraftCard } from './draft-card.tsx';
import { ReplyBox } from './reply-box.tsx';
import { SuspicionCard } from './suspicion-card.tsx';
import type { Suspicion } from './suspicion.ts';
import { Tags } from './tags.tsx';

/** One conversation: who, what was said, and the answer. */
export function Thread({
  address,
  draft,
  suspicion,
  close,
}: {
  address: string;
  draft: Draft | undefined;
  suspicion: Suspicion | undefined;
  close: () => void;
}) {
  const thread = useReadPages(
    'GET /api/conversations/{address}',
    { params: { address }, query: { limit: 50 } },
    { refetchInterval: useLiveInterval() },
  );
  const messages = useMemo(
    () => thread.data?.pages.flatMap((page) => page.messages).toReversed(),
    [thread.data],
  );
  if (thread.error) return <ErrorState error={thread.error} retry={() => void thread.refetch()} />;
  const conversation = thread.data?.pages[0]?.conversation;
  if (!conversation || !messages) return <SkeletonRows rows={5} className="h-12 w-3/5" />;
  const { name, optedOut, tags } = conversation;
  return (
    <div className="flex h-full flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-2.5">
        <IconButton label="Back to the list" className="md:hidden" onClick={close}>
          <ArrowLeft className="size-5" aria-hidden="true" />
        </IconButton>
        <div className="min-w-0 flex-1">
          <h2 className="truncate font-semibold">{addressName(name)}</h2>
          {name !== address && <p className="truncate text-xs text-muted">{addressName(address)}</p>}
        </div>
        {optedOut && (
          <Badge tone="bad">
            <Ban className="size-3" aria-hidden="true" /> Opted out
          </Badge>
        )}
        <Tags address={address} tags={tags} />
      </header>
      <Messages
        messages={messages}
        earlier={
          thread.hasNextPage && (
            <Button
              small
              kind="ghost"
              busy={thread.isFetchingNextPage}
              onClick={() => void thread.fetchNextPage()}
            >
              Show earlier messages
            </Button>
          )
        }
      />
      <div className="shrink-0 border-t border-line bg-surface p-3">
        {suspicion && <SuspicionCard key={suspicion._id} suspicion={suspicion} />}
        {draft && <DraftCard key={draft.replyId} draft={draft} />}
        <ReplyBox address={address} optedOut={optedOut} />
      </div>
    </div>
  );
}

/** Scrolls to the newest message, and stays there while the reader is at the end. */
function Messages({ messages, earlier }: { messages: readonly ThreadItem[]; earlier: React.ReactNode }) {
  const zone = useTimeZone();
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const listen = (): void => {
      atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    };
    element.addEventListener('scroll', listen, { passive: true });
    return () => element.removeEventListener('scroll', listen);
  }, []);
  const newest = messages.at(-1)?.messageId;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [newest]);

  return (
    <div
      ref={scroller}
      role="log"
      aria-label="Messages"
      tabIndex={0}
      className="flex min-h-0 flex-1 flex-col gap-1.5 scroll-y px-4 py-4 -outline-offset-2"
    >
      <div className="flex justify-center">{earlier}</div>
      <div className="flex-1" />
      {messages.map((item, index) => {
        const name = dayNameOf(item.at, zone);
        const before = messages[index - 1];
        const isNewDay = !before || dayNameOf(before.at, zone) !== name;
        return (
          <div key={item.messageId} className="contents">
            {isNewDay && <p className="self-center py-2 text-xs font-medium text-muted">{name}</p>}
            <Bubble item={item} />
          </div>
        );
      })}
    </div>
  );
}
