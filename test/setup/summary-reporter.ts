import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

/**
 * Ends the output with a machine-readable line: `12 passed, 0 failed`, followed by `, 3 skipped` if any were. Before it,
 * lists the tests that passed only on a retry, with the errors of the failed attempts.
 * A file that could not be loaded, and an error outside of all tests, each count as one failed test.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly unknown[],
    reason: TestRunEndReason,
  ): void {
    let passed = 0;
    let skipped = 0;
    let failed = unhandled.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        const { retryCount = 0, flaky } = test.diagnostic() ?? {};
        if (flaky) {
          process.stdout.write(`flaky: passed at try ${retryCount + 1}: ${test.fullName}\n`);
          for (const { message, stack = '' } of errors)
            process.stdout.write(`  ${message}\n${stack.split('\n').slice(1, 4).join('\n')}\n`);
        }
        if (state === 'passed') passed++;
        else if (state === 'failed' || state === 'pending') failed++;
        else skipped++;
      }
    }
    // An interrupted run, or one without tests, must not look like a success.
    if (reason !== 'passed' && failed === 0) failed = 1;
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  }
}
