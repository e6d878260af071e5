import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Inbox, Sparkles } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { classes } from '#console/components/class-names.ts';
import { Spinner } from '#console/components/spinner.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, shortTimeOf } from '#console/lib/format.ts';
import type { Conversation, Draft } from './conversations.ts';
import { useColleagues } from './team.ts';

const ROW_HEIGHT = 68;
const AHEAD = 10;

interface Props {
  conversations: readonly Conversation[] | undefined;
  drafts: ReadonlyMap<string, Draft>;
  error: unknown;
  retry: () => void;
  opened: string | undefined;
  onOpen: (address: string) => void;
  selected: ReadonlySet<string>;
  onSelect: (address: string) => void;
  empty: { title: MessageDescriptor; text: MessageDescriptor };
  hasMore: boolean;
  loadMore: () => void;
}

export function ConversationList(props: Props) {
  const { t } = useLingui();
  const { conversations, error, retry, empty } = props;
  return error ? (
    <ErrorState error={error} retry={retry} />
  ) : !conversations ? (
    <SkeletonRows rows={8} className="h-14" />
  ) : conversations.length === 0 && !props.hasMore ? (
    <EmptyState icon={<Inbox className="size-5" aria-hidden="true" />} title={t(empty.title)}>
      {t(empty.text)}
    </EmptyState>
  ) : (
    <Rows {...props} conversations={conversations} />
  );
}

function Rows({
  conversations,
  drafts,
  opened,
  onOpen,
  selected,
  onSelect,
  hasMore,
  loadMore,
}: Props & { conversations: readonly Conversation[] }) {
  const { t } = useLingui();
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
  // One stop for Tab, whatever the length of the list: the row that had the focus last, or the open one. Arrows lead to the others.
  const [focused, setFocused] = useState<string>();
  const shown = items.flatMap(({ index }) => conversations[index]?.address ?? []);
  const stop = [focused, opened, shown[0]].find(
    (address) => address !== undefined && shown.includes(address),
  );
  const moveFocus = (event: KeyboardEvent, index: number): void => {
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: conversations.length - 1 }[
      event.key
    ];
    if (to === undefined || !conversations[to]) return;
    event.preventDefault();
    virtual.scrollToIndex(to);
    const row = () => scroller.current?.querySelector<HTMLElement>(`[data-index="${to}"] button`);
    const rendered = row();
    // A row that was not rendered comes with the scrolling.
    if (rendered) rendered.focus();
    else requestAnimationFrame(() => row()?.focus());
  };
  const chosen = conversations.findIndex(({ address }) => address === opened);
  useEffect(() => {
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: 'auto' });
  }, [chosen, virtual]);

  return (
    <div ref={scroller} className="min-h-0 flex-1 scroll-y">
      <ul aria-label={t`Conversations`} style={{ height: virtual.getTotalSize() }} className="relative">
        {items.map(({ index, key, start }) => {
          const conversation = conversations[index];
          if (!conversation) return null;
          return (
            <li
              key={key}
              data-index={index}
              className="absolute inset-x-0 top-0"
              style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
            >
              <Row
                conversation={conversation}
                isOpened={conversation.address === opened}
                isSelected={selected.has(conversation.address)}
                isStop={conversation.address === stop}
                onFocus={() => setFocused(conversation.address)}
                onKeyDown={(event) => moveFocus(event, index)}
                onSelect={onSelect}
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
  conversation,
  isOpened,
  isSelected,
  isStop,
  onFocus,
  onKeyDown,
  hasDraft,
  onOpen,
  onSelect,
}: {
  conversation: Conversation;
  isOpened: boolean;
  isSelected: boolean;
  /** Whether Tab leads to it. */
  isStop: boolean;
  onFocus: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
  hasDraft: boolean;
  onOpen: (address: string) => void;
  onSelect: (address: string) => void;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { address, name, lastDirection, lastAt, optedOut, unread, status, assigneeId } = conversation;
  const shownName = addressName(name);
  const assignee = useColleagues().find(({ userId }) => userId === assigneeId)?.name;
  const label = optedOut
    ? t`Opted out`
    : ((STATUSES[status] && t(STATUSES[status])) ?? assignee?.split(' ')[0]);
  return (
    <div
      className={classes(
        'flex h-full border-b border-line hover:bg-hover',
        isOpened && 'bg-selected',
        isSelected && 'bg-accent-soft',
      )}
    >
      <label className="group flex w-8 shrink-0 cursor-pointer items-start justify-center pt-3.5">
        <span
          aria-hidden="true"
          className={classes(
            'size-2 rounded-full group-focus-within:hidden group-hover:hidden',
            unread ? 'bg-accent' : 'bg-transparent',
            isSelected && 'hidden',
          )}
        />
        <input
          type="checkbox"
          tabIndex={isStop ? 0 : -1}
          onFocus={onFocus}
          aria-label={t`Select ${shownName}`}
          checked={isSelected}
          onChange={() => onSelect(address)}
          className={classes(
            '-mt-1 size-4 accent-accent',
            !isSelected &&
              'absolute opacity-0 group-focus-within:static group-focus-within:opacity-100 group-hover:static group-hover:opacity-100',
          )}
        />
      </label>
      <button
        type="button"
        tabIndex={isStop ? 0 : -1}
        onFocus={onFocus}
        onKeyDown={onKeyDown}
        aria-current={isOpened || undefined}
        onClick={() => onOpen(address)}
        className="min-w-0 flex-1 py-2.5 pr-3 text-left -outline-offset-2"
      >
        <span className="grid min-w-0 grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-2">
          <span className={classes('truncate', unread ? 'font-semibold' : 'font-medium')}>
            {shownName}
            {unread && (
              <span className="sr-only">
                <Trans>, unread</Trans>
              </span>
            )}
          </span>
          {lastAt ? (
            <time dateTime={lastAt} className="text-right text-xs text-muted">
              {shortTimeOf(lastAt, zone)}
            </time>
          ) : (
            <span />
          )}
          <span className={classes('flex items-center gap-1.5 text-muted', !label && 'col-span-2')}>
            {hasDraft && (
              <Sparkles className="size-3.5 shrink-0 text-accent-ink" aria-label={t`A draft waits`} />
            )}
            <span className="truncate">
              {lastDirection === 'out' && `${t`You:`} `}
              <Said {...conversation} />
            </span>
          </span>
          {label && (
            <span
              className={classes(
                'max-w-20 truncate text-right text-xs',
                optedOut ? 'text-bad' : 'text-muted',
              )}
            >
              {label}
            </span>
          )}
        </span>
      </button>
    </div>
  );
}

/** The last message, as the thread shows it. */
function Said({ lastMessage, lastDirection, lastUnsentAt }: Conversation) {
  if (lastDirection === null) return <Trans>Not sent yet</Trans>;
  if (lastUnsentAt === null) return lastMessage || <Trans>Attachment</Trans>;
  return lastDirection === 'out' ? <Trans>Taken back</Trans> : <Trans>Removed by the contact</Trans>;
}

const STATUSES: Partial<Record<Conversation['status'], MessageDescriptor>> = {
  snoozed: msg`Snoozed`,
  closed: msg`Closed`,
};
