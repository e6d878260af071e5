import {
  type InfiniteData,
  infiniteQueryOptions,
  keepPreviousData,
  type Query,
  QueryClient,
  QueryObserver,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { useCallback, useEffect, useRef } from 'react';
import { ApiFailure, isStopped, request } from './client.ts';
import { currentSession, onSessionChange, type Session } from './session.ts';
import type {
  Endpoint,
  PagedEndpoint,
  ReadEndpoint,
  RequestTo,
  ResponseOf,
  WriteEndpoint,
} from './routes.ts';

const RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (attempts, error) => waitOf(error) !== null || (attempts < RETRIES && isTemporary(error)),
      retryDelay: (attempts, error) => waitOf(error) ?? 1000 * 2 ** attempts,
    },
    // Offline, a write fails at once. It would otherwise happen by itself later, when nobody expects it any more.
    mutations: { networkMode: 'always' },
  },
});

let releases: (() => void)[] = [];

/** Keeps what is shown, which would be forgotten after some minutes in a page that is hidden. */
const keepShown = (): void => {
  releases = queryClient
    .getQueryCache()
    .findAll({ type: 'active' })
    .map(({ queryKey }) =>
      new QueryObserver(queryClient, { queryKey, enabled: false }).subscribe(() => undefined),
    );
};

onSessionChange((change) => {
  for (const release of releases.splice(0)) release();
  if (change === 'ended') keepShown();
  else if (change === 'resumed') void refreshReads(null);
  // So that data of one workspace is never shown in another.
  else queryClient.clear();
});

const isTemporary = (error: Error): boolean =>
  error instanceof ApiFailure && (error.status === 0 || error.status >= 500 || error.status === 429);

/** How long the API asks to wait after too many requests; null if it does not. */
const waitOf = (error: Error): number | null =>
  error instanceof ApiFailure && error.status === 429 ? error.retryAfterMs : null;

/** The first page is small, to arrive soon. Later ones are large, because the API limits the number of requests. */
const PAGE_LIMITS = { first: 50, following: 200 };

