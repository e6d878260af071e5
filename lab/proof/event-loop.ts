import { startVitest } from 'vitest/node';

/**
 * `npm run prove -- event-loop`: sends the worst bodies of 1 MB to every route, asks for the largest pages, and prints how long each
 * holds the event loop, in milliseconds of processor time. It fails if a request takes more than 50 ms in each of five attempts.
 */
const vitest = await startVitest('test', [], { project: ['event-loop'], run: true });
await vitest.exit();
