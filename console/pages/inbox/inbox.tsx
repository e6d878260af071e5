import { Trans, useLingui } from '@lingui/react/macro';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Inbox as InboxIcon } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { classes } from '#console/components/class-names.ts';
import { Page } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ConversationList } from './conversation-list.tsx';
import { draftedOnly, draftsByAddress } from './conversations.ts';
import { FilterBar } from './filter-bar.tsx';
import { SuspicionsBanner } from './suspicion-card.tsx';
import { Thread } from './thread.tsx';
import { isInView, queryOf, showsDrafted, viewOf } from './views.ts';

/** Conversations on the left, the chosen one on the right; on a phone one or the other. */
export default function Inbox() {
  const { t } = useLingui();
  const { address } = useParams({ strict: false });
  const navigate = useNavigate();
  const [viewName] = useSearchParam('filter');
  const [search] = useSearchParam('search');
  const changeSearch = useSearchChange();
  const { value: view, empty } = viewOf(viewName);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const refetchInterval = useLiveInterval();
  const conversations = useReadPages(
    'GET /api/conversations',
    { query: queryOf(view, search) },
    { refetchInterval, keep: true },
  );
  const counts = useRead('GET /api/conversations/counts', {}, { refetchInterval });
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
      [...(search === '' && showsDrafted(view) ? draftedOnly(waiting, listed) : []), ...listed].filter(
        (conversation) => isInView(conversation, view, waiting),
      )
    );
  }, [conversations.data, view, search, waiting]);

  const open = (next: string | undefined): void => {
    void navigate({
      to: '/inbox/{-$address}',
      params: { address: next },
      search: { ...(viewName !== '' && { filter: viewName }), ...(search !== '' && { search }) },
    });
  };
  const step = (by: number): void => {
    if (!shown || shown.length === 0) return;
    const at = shown.findIndex((conversation) => conversation.address === address);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) open(next.address);
  };
  const select = (one: string): void =>
    setSelected(
      (known) => new Set(known.has(one) ? [...known].filter((other) => other !== one) : [...known, one]),
    );
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    v: () => address !== undefined && select(address),
    Escape: () => (selected.size > 0 ? setSelected(new Set()) : open(undefined)),
  });

  return (
    <Page title={t`Inbox`} fill>
      <div className="flex min-h-0 flex-1 border-t border-line bg-surface">
        <section
          aria-label={t`Conversations`}
          className={classes(
            'flex w-full shrink-0 flex-col border-r border-line md:w-80',
            address !== undefined && 'max-md:hidden',
          )}
        >
          <SuspicionsBanner suspicions={suspected} open={open} />
          <FilterBar
            view={view}
            search={search}
            counts={counts.data?.counts ?? {}}
            onChange={(next) => {
              setSelected(new Set());
              changeSearch({ filter: next.view === 'open' ? '' : next.view, search: next.search });
            }}
          />
          {selected.size > 0 && <BulkBar selected={selected} clear={() => setSelected(new Set())} />}
          <ConversationList
            conversations={shown}
            drafts={waiting}
            error={shown ? null : conversations.error}
            retry={() => void conversations.refetch()}
            opened={address}
            onOpen={open}
            selected={selected}
            onSelect={select}
            empty={empty}
            hasMore={conversations.hasNextPage && !conversations.isFetchNextPageError}
            loadMore={() => {
              if (!conversations.isFetching) void conversations.fetchNextPage();
            }}
          />
        </section>
        <section
          aria-label={t`Conversation`}
          className={classes('min-w-0 flex-1 bg-canvas', address === undefined && 'max-md:hidden')}
        >
          {address === undefined ? (
            <EmptyState
              icon={<InboxIcon className="size-5" aria-hidden="true" />}
              title={t`Choose a conversation`}
            >
              <p>
                <Trans>
                  <kbd>j</kbd> and <kbd>k</kbd> move through the list, <kbd>r</kbd> answers.
                </Trans>
              </p>
            </EmptyState>
          ) : (
            <Thread
              key={address}
              address={address}
              draft={waiting.get(address)}
              areDraftsRead={drafts.data !== undefined}
              suspicion={suspected.find((suspicion) => suspicion.address === address)}
              close={() => open(undefined)}
            />
          )}
        </section>
      </div>
    </Page>
  );
}
