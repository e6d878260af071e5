import { linguiTransformerBabelPreset } from '@lingui/vite-plugin';
import babel from '@rolldown/plugin-babel';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/setup/longest-first.ts';

// npm leaves out the binary of the faster transform where it runs on Node 20.
process.env['LINGUI_SUPPRESS_BABEL_WARNING'] = '1';

const NEVER = ['**/node_modules/**', '.data/**'];

/** On a busy shared machine a real server may miss a deadline; what passes only when repeated is named. */
const RETRY = process.env['CI'] ? 2 : 0;

/** A project whose tests share one PostgreSQL and one Temporal server. @param retry how often a failed test is repeated. */
const serverProject = (name: string, include: string[], retry: number) => ({
  extends: true as const,
  test: {
    name,
    environment: 'node' as const,
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/property-seed.ts', 'test/setup/temporal-log.ts', 'test/setup/shared-app.ts'],
    include,
    exclude: NEVER,
    hookTimeout: 240_000,
    retry,
  },
});

/**
 * `npm test` runs the projects `unit`, the tests that stand beside the code and need no server, and `integration`, what the
 * product does at its interfaces. `npm run test:system` runs `system`: tests that start, stop and overload servers, fill a
 * database, drive a browser or install packages, which together take as long as all others. `npm run prove -- event-loop`
 * runs `event-loop`.
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
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default', './test/setup/summary-reporter.ts'],
    projects: [
      {
        extends: true,
        plugins: [babel({ presets: [linguiTransformerBabelPreset()] })],
        test: {
          name: 'unit',
          environment: 'node',
          retry: RETRY,
          setupFiles: ['test/setup/property-seed.ts', 'test/setup/texts.ts'],
          include: ['**/*.test.ts'],
          // Recipes are tests of their users' own, which need a running product.
          exclude: [...NEVER, 'test/**', 'examples/recipes/**'],
        },
      },
      serverProject('integration', ['test/{conformance,end-to-end}/**/*.test.ts'], RETRY),
      serverProject('system', ['test/{system,console,sdk}/**/*.test.ts'], RETRY),
      serverProject('event-loop', ['lab/proof/event-loop/*.proof.ts'], 0),
    ],
  },
});
