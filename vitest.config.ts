import { linguiTransformerBabelPreset } from '@lingui/vite-plugin';
import babel from '@rolldown/plugin-babel';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/setup/longest-first.ts';

// npm leaves out the binary of the faster transform where it runs on Node 20.
process.env['LINGUI_SUPPRESS_BABEL_WARNING'] = '1';

const NEVER = ['**/node_modules/**', '.data/**'];

/** Tests with one PostgreSQL and one Temporal server, which they share. */
export const withServers = {
  environment: 'node',
  globalSetup: ['test/setup/global.ts'],
  setupFiles: ['test/setup/property-seed.ts', 'test/setup/temporal-log.ts', 'test/setup/shared-app.ts'],
  hookTimeout: 240_000,
};

/**
 * Two projects: `unit` tests stand beside the code and need no server; those below `test/` share one PostgreSQL and one
 * Temporal server, which start only when such a test is part of the run.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    // Most tests wait for servers most of the time: two cores have work for four.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Files share a process, what it has loaded and the app of `sharedApp`; others have an app of their own.
    isolate: false,
    // Long, because a busy machine may take ten times as long. What fails earlier fails for another reason.
    testTimeout: 240_000,
    reporters: ['default', './test/setup/summary-reporter.ts'],
    projects: [
      {
        extends: true,
        plugins: [babel({ presets: [linguiTransformerBabelPreset()] })],
        test: {
          name: 'unit',
          environment: 'node',
          setupFiles: ['test/setup/property-seed.ts', 'test/setup/texts.ts'],
          include: ['**/*.test.ts'],
          // Recipes are tests of their users' own, which need a running product.
          exclude: [...NEVER, 'test/**', 'examples/recipes/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          ...withServers,
          include: ['test/**/*.test.ts'],
          exclude: NEVER,
          // On a busy shared machine a real server may miss a deadline; what passes only the second time is named.
          retry: process.env['CI'] ? 1 : 0,
        },
      },
    ],
  },
});
