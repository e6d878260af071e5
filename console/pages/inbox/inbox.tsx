import { useNavigate, useParams } from '@tanstack/react-router';
import { Inbox as InboxIcon } from 'lucide-react';
import { useMemo } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { classes } from '#console/components/class-names.ts';
import { Page } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { useSearchParam } from '#console/lib/search.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { ConversationList } from './conversation-list.tsx';
import { draftedOnly, draftsByAddress, FILTERS, type Filter, matches } from './conversations.ts';
import { SuspicionsBanner } from './suspicion-card.tsx';
import { Thread } from './thread.tsx';

/** Conversations on the left, the chosen one on the right; on a phone one or the other. */
export default function Inbox() {
  const { address } = useParams({ strict: false });
  const navigate = useNavigate();
  const [filterName, setFilter] = useSearchParam('filter');
  const filter: Filter = FILTERS.find(({ value }) => value === filterName)?.value ?? 'all';
  const refetchInterval = useLiveInterval();
  const conversations = useReadPages('GET /api/conversations', {}, { refetchInterval });
  const drafts = useRead(
    'GET /api/knowledge-base/auto-replies',
    { query: { status: 'drafted', limit: 200 } },
    { refetchInterval },
  );
  const suspicions = useRead('GET /api/opt-outs/suspected', { query: { limit: 200 } }, { refetchInterval });
  const suspected = suspicions.data?.suspicions ?? [];
  const waiting = useMemo(() => draftsByAddress(drafts.data?.autoReplies ?? []), [drafts.data]);
  const shown = useMemo(() => {
    const listed = conversations.data?.pages.flatMap((page) => page.conversations);
    return (
      listed &&
      [...draftedOnly(waiting, listed), ...listed].filter((conversation) =>
        matches(conversation, filter, waiting),
      )
    );
  }, [conversations.data, filter, waiting]);

  const open = (next: string | undefined): void => {
    void navigate({
      to: '/inbox/{-$address}',
      params: { address: next },
      search: filter === 'all' ? {} : { filter },
    });
  };
  const step = (by: number): void => {
    if (!shown || shown.length === 0) return;
    const at = shown.findIndex((conversation) => conversation.address === address);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) open(next.address);
  };
  useShortcuts({ j: () => step(1), k: () => step(-1), Escape: () => open(undefined) });

  return (
    <Page title="Inbox" fill>
      <div className="flex min-h-0 flex-1 border-t border-line bg-surface">
        <section
          aria-label="Conversations"
          className={classes(
            'flex w-full shrink-0 flex-col border-r border-line md:w-80',
            address !== undefined && 'max-md:hidden',
          )}
        >
          <SuspicionsBanner suspicions={suspected} open={open} />
          <ConversationList
            conversations={shown}
            drafts={waiting}
            error={shown ? null : conversations.error}
            retry={() => void conversations.refetch()}
            selected={address}
            onOpen={open}
            filter={filter}
            onFilter={(next) => setFilter(next === 'all' ? '' : next)}
            hasMore={conversations.hasNextPage && !conversations.isFetchNextPageError}
            loadMore={() => {
              if (!conversations.isFetching) void conversations.fetchNextPage();
            }}
          />
        </section>
        <section
          aria-label="Conversation"
          className={classes('min-w-0 flex-1 bg-canvas', address === undefined && 'max-md:hidden')}
        >
          {address === undefined ? (
            <EmptyState
              icon={<InboxIcon className="size-5" aria-hidden="true" />}
              title="Choose a conversation"
            >
              <p>
                <kbd>j</kbd> and <kbd>k</kbd> move through the list, <kbd>r</kbd> answers.
              </p>
            </EmptyState>
          ) : (
            <Thread
              key={address}
              address={address}
              draft={waiting.get(address)}
              suspicion={suspected.find((suspicion) => suspicion.address === address)}
              close={() => open(undefined)}
            />
          )}
        </section>
      </div>
    </Page>
  );
}
