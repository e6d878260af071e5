import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  ServiceError,
  WithStartWorkflowOperation,
} from '@temporalio/client';
import { TypedSearchAttributes, type UpdateDefinition } from '@temporalio/common';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { isFact, signalArgs, type SignalName } from '#workflows/protocol/signals.ts';
import { polledKind, UnknownWorkflow, wakeStart } from '#workflows/protocol/workflow-ids.ts';
import { endAfterClose } from './after-close.ts';
import { isInvalidArgument } from './grpc-status.ts';
import { dataConverter } from './payload-codec.ts';
import {
  currentApiKey,
  readApiKey,
  readTls,
  reloadingTls,
  type TemporalCredentials,
} from './temporal-credentials.ts';

export interface TemporalOptions extends TemporalCredentials {
  /** host:port */
  address: string;
  namespace: string;
  /** The keys that encrypt what Temporal stores (`payload-codec.ts`); null: nothing is encrypted. */
  codecKeys: string | null;
  /** Of the API, whose console the workflows link to; absent: they link to none. */
  publicUrl?: string;
}

/**
 * The options of a connection with the current credentials.
 * @throws if a file of them cannot be read.
 */
export function connectionOptions(options: TemporalOptions) {
  const { address, tls } = options;
  const apiKey = readApiKey(options);
  return { address, ...(apiKey !== null && { apiKey }), ...(tls && { tls: readTls(tls) }) };
}

/**
 * A client that connects on first use, so that a process starts and serves requests without Temporal, and that follows
 * changes of the credentials.
 * @throws if a file of them cannot be read.
 */
export function createTemporalClient(options: TemporalOptions): Client {
  const { address, namespace, codecKeys, publicUrl, tls } = options;
  const connection = Connection.lazy({
    address,
    connectTimeout: '5s',
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), endAfterClose],
    ...(tls && reloadingTls(tls)),
  });
  const apiKey = currentApiKey(options);
  if (apiKey) connection.setApiKey(apiKey);
  const client = new Client({ connection, namespace, dataConverter: dataConverter(codecKeys) });
  if (publicUrl !== undefined) consoles.set(client, `${publicUrl}/console`);
  return client;
}

/** Signals long-lived workflows that there is new work for them in the database. */
export interface Waker {
  /**
   * Returns immediately. The signal is sent in the background and retried. Equal pending signals are merged.
   * @param carrier of the workflow's line, if known.
   */
  wake(workflowId: string, workspaceId: string, signal: SignalName, carrier?: string | null): void;
  /** The number of pending signals. */
  readonly waiting: number;
  /** Tries the pending signals one last time. */
  close(): Promise<void>;
}

interface WaitingWake {
  workflowId: string;
  workspaceId: string;
  signal: SignalName;
  carrier: string | null;
  failures: number;
  /** The timer until the next attempt; undefined while an attempt is due. */
  retry?: NodeJS.Timeout;
}

const RETRY_MS = [250, 500, 1000, 2000, 5000] as const;
const CONCURRENCY = 50;
/** Per attempt, including the client's own retries, so that a busy workflow does not delay others for longer. */
const ATTEMPT_MS = 5000;

/**
 * Each wake is retried independently, so that a wake that Temporal does not accept delays no other. Wakes that are dropped or
 * lost in a crash are repeated by the sweep, because the database records due work.
 * @param polled the kinds of due work for which a worker process looks itself, so that their workflows need no signal. A kind that it does not
 *   have is looked for once more before the signal, because a process may have begun.
 */
