import { TestWorkflowEnvironment } from '@temporalio/testing';

/*
 * Downloads the Temporal CLI into a folder, as the SDK does for tests: it asks https://temporal.download for the release
 * of this platform, and starts a server once, which is stopped here. Usage: node standalone/temporal-download.ts <folder>
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
  // One line, for the launcher repeats it among the ways that failed.
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${message.replaceAll('\n', ' ')}\n`);
  process.exit(1);
}
