import { parseArgs } from 'node:util';
import { findViolations, type Race, type Site } from './linearizability/race.ts';
import {
  draftDecisions,
  idempotencyKeys,
  linePayments,
  lineTransfers,
  optOuts,
} from './linearizability/races.ts';
import { startProduct } from '../bench/support/product.ts';

/**
 * Runs each race many times against two API processes, and checks that one order of the requests explains what all clients
 * saw: `npm run prove -- linearizability [--rounds 1000 --at-once 8 --only draft]`.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    'at-once': { type: 'string', default: '8' },
    only: { type: 'string', default: '' },
  },
});
const [rounds, atOnce] = [Number(values.rounds), Number(values['at-once'])];

const product = await startProduct(2);
const site: Site = { ...product, url: product.config.publicUrl };
const results: Record<string, object> = {};

async function run<S, I, O>(race: Race<S, I, O>): Promise<void> {
  if (!race.name.includes(values.only)) return;
  const started = performance.now();
  const { violations, requests, unanswered } = await findViolations(race, site, { rounds, atOnce });
  const seconds = Math.round((performance.now() - started) / 1000);
  results[race.name] = { rounds, requests, unanswered, seconds, violations: violations.length };
  console.log(`${race.name}: ${violations.length} of ${rounds} rounds cannot be explained, ${seconds} s`);
  for (const { history } of violations.slice(0, 3)) console.log(JSON.stringify(history));
  if (violations.length > 0) process.exitCode = 1;
}

try {
  await run(idempotencyKeys);
  await run(lineTransfers);
  await run(linePayments);
  await run(draftDecisions);
  await run(optOuts);
  console.table(results);
} finally {
  await product.stop();
}
