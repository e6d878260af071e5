import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useNavigate, useParams, useRouterState } from '@tanstack/react-router';
import { Inbox as InboxIcon } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead, useReadPages } from '#console/api/queries.ts';
import { classes } from '#console/components/class-names.ts';
import { Page } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';
import { addressName } from '#console/lib/format.ts';
import { opensNext } from '#console/lib/opens-next.ts';
import { useSearchChange, useSearchParam } from '#console/lib/search.ts';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { ConversationList } from './conversation-list.tsx';
import { draftedOnly, draftsByAddress } from './conversations.ts';
import { FilterBar } from './filter-bar.tsx';
import { SuspicionsBanner } from './suspicion-card.tsx';
import { Thread } from './thread.tsx';
import { neighbourOf } from './neighbour.ts';
import { queryOf, showsDrafted, viewOf } from './views.ts';

/** Loaded once a conversation is selected. */
const BulkBar = lazy(() => import('./bulk-bar.tsx'));

const NOTHING_FOUND = {
  title: msg`Nothing found`,
  text: msg`No conversation of this view has a name, an address or a text like that.`,
};

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Which row of the list the open conversation was. */
    place?: number;
  }
}

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
  // Whether a contact has no conversation is known once all are listed.
  const withDrafted = search === '' && showsDrafted(view) && !conversations.hasNextPage;
  const shown = useMemo(() => {
    const listed = conversations.data?.pages.flatMap((page) => page.conversations);
    return listed && [...(withDrafted ? draftedOnly(waiting, listed) : []), ...listed];
  }, [conversations.data, withDrafted, waiting]);
  const openedName = shown?.find((conversation) => conversation.address === address)?.name;
  const addresses = useMemo(() => (shown ?? []).map((conversation) => conversation.address), [shown]);
  // The order in which the open conversation was found in this view and search.
  const listOf = `${view} ${search}`;
  const remembered = useRef<{ of: string; opened: string; list: readonly string[] }>({
    of: '',
    opened: '',
    list: [],
  });
  useEffect(() => {
    const { of, opened, list } = remembered.current;
    const now = address === undefined ? -1 : addresses.indexOf(address);
    if (address === undefined || now < 0 || conversations.isPlaceholderData) return;
    if (of !== listOf || opened !== address || now >= list.indexOf(address))
      remembered.current = { of: listOf, opened: address, list: addresses };
  }, [address, addresses, listOf, conversations.isPlaceholderData]);
  // After a reload, the open conversation may be further down than the first page.
  const place = useRouterState({ select: ({ location }) => location.state.place ?? -1 });
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = conversations;
  const isBelow = hasNextPage && !isFetching && !isFetchNextPageError && place >= addresses.length;
  useEffect(() => {
    if (isBelow) void fetchNextPage();
  }, [isBelow, fetchNextPage]);
  const neighbour = (by: 1 | -1): string | undefined => {
    const { of, list } = remembered.current;
    return neighbourOf(addresses, of === listOf ? list : [], address, by);
  };

  const open = (next: string | undefined): void => {
    void navigate({
      to: '/inbox/{-$address}',
      params: { address: next },
      ...(next !== undefined && addresses.includes(next) && { state: { place: addresses.indexOf(next) } }),
      search: { ...(viewName !== '' && { filter: viewName }), ...(search !== '' && { search }) },
    });
  };
  const step = (by: 1 | -1): void => {
    const next = neighbour(by);
    if (next !== undefined) open(next);
  };
  const openNext = (): void => {
    if (opensNext()) open(neighbour(1) ?? neighbour(-1));
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
    <Page title={t`Inbox`} fill bare>
      {/* The focus stays in the list, so a reader of the screen would hear nothing. */}
      <p role="status" className="sr-only">
        {openedName !== undefined && <Opened name={addressName(openedName)} />}
      </p>
      <div className="flex min-h-0 flex-1 bg-surface">
        <section
          aria-label={t`Conversations`}
          className={classes(
            'flex w-full shrink-0 flex-col border-r border-line md:w-80',
            address !== undefined && 'max-md:hidden',
          )}
        >
          <SuspicionsBanner
            suspicions={suspected}
            count={counts.data?.counts.suspected ?? suspected.length}
            open={open}
          />
          <FilterBar
            view={view}
            search={search}
            counts={counts.data?.counts ?? {}}
            onChange={(next) => {
              setSelected(new Set());
              changeSearch({ filter: next.view === 'open' ? '' : next.view, search: next.search });
            }}
          />
          {selected.size > 0 && (
            <Suspense fallback={null}>
              <BulkBar selected={selected} clear={() => setSelected(new Set())} />
            </Suspense>
          )}
          <ConversationList
            conversations={shown}
            drafts={waiting}
            error={shown ? null : conversations.error}
            retry={() => void conversations.refetch()}
            opened={address}
            onOpen={open}
            selected={selected}
            onSelect={select}
            empty={search === '' ? empty : NOTHING_FOUND}
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
              suspicion={suspected.find((suspicion) => suspicion.address === address)}
              next={addresses[addresses.indexOf(address) + 1]}
              close={() => open(undefined)}
              onDone={openNext}
            />
          )}
        </section>
      </div>
    </Page>
  );
}

const Opened = ({ name }: { name: string }) => <Trans>The conversation with {name} is open</Trans>;
