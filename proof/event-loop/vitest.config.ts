import { defineConfig } from 'vitest/config';
import { withServers } from '../../vitest.config.ts';

export default defineConfig({
  test: {
    ...withServers,
    include: ['proof/event-loop/*.proof.ts'],
    pool: 'forks',
    isolate: false,
    testTimeout: 240_000,
    // Shows what the tests print.
    reporters: ['default'],
  },
});
