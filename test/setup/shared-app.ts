import { afterAll } from 'vitest';

// A shared app outlives the file, so nothing else saves its histories.
if (process.env['SAVE_HISTORIES'] === '1') {
  afterAll(async () => (await import('#test/support/app.ts')).saveSharedHistories());
}
