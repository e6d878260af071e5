import { readFileSync } from 'node:fs';
import {
  Client,
  Connection,
  isGrpcServiceError,
  ServiceError,
  type TLSConfig,
  WithStartWorkflowOperation,
} from '@temporalio/client';
import { TypedSearchAttributes, type UpdateDefinition } from '@temporalio/common';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { SignalName } from '#workflows/messages/signals.ts';
import { UnknownWorkflow, wakeStart } from '#workflows/messages/wake.ts';

export interface TemporalOptions {
  /** host:port */
  address: string;
  namespace: string;
  apiKey: string | null;
  /** Paths of PEM files; null: no TLS. */
  tls: {
    clientCertPath: string | null;
    clientKeyPath: string | null;
    serverCaCertPath: string | null;
    serverName: string | null;
  } | null;
}

/**
 * How clients and workers alike connect.
 * @throws when a file of the TLS settings cannot be read.
 */
export function connectionOptions({ address, apiKey, tls }: TemporalOptions) {
  return { address, ...(apiKey !== null && { apiKey }), ...(tls && { tls: tlsOptions(tls) }) };
}

function tlsOptions({
  clientCertPath,
  clientKeyPath,
  serverCaCertPath,
  serverName,
}: NonNullable<TemporalOptions['tls']>): TLSConfig {
  return {
    ...(serverName !== null && { serverNameOverride: serverName }),
    ...(serverCaCertPath !== null && { serverRootCACertificate: readFileSync(serverCaCertPath) }),
    ...(clientCertPath !== null &&
      clientKeyPath !== null && {
        clientCertPair: { crt: readFileSync(clientCertPath), key: readFileSync(clientKeyPath) },
      }),
  };
}

/** A client that connects when it is first used: a process starts, and answers, without Temporal. */
export function createTemporalClient(options: TemporalOptions): Client {
  const connection = Connection.lazy({ ...connectionOptions(options), connectTimeout: '5s' });
  return new Client({ connection, namespace: options.namespace });
}

/** Signals long-lived workflows that their tables hold something new. */
export interface Waker {
  /** Returns at once; the signal follows, again and again until Temporal takes it. Equal ones that wait are joined. */
  wake(workflowId: string, workspaceId: string, signal: SignalName): void;
  /** How many signals still wait to be sent. */
  readonly waiting: number;
  /** Gives the remaining wakes one last try. */
  close(): Promise<void>;
}

interface WaitingWake {
  workflowId: string;
  workspaceId: string;
  signal: SignalName;
  failures: number;
  /** Runs until the next attempt; undefined while an attempt is due. */
  retry?: NodeJS.Timeout;
}

const RETRY_MS = [250, 500, 1000, 2000, 5000] as const;
const CONCURRENCY = 20;
/** One attempt, with the client's own retries: a workflow that is busy holds up no other for longer. */
const ATTEMPT_MS = 5000;

/**
 * Each wake is retried on its own, so that one which Temporal does not accept delays no other. What a crash loses of
 * the waiting wakes, and what is dropped, is found again by the sweep: the database knows what is due.
 */
export function createWaker(client: Client, logger: Logger): Waker {
  const waiting = new Map<string, WaitingWake>();
  const attempts = new Set<Promise<void>>();
  const atOnce = pLimit(CONCURRENCY);
  let failing = false;
  let closed = false;

  async function attempt(key: string, wake: WaitingWake): Promise<void> {
    if (closed && failing) return;
    const { workflowId, workspaceId, signal } = wake;
    // Taken out first: a wake that comes while this one is under way is one more.
    waiting.delete(key);
    try {
      await client.withDeadline(Date.now() + ATTEMPT_MS, () =>
        signalWorkflow(client, workflowId, workspaceId, signal),
      );
      failing = false;
    } catch (error) {
      if (isRefused(error))
        logger.error({ error, workflowId, signal }, 'Temporal refuses a signal; it is dropped');
      else if (!waiting.has(key)) retryLater(key, wake, error);
    }
  }

  function start(key: string, wake: WaitingWake): void {
    const ended = atOnce(attempt, key, wake).finally(() => attempts.delete(ended));
    attempts.add(ended);
  }

  function retryLater(key: string, { failures, ...to }: WaitingWake, error: unknown): void {
    const wake: WaitingWake = { ...to, failures: failures + 1 };
    waiting.set(key, wake);
    if (!failing)
      logger.warn({ error, waiting: waiting.size }, 'Temporal does not accept a signal; trying again');
    failing = true;
    if (closed) return;
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
    wake.retry = setTimeout(() => {
      delete wake.retry;
      start(key, wake);
    }, wait);
  }

  return {
    wake(workflowId, workspaceId, signal) {
      const key = `${workflowId} ${signal}`;
      if (waiting.has(key)) return;
      const wake: WaitingWake = { workflowId, workspaceId, signal, failures: 0 };
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

/** gRPC's code for a request that is wrong in itself, such as the signal that a run has no room for. */
const INVALID_ARGUMENT = 3;

/** No later attempt can succeed. */
const isRefused = (error: unknown): boolean => error instanceof UnknownWorkflow || isInvalidArgument(error);

function isInvalidArgument(error: unknown): boolean {
  if (!(error instanceof ServiceError && isGrpcServiceError(error.cause))) return false;
  const code: number = error.cause.code;
  return code === INVALID_ARGUMENT;
}

/**
 * Does what an operator asks of a workflow (`workflows/messages/updates.ts`), and starts it when it does not run.
 * @returns its verdict.
 * @throws WorkflowUpdateFailedError with the refusal as its cause.
 */
export async function updateWorkflow<Verdict, O>(
  client: Client,
  { workflowId, workspaceId }: { workflowId: string; workspaceId: string },
  update: UpdateDefinition<Verdict, [O]>,
  order: O,
): Promise<Verdict> {
  return started(client, workflowId, workspaceId, (type, options) =>
    client.workflow.executeUpdateWithStart(update, {
      args: [order],
      startWorkflowOperation: new WithStartWorkflowOperation(type, {
        ...options,
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    }),
  );
}

/** One signal, which starts the workflow when it does not run. */
export async function signalWorkflow(
  client: Client,
  workflowId: string,
  workspaceId: string,
  signal: SignalName,
): Promise<void> {
  await started(client, workflowId, workspaceId, (type, options) =>
    client.workflow.signalWithStart(type, { ...options, signal, signalArgs: [] }),
  );
}

type Start = Omit<ReturnType<typeof wakeStart>, 'type' | 'attributes'>;

/**
 * Which search attributes a client's namespace has accepted: one whose owner has not registered some of them refuses a
 * start that has them.
 */
const accepted = new WeakMap<Client, number>();

/** Asks with the means to start the workflow. */
async function started<T>(
  client: Client,
  workflowId: string,
  workspaceId: string,
  ask: (
    type: string,
    options: Start & { workflowId: string; typedSearchAttributes: TypedSearchAttributes },
  ) => Promise<T>,
): Promise<T> {
  const { type, attributes, ...start } = wakeStart(workflowId, workspaceId);
  const least = attributes.length - 1;
  for (let position = accepted.get(client) ?? 0; ; position += 1) {
    try {
      const typedSearchAttributes = attributes[position] ?? new TypedSearchAttributes();
      const answer = await ask(type, { ...start, workflowId, typedSearchAttributes });
      accepted.set(client, position);
      return answer;
    } catch (error) {
      if (!isInvalidArgument(error) || position >= least) throw error;
    }
  }
}
