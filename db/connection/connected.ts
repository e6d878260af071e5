import pg from 'pg';

/** Runs `work` with a connection of its own. For scripts, tests and the start of a process, which then has pools (pools.ts). */
export async function connected<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  options: Pick<pg.ClientConfig, 'connectionTimeoutMillis'> = {},
): Promise<T> {
  const client = new pg.Client({ connectionString: url, ...options });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
