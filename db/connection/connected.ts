import pg from 'pg';

/** Runs `work` with a connection of its own. For scripts and tests: the product's processes have pools (pools.ts). */
export async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
