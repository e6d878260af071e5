import { NativeConnection, TransportError, type Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { connectTo, type NeededPart } from '#providers/connect-to.ts';
import { connectionOptions, type TemporalOptions } from '#providers/temporal.ts';
import {
  fingerprint,
  readApiKey,
  readTls,
  REREAD_MS,
  unlessUnreadable,
} from '#providers/temporal-credentials.ts';

/** The connection of the workers of a process, which follows changes of its API key and certificates. */
export interface WorkerConnection {
  readonly native: NativeConnection;
  /** Keeps these workers connected with the current credentials. */
  follow(workers: readonly Worker[]): void;
  /** Called after the workers have stopped. */
  close(): Promise<void>;
}

export async function connectWorkers(options: TemporalOptions, logger: Logger): Promise<WorkerConnection> {
  const { tls: paths } = options;
  const readPrint = (): string | null => paths && unlessUnreadable(() => fingerprint(readTls(paths)));
  let key = readApiKey(options);
  let print = readPrint();
  let native = await connectTo(
    temporalAt(options),
    () => NativeConnection.connect(connectionOptions(options)),
    logger,
  );
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();

  async function reconnect(workers: readonly Worker[]): Promise<void> {
    const former = native;
    native = await NativeConnection.connect(connectionOptions(options));
    for (const worker of workers) worker.connection = native;
    await former.close();
  }

  async function look(workers: readonly Worker[]): Promise<void> {
    try {
      const [nextKey, nextPrint] = [unlessUnreadable(() => readApiKey(options)), readPrint()];
      if (nextPrint !== null && nextPrint !== print) {
        await reconnect(workers);
        [key, print] = [nextKey ?? key, nextPrint];
        logger.info('connected to Temporal with new certificates');
      } else if (nextKey !== null && nextKey !== key) {
        await native.setApiKey(nextKey);
        key = nextKey;
        logger.info('Temporal gets the new API key');
      }
    } catch (error) {
      logger.error({ error }, 'the new credentials for Temporal do not work; trying again');
    }
  }

  return {
    get native() {
      return native;
    },
    follow(workers) {
      timer = setInterval(() => {
        turn = turn.then(() => look(workers));
      }, REREAD_MS);
    },
    async close() {
      clearInterval(timer);
      await turn;
      await native.close();
    },
  };
}

const temporalAt = ({ address }: TemporalOptions): NeededPart => ({
  title: `Temporal at ${address}`,
  whyAway: (error) => (error instanceof TransportError ? error.message : null),
});
