import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { findViolations, type Race } from '#lab/proof/linearizability/race.ts';
import {
  draftDecisions,
  idempotencyKeys,
  linePayments,
  lineTransfers,
  optOuts,
} from '#lab/proof/linearizability/races.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

// `npm run prove -- linearizability` runs a thousand rounds of each, over two processes.
test.each([idempotencyKeys, lineTransfers, linePayments, draftDecisions, optOuts] as Race<
  unknown,
  unknown,
  unknown
>[])('one order of the requests explains what all clients saw ($name)', async (race) => {
  const site = { ...app, urls: [app.url] };
  const { violations, requests } = await findViolations(race, site, { rounds: 6, atOnce: 6 });
  // At least five requests compete in each round.
  expect(requests).toBeGreaterThanOrEqual(30);
  expect(violations).toEqual([]);
});
