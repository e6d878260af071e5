import { createPgDriverFactory } from '@slonik/pg-driver';
import { ConnectionError, type DriverClient, type DriverFactory } from 'slonik';

/** The server was given a statement and has said nothing since, beyond its own limit for statements. */
class QueryDeadlineError extends ConnectionError {
  override readonly name = 'QueryDeadlineError';
}

const isLost = (client: DriverClient): boolean => ['PENDING_DESTROY', 'DESTROYED'].includes(client.state());

/** The connections of all pools of the process: what is found about one server saves the others the wait. */
const clients = new Set<DriverClient>();

const discard = (client: DriverClient): void => void client.destroy().catch(() => {});

/** What the server's own limit is exceeded by, before its answer counts as lost. */
const MARGIN_MS = 1500;

/**
 * A driver whose queries end, also if the server or the network to it has vanished without a word: TCP notices that after a quarter of
 * an hour, or never. The connection is destroyed, and with it those of the process that are idle, which probably lead to the same server.
 * @param statementTimeoutMs the server's limit.
 */
export const withDeadlines =
  (statementTimeoutMs: number): DriverFactory =>
  async (options) => {
    const driver = await createPgDriverFactory()(options);

    async function endBy<T>(client: DriverClient, query: Promise<T>): Promise<T> {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        reject(new QueryDeadlineError('the database did not answer in time'));
        discard(client);
        for (const other of clients) if (other.state() === 'IDLE') discard(other);
      }, statementTimeoutMs + MARGIN_MS);
      try {
        return await Promise.race([query, late]);
      } finally {
        clearTimeout(timer);
        query.catch(() => {});
      }
    }

    return {
      async createClient() {
        const client = await driver.createClient();
        clients.add(client);
        client.on('destroy', () => clients.delete(client));
        const bounded: DriverClient = {
          ...client,
          // What follows in a transaction must fail as the query did that ended its connection.
          query: async (text, values, queryOptions) => {
            if (isLost(client)) throw new QueryDeadlineError('the connection to the database was lost');
            return endBy(client, client.query(text, values, queryOptions));
          },
        };
        return bounded;
      },
    };
  };