/** A refetch reads all loaded pages again, so it only happens while few are loaded. */
const MOST_PAGES_READ_AGAIN = 5;
export const hasFewPages = ({ state }: { state: { data: unknown } }): boolean =>
  ((state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) <= MOST_PAGES_READ_AGAIN;

/** The key of a query; without `input`, the key prefix of all queries of the endpoint. */
export const keyOf = <E extends ReadEndpoint>(endpoint: E, input?: RequestTo<E>): readonly unknown[] =>
  input === undefined ? [endpoint] : [endpoint, input];

interface ReadOptions<D> {
  enabled?: boolean;
  /** In milliseconds. A function can decide by the result. */
  refetchInterval?: number | false | ((data: D | undefined) => number | false);
  /** Shows the previous result while the next one is loading, for filters and searches. */
  keep?: boolean;
}

type PageOptions = Omit<ReadOptions<never>, 'refetchInterval'> & { refetchInterval?: number | false };

/** Reads an endpoint: `useRead('GET /api/lines/by-user', {})`. */
export function useRead<E extends ReadEndpoint>(
  endpoint: E,
  input: RequestTo<E>,
  { keep = false, refetchInterval = false, ...options }: ReadOptions<ResponseOf<E>> = {},
) {
  return useQuery<ResponseOf<E>>({
    queryKey: keyOf(endpoint, input),
    queryFn: ({ signal }) => request(endpoint, input, { signal }),
    ...(keep && { placeholderData: keepPreviousData }),
    refetchInterval: ({ state }) =>
      typeof refetchInterval === 'function' ? refetchInterval(state.data) : refetchInterval,
    ...options,
  });
}

const pagesOf = <E extends PagedEndpoint>(endpoint: E, input: RequestTo<E>) =>
  infiniteQueryOptions<ResponseOf<E>, Error, InfiniteData<ResponseOf<E>>, readonly unknown[], string | null>({
    queryKey: [...keyOf(endpoint, input), 'pages'],
    initialPageParam: null,
    queryFn: ({ signal, pageParam }) => {
      const { query } = input as { query?: object | undefined };
      const page =
        pageParam === null
          ? { limit: PAGE_LIMITS.first }
          : { limit: PAGE_LIMITS.following, cursor: pageParam };
      const paged = { ...input, query: { ...page, ...query } };
      return request(endpoint, paged as RequestTo<E>, { signal });
    },
    getNextPageParam: (page) => (page as { nextCursor: string | null }).nextCursor,
  });

/** Reads an endpoint page by page, as `nextCursor` says: `useReadPages('GET /api/messages', { query: { lineId } })`. */
export const useReadPages = <E extends PagedEndpoint>(
  endpoint: E,
  input: RequestTo<E>,
  { keep = false, refetchInterval = false, ...options }: PageOptions = {},
) =>
  useInfiniteQuery({
    ...pagesOf(endpoint, input),
    ...(keep && { placeholderData: keepPreviousData }),
    refetchInterval: (query) => hasFewPages(query) && refetchInterval,
    ...options,
  });

/** Reads the first page of what will probably be shown next. Whatever shows it tries again if that fails. */
export const readAhead = <E extends PagedEndpoint>(endpoint: E, input: RequestTo<E>): void =>
  void queryClient.prefetchInfiniteQuery({ ...pagesOf(endpoint, input), retry: false });

const isFirstRead = ({ state }: Query): boolean =>
  state.data === undefined && state.fetchStatus === 'fetching';

/**
 * Refetches what is shown of endpoints, after a change.
 * @param endpoints default: all.
 * @param predicate only those queries.
 */
export async function refreshReads(
  endpoints: readonly ReadEndpoint[] | null,
  predicate: (query: Query) => boolean = () => true,
): Promise<void> {
  const isStale = (query: Query): boolean =>
    (endpoints === null || endpoints.some((endpoint) => query.queryKey[0] === endpoint)) && predicate(query);
  // A first read in progress may be from before the change, and a refetch waits for it in place of another.
  const early = queryClient
    .getQueryCache()
    .findAll({ predicate: (query) => isStale(query) && isFirstRead(query) });
  await queryClient.invalidateQueries({ predicate: isStale });
  if (early.length > 0) await queryClient.invalidateQueries({ predicate: (query) => early.includes(query) });
}

interface Callbacks<D> {
  onSuccess?: (data: D) => void;
  /** Before them, also after the session has ended or another workspace was chosen: for what is kept by workspace and person. */
  onEnd?: (isAccepted: boolean) => void;
  /** Like `onSuccess`, unless the component has gone or was reset: for what closes something or navigates. */
  whileShown?: (data: D) => void;
  /** Like `whileShown`, after the refetch: for what closes a form that may be opened again with what it has changed. */
  afterRefetch?: (data: D) => void;
  onError?: (error: Error) => void;
}

/** Most writes are recorded in the audit log, and many count towards a limit. */
const CHANGED_BY_WRITES = [
  'GET /api/audit-log',
  'GET /api/agency/audit-log',
  'GET /api/workspace/limits',
] as const;

/**
 * Writes: `const reply = useWrite('POST /api/inbox/send-reply', { refresh: ['GET /api/conversations'] })`, then
 * `reply.mutate({ body }, { onError: toastError })`. Each attempt has its own idempotency key. The callbacks run as soon as
 * the response is there, even if the component is gone by then. `isPending` lasts until the endpoints are refetched.
 * @param options.refresh the endpoints to refetch afterwards.
 */
export function useWrite<E extends WriteEndpoint>(
  endpoint: E,
  { refresh = [] }: { refresh?: readonly ReadEndpoint[] } = {},
) {
  interface Call {
    input: RequestTo<E>;
    callbacks: Callbacks<ResponseOf<E>>;
    session: Session | null;
    generation: number;
  }
  /** Counts resets; NaN once the component is gone. */
  const generation = useRef(0);
  useEffect(() => {
    generation.current = 0;
    return () => void (generation.current = NaN);
  }, []);
  // What a callback shows or offers to undo belongs to the workspace of the call.
  const isCurrent = ({ session }: Call): boolean => session === currentSession();
  const { mutate, variables, data, error, isPending, reset } = useMutation<ResponseOf<E>, Error, Call>({
    mutationFn: ({ input }) =>
      request<Endpoint>(endpoint, input, { idempotencyKey: crypto.randomUUID() }) as Promise<ResponseOf<E>>,
    onSuccess: (response, call) => {
      call.callbacks.onEnd?.(true);
      if (!isCurrent(call)) return;
      call.callbacks.onSuccess?.(response);
      if (call.generation === generation.current) call.callbacks.whileShown?.(response);
    },
    onError: (failure, call) => {
      call.callbacks.onEnd?.(false);
      if (isCurrent(call)) call.callbacks.onError?.(failure);
      // The workspace was read before it stopped; every page says it then.
      if (isStopped(failure)) void refreshReads(['GET /api/workspace']);
    },
    onSettled: () => {
      // Nobody waits for these, as they may be slow or refused.
      void refreshReads(CHANGED_BY_WRITES);
      return refreshReads(refresh);
    },
  });
  return {
    data,
    error,
    isPending,
    reset: useCallback((): void => {
      generation.current += 1;
      reset();
    }, [reset]),
    variables: variables?.input,
    mutate: useCallback(
      (input: RequestTo<E>, callbacks: Callbacks<ResponseOf<E>> = {}): void =>
        mutate(
          { input, callbacks, session: currentSession(), generation: generation.current },
          callbacks.afterRefetch && { onSuccess: callbacks.afterRefetch },
        ),
      [mutate],
    ),
  };
}
