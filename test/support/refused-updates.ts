import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { connected } from '#db/connection/connected.ts';

/**
 * Has PostgreSQL refuse updates of some rows, as of what always fails, until the test has finished.
 * @param condition SQL about `new`. @returns ends it.
 */
export async function refuseUpdates(
  ownerUrl: string,
  table: string,
  condition: string,
): Promise<() => Promise<void>> {
  const name = `refuse_${randomBytes(6).toString('hex')}`;
  const run = (text: string) => connected(ownerUrl, (client) => client.query(text));
  await run(`create function ${name}() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger ${name} before update on ${table} for each row when (${condition}) execute function ${name}()`);
  const end = async (): Promise<void> => {
    await run(`drop trigger if exists ${name} on ${table}; drop function if exists ${name}`);
  };
  onTestFinished(end);
  return end;
}
