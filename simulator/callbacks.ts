import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { callbackKey, type WireEvent } from '#providers/carriers/simulated-protocol.ts';

/** One event of a sequence of callbacks, some time after the previous one. */
export interface Step {
  afterMs: number;
  /** Creates the event. Its `eventId` is the same for every attempt. */
  event(at: string): WireEvent;
}

export interface Callbacks {
  /**
   * Posts the events one after the other, each until the response is 2xx.
   * @returns false if one was given up or the simulator was stopped.
   */
  postAll(lineId: string, url: string, steps: Step[]): Promise<boolean>;
  stop(): Promise<void>;
}

const RESPONSE_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 15_000;
/** Longer than any restart of the product; real carriers retry for hours. */
const GIVE_UP_MS = 15 * 60_000;

/** Posts signed callbacks (Standard Webhooks) and retries them with backoff, like real carriers. */
export function createCallbacks(secret: string, log: (text: string) => void): Callbacks {
  const signer = new Webhook(callbackKey(secret));
  const agent = new Agent({
    connections: 32,
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: RESPONSE_TIMEOUT_MS,
  });
  const waiting = new Map<NodeJS.Timeout, (stopped: Error) => void>();
  let stopped = false;

  /** Not one shared abort signal, because adding a listener takes time linear in their number. */
  function pause(ms: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(timer);
      resolve();
    }, ms);
    waiting.set(timer, reject);
    return promise;
  }

  async function post(lineId: string, url: string, event: WireEvent): Promise<void> {
    const body = JSON.stringify({ lineId, events: [event] });
    const now = new Date();
    const response = await request(url, {
      dispatcher: agent,
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'webhook-id': event.eventId,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signer.sign(event.eventId, now, body),
      },
    });
    await response.body.dump();
    if (response.statusCode < 200 || response.statusCode > 299)
      throw new Error(`responded ${response.statusCode}`);
  }

  async function deliver(lineId: string, url: string, event: WireEvent): Promise<boolean> {
    const giveUpAt = Date.now() + GIVE_UP_MS;
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      try {
        await post(lineId, url, event);
        return true;
      } catch (error) {
        if (stopped) return false;
        if (Date.now() + delayMs > giveUpAt) {
          log(
            `callback ${event.eventId} given up: ${error instanceof Error ? error.message : 'no response'}`,
          );
          return false;
        }
        // With jitter, so that callbacks that failed together are not retried together.
        await pause(delayMs * (0.75 + Math.random() / 2));
      }
    }
  }

  return {
    async postAll(lineId, url, steps) {
      try {
        for (const { afterMs, event } of steps) {
          if (stopped) return false;
          await pause(afterMs);
          if (!(await deliver(lineId, url, event(new Date().toISOString())))) return false;
        }
        return true;
      } catch (error) {
        if (stopped) return false;
        throw error;
      }
    },
    async stop() {
      stopped = true;
      for (const [timer, reject] of waiting) {
        clearTimeout(timer);
        reject(new Error('stopped'));
      }
      waiting.clear();
      await agent.destroy();
    },
  };
}
