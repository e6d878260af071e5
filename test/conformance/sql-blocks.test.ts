import { expect, inject, test } from 'vitest';
import { BLOCKS } from '#standalone/doc-blocks.ts';
import { connected } from '#db/connection/connected.ts';

const blocks = BLOCKS.filter(({ language }) => language === 'sql');

test.each(blocks)('PostgreSQL can parse the SQL at $at', async ({ text }) => {
  // What follows `return` is parsed, and not run.
  const parsed = connected(inject('databaseUrl'), (client) =>
    client.query(`do $block$ begin return; ${text} end $block$`),
  );
  await expect(parsed).resolves.toBeDefined();
});
