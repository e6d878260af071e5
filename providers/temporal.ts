import { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import { WAKE, wakeStart } from '#workflows/messages/wake.ts';

export interface TemporalOptions {
  address: string;
  namespace: string;
}

/** A client that connects when it is first used: a process starts, and answers, without Temporal. */
export function createTemporalClient({ address, namespace }: TemporalOptions): Client {
  return new Client({ connection: Connection.lazy({ address, connectTimeout: '5s' }), namespace });
}

/** Signals long-lived workflows that their tables hold something new. */
export interface Waker {
  /** Returns at once; the signal follows, again and again until Temporal takes it. Wakes of one workflow are joined. */
  wake(workflowId: string, workspaceId: string): void;
  /** How many workflows still wait to be signalled. */
  readonly waiting: number;
  /** Gives the remaining wakes one last try. */
  close(): Promise<void>;
}

const RETRY_MS = [250, 500, 1000, 2000, 5000] as const;
const CONCURRENCY = 20;

/**
 * What a crash loses of the waiting wakes is found again by the sweep: the database knows what is due.
 */
export function createWaker(client: Client, logger: Logger): Waker {
  const waiting = new Map<string, string>();
  let running: Promise<void> | null = null;
  let failures = 0;
  let pause: { timer: NodeJS.Timeout; end: () => void } | null = null;
  let closed = false;

  async function flush(): Promise<void> {
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, CONCURRENCY);
      const results = await Promise.allSettled(
        batch.map(async ([workflowId, workspaceId]) => {
          // Taken out first: a wake that comes while this one is under way is one more.
          waiting.delete(workflowId);
          try {
            await wakeWorkflow(client, workflowId, workspaceId);
          } catch (error) {
            waiting.set(workflowId, workspaceId);
            throw error;
          }
        }),
      );
      const failed = results.find((result) => result.status === 'rejected');
      if (!failed) {
        failures = 0;
        continue;
      }
      if (failures === 0)
        logger.warn(
          { error: failed.reason, waiting: waiting.size },
          'Temporal does not take signals; trying again',
        );
      if (closed) return;
      await sleep(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)] ?? 5000);
    }
  }

  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      pause = { timer: setTimeout(resolve, ms), end: resolve };
    });
  }

  return {
    wake(workflowId, workspaceId) {
      waiting.set(workflowId, workspaceId);
      running ??= flush().finally(() => (running = null));
    },
    get waiting() {
      return waiting.size;
    },
    async close() {
      closed = true;
      clearTimeout(pause?.timer);
      pause?.end();
      await running;
    },
  };
}

/** One signal, which starts the workflow when it does not run. */
export async function wakeWorkflow(client: Client, workflowId: string, workspaceId: string): Promise<void> {
  const { type, ...options } = wakeStart(workflowId, workspaceId);
  await client.workflow.signalWithStart(type, { ...options, workflowId, signal: WAKE, signalArgs: [] });
}