export function createWaker(
  client: Client,
  logger: Logger,
  polled: { has(kind: string): boolean; look(kind: string): Promise<boolean> } | null = null,
): Waker {
  const waiting = new Map<string, WaitingWake>();
  const attempts = new Set<Promise<void>>();
  const atOnce = pLimit(CONCURRENCY);
  let failing = false;
  let closed = false;

  async function attempt(key: string, wake: WaitingWake): Promise<void> {
    if (closed && failing) return;
    const { workflowId, workspaceId, signal, carrier } = wake;
    // Removed first, because a wake during this attempt requires another signal.
    waiting.delete(key);
    try {
      const kind = kindOf(wake);
      if (kind !== null && (await polled?.look(kind))) return;
      await client.withDeadline(Date.now() + ATTEMPT_MS, () =>
        signalWorkflow(client, workflowId, workspaceId, signal, carrier),
      );
      failing = false;
    } catch (error) {
      if (isRejected(error))
        logger.error({ error, workflowId, signal }, 'Temporal rejected a signal; it is dropped');
      else if (!waiting.has(key)) retryLater(key, wake, error);
    }
  }

  function start(key: string, wake: WaitingWake): void {
    const ended = atOnce(attempt, key, wake).finally(() => attempts.delete(ended));
    attempts.add(ended);
  }

  function retryLater(key: string, { failures, ...to }: WaitingWake, error: unknown): void {
    // The line may have another carrier by then.
    const wake: WaitingWake = { ...to, carrier: null, failures: failures + 1 };
    waiting.set(key, wake);
    if (!failing) logger.warn({ error, waiting: waiting.size }, 'Temporal did not accept a signal; retrying');
    failing = true;
    if (closed) return;
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
    wake.retry = setTimeout(() => {
      delete wake.retry;
      start(key, wake);
    }, wait);
  }

  return {
    wake(workflowId, workspaceId, signal, carrier = null) {
      const kind = kindOf({ workflowId, signal });
      if (kind !== null && polled?.has(kind)) return;
      const key = `${workflowId} ${signal}`;
      const pending = waiting.get(key);
      if (pending) {
        if (pending.carrier !== carrier) pending.carrier = null;
        return;
      }
      const wake: WaitingWake = { workflowId, workspaceId, signal, carrier, failures: 0 };
      waiting.set(key, wake);
      start(key, wake);
    },
    get waiting() {
      return waiting.size;
    },
    async close() {
      closed = true;
      failing = false;
      for (const [key, wake] of waiting) {
        if (!wake.retry) continue;
        clearTimeout(wake.retry);
        start(key, wake);
      }
      await Promise.all(attempts);
    },
  };
}

/** Of due work that worker processes may look for themselves; null: its workflow needs the signal. */
const kindOf = ({ workflowId, signal }: Pick<WaitingWake, 'workflowId' | 'signal'>): string | null =>
  isFact(signal) ? null : polledKind(workflowId);

/** Whether a retry is pointless. */
const isRejected = (error: unknown): boolean => error instanceof UnknownWorkflow || isInvalidCall(error);

/** The client wraps the error of a call. */
const isInvalidCall = (error: unknown): boolean =>
  error instanceof ServiceError && isInvalidArgument(error.cause);

/**
 * Sends an update (`workflows/protocol/updates.ts`) to a workflow, and starts the workflow if it is not running.
 * @returns the result of the update.
 * @throws WorkflowUpdateFailedError with the rejection as its cause.
 */
export async function updateWorkflow<Verdict, O>(
  client: Client,
  { workflowId, workspaceId }: { workflowId: string; workspaceId: string },
  update: UpdateDefinition<Verdict, [O]>,
  order: O,
): Promise<Verdict> {
  return withStart(client, { workflowId, workspaceId }, (type, options) =>
    client.workflow.executeUpdateWithStart(update, {
      args: [order],
      startWorkflowOperation: new WithStartWorkflowOperation(type, {
        ...options,
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    }),
  );
}

/**
 * Sends a signal to a workflow, and starts the workflow if it is not running.
 * @param carrier of its line, if known.
 */
export async function signalWorkflow(
  client: Client,
  workflowId: string,
  workspaceId: string,
  signal: SignalName,
  carrier: string | null = null,
): Promise<void> {
  await withStart(client, { workflowId, workspaceId, carrier }, (type, options) =>
    client.workflow.signalWithStart(type, { ...options, signal, signalArgs: signalArgs(signal) }),
  );
}

type Start = Omit<ReturnType<typeof wakeStart>, 'type' | 'attributes' | 'page'> & { staticDetails?: string };

/** Where the console is whose pages workflows link to, by client. */
const consoles = new WeakMap<Client, string>();

/**
 * The position in the list of search attributes that the client's namespace accepts. A namespace rejects a start with search
 * attributes that are not registered.
 */
const accepted = new WeakMap<Client, number>();

/** Calls `send` with the options that start the workflow. */
async function withStart<T>(
  client: Client,
  { workflowId, workspaceId, carrier }: { workflowId: string; workspaceId: string; carrier?: string | null },
  send: (
    type: string,
    options: Start & { workflowId: string; typedSearchAttributes: TypedSearchAttributes },
  ) => Promise<T>,
): Promise<T> {
  const { type, attributes, page, ...start } = wakeStart(workflowId, workspaceId, carrier);
  const consoleUrl = consoles.get(client);
  const details = page !== null &&
    consoleUrl !== undefined && { staticDetails: `[Console](${consoleUrl}/${page})` };
  const last = attributes.length - 1;
  for (let position = accepted.get(client) ?? 0; ; position += 1) {
    try {
      const typedSearchAttributes = attributes[position] ?? new TypedSearchAttributes();
      const result = await send(type, { ...start, ...details, workflowId, typedSearchAttributes });
      accepted.set(client, position);
      return result;
    } catch (error) {
      if (!isInvalidCall(error) || position >= last) throw error;
    }
  }
}
