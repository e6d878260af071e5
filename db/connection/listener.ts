import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** Listens for notifications of one channel, on a dedicated connection that is reopened when it is lost. */
export interface Listener {
  /** Whether notifications arrive. False while the connection is lost, and behind a pooler. */
  readonly isListening: boolean;
  close(): Promise<void>;
}

const RECONNECT_MS = 1000;
/** A server that has vanished without a word sends no notification, and no error. */
const PING_MS = 10_000;
const PING_TIMEOUT_MS = 5000;

/**
 * Behind a pooler it gives up: notifications reach the pooler's connection and not the one that listened.
 * @param url of a login; any may listen.
 * @param onNotification called for each notification with its payload, and with '' when the connection is opened or lost,
 * since some may have been missed.
 */
export function listen(url: string, channel: string, onNotification: (payload: string) => void): Listener {
  const closing = new AbortController();
  let isListening = false;
  let isPooled = false;

  async function listenUntilLost(): Promise<void> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5000,
      keepAlive: true,
      query_timeout: PING_TIMEOUT_MS,
      application_name: `linepace listener: ${channel}`,
    });
    const lost = new Promise<void>((resolve) => {
      client.once('error', () => resolve());
      client.once('end', () => resolve());
      closing.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('notification', ({ payload }) => {
      isListening = !closing.signal.aborted;
      onNotification(payload ?? '');
    });
    try {
      await client.connect();
      isPooled = await isBehindPooler(client);
      if (isPooled) return;
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
      // The first notification proves that they arrive here.
      await client.query('select pg_notify($1, $2)', [channel, '']);
      await Promise.race([lost, failedPing(client, closing.signal)]);
    } finally {
      isListening = false;
      onNotification('');
      await client.end().catch(() => {});
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted && !isPooled) {
      await listenUntilLost().catch(() => {});
      await delay(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  const running = run();
  return {
    get isListening() {
      return isListening;
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}

/** A pooler tells its clients ids of its own for their sessions. */
async function isBehindPooler(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() pid');
  return rows[0]?.pid !== (client as pg.Client & { processID: number }).processID;
}

/** Resolves when the server does not respond any more. */
async function failedPing(client: pg.Client, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted) {
      await delay(PING_MS, undefined, { signal });
      await client.query('select');
    }
  } catch {
    // The connection is lost, or closed.
  }
}
