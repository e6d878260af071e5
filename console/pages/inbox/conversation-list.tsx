import { useVirtualizer } from '@tanstack/react-virtual';
import { Inbox, Sparkles } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { classes } from '#console/components/class-names.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, shortTimeOf } from '#console/lib/format.ts';
import { type Conversation, type Draft, FILTERS, type Filter } from './conversations.ts';

const ROW_HEIGHT = 68;
const AHEAD = 10;

interface Props {
  conversations: readonly Conversation[] | undefined;
  drafts: ReadonlyMap<string, Draft>;
  error: unknown;
  retry: () => void;
  selected: string | undefined;
  onOpen: (address: string) => void;
  filter: Filter;
  onFilter: (filter: Filter) => void;
  hasMore: boolean;
  loadMore: () => void;
}

export function ConversationList(props: Props) {
  const { conversations, error, retry, filter, onFilter, drafts } = props;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div role="group" aria-label="Filter" className="flex shrink-0 gap-1 border-b border-line p-2">
        {FILTERS.map(({ value, label }) => (
          <button
            key={value}
            type="button"
            aria-pressed={filter === value}
            onClick={() => onFilter(value)}
            className="rounded-lg px-2.5 py-1 font-medium text-muted hover:bg-hover aria-pressed:bg-selected aria-pressed:text-ink"
          >
            {label}
            {value === 'drafts' && drafts.size > 0 && (
              <span className="ml-1.5 text-accent-ink">{drafts.size}</span>
            )}
          </button>
        ))}
      </div>
      {error ? (
        <ErrorState error={error} retry={retry} />
      ) : !conversations ? (
        <SkeletonRows rows={8} className="h-14" />
      ) : conversations.length === 0 && !props.hasMore ? (
        <EmptyState icon={<Inbox className="size-5" aria-hidden="true" />} title={EMPTY[filter].title}>
          {EMPTY[filter].text}
        </EmptyState>
      ) : (
        <Rows {...props} conversations={conversations} />
      )}
    </div>
  );
}

const EMPTY: Record<Filter, { title: string; text: string }> = {
  all: { title: 'No conversations yet', text: 'They begin with the first message to or from a contact.' },
  unanswered: {
    title: 'Everything is answered',
    text: 'Conversations in which the contact wrote last appear here.',
  },
  drafts: {
    title: 'No drafts to review',
    text: 'The copilot writes one when a contact replies, if it is turned on.',
  },
};

function Rows({
  conversations,
  drafts,
  selected,
  onOpen,
  hasMore,
  loadMore,
}: Props & { conversations: readonly Conversation[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: conversations.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    getItemKey: (index) => conversations[index]?.address ?? index,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= conversations.length - AHEAD) loadMore();
  }, [hasMore, last, conversations.length, loadMore]);
  const chosen = conversations.findIndex(({ address }) => address === selected);
  useEffect(() => {
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: 'auto' });
  }, [chosen, virtual]);

  return (
    <div ref={scroller} className="min-h-0 flex-1 scroll-y">
      <ul aria-label="Conversations" style={{ height: virtual.getTotalSize() }} className="relative">
        {items.map(({ index, key, start }) => {
          const conversation = conversations[index];
          if (!conversation) return null;
          return (
            <li
              key={key}
              className="absolute inset-x-0 top-0"
              style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
            >
              <Row
                conversation={conversation}
                isSelected={conversation.address === selected}
                hasDraft={drafts.has(conversation.address)}
                onOpen={onOpen}
              />
            </li>
          );
        })}
      </ul>
      {hasMore && (
        <div className="flex justify-center py-3 text-muted">
          <Spinner />
        </div>
      )}
    </div>
  );
}

function Row({
  conversation: { address, name, lastMessage, lastDirection, lastAt, optedOut },
  isSelected,
  hasDraft,
  onOpen,
}: {
  conversation: Conversation;
  isSelected: boolean;
  hasDraft: boolean;
  onOpen: (address: string) => void;
}) {
  const zone = useTimeZone();
  const isOpen = lastDirection === 'in';
  return (
    <button
      type="button"
      aria-current={isSelected || undefined}
      onClick={() => onOpen(address)}
      className="flex h-full w-full items-start gap-3 border-b border-line px-3 py-2.5 text-left -outline-offset-2 hover:bg-hover aria-[current]:bg-selected"
    >
      <span
        className={classes('mt-1.5 size-2 shrink-0 rounded-full', isOpen ? 'bg-accent' : 'bg-transparent')}
        title={isOpen ? 'Unanswered' : undefined}
      />
      <span className="grid min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-2">
        <span className={classes('truncate', isOpen ? 'font-semibold' : 'font-medium')}>
          {addressName(name)}
        </span>
        {lastAt ? (
          <time dateTime={lastAt} className="text-xs text-muted">
            {shortTimeOf(lastAt, zone)}
          </time>
        ) : (
          <span />
        )}
        <span className={classes('flex items-center gap-1.5 text-muted', !optedOut && 'col-span-2')}>
          {hasDraft && <Sparkles className="size-3.5 shrink-0 text-accent-ink" aria-label="A draft waits" />}
          <span className="truncate">
            {lastDirection === 'out' && 'You: '}
            {lastMessage || 'Not sent yet'}
          </span>
        </span>
        {optedOut && <span className="text-xs text-bad">Opted out</span>}
      </span>
    </button>
  );
}
