import { expect, test } from 'vitest';
import { createPools } from './pools.ts';

test('a database that cannot be used is named with the login, and without its password', async () => {
  const as = (login: string): string => `postgres://${login}:secret@127.0.0.1:1/linepace`;
  const opened = createPools({ tenantUrl: as('linepace_tenant'), systemUrl: as('linepace_system') });
  const error: unknown = await opened.catch((reason: unknown) => reason);
  expect(String(error)).toMatch(
    /PostgreSQL at 127\.0\.0\.1:1 cannot be used as linepace_(tenant|system): .*ECONNREFUSED/,
  );
  expect(String(error)).not.toContain('secret');
});
