import { expect, inject, test } from 'vitest';
import { BLOCKS } from '#standalone/doc-blocks.ts';
import { connected } from '#db/connection/connected.ts';

test('PostgreSQL can parse the SQL of every page', async () => {
  for (const { at, text } of BLOCKS.filter(({ language }) => language === 'sql')) {
    // What follows `return` is parsed, and not run.
    const parsed = connected(inject('databaseUrl'), (client) =>
      client.query(`do $block$ begin return; ${text} end $block$`),
    );
    await expect(parsed, at).resolves.toBeDefined();
  }
});
