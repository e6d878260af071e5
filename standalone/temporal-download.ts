import { TestWorkflowEnvironment } from '@temporalio/testing';

/*
 * Downloads the Temporal CLI for this platform from https://temporal.download into a folder. The SDK does so when it starts
 * a test server, which is stopped here.
 *
 * Usage: node standalone/temporal-download.ts <folder>
 */
const downloadDir = process.argv[2];
if (downloadDir === undefined) throw new Error('usage: node standalone/temporal-download.ts <folder>');
try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', version: 'default', downloadDir } },
  });
  await environment.teardown();
  process.exit(0);
} catch (error) {
  // On one line, because the launcher prints the last line of stderr.
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${message.replaceAll('\n', ' ')}\n`);
  process.exit(1);
}
