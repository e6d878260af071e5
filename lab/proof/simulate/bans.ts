import { writeFileSync } from 'node:fs';
import { DAYS, LINES, runSeed, type SeedOutcome } from './bans/compare.ts';
import { drawBans } from './bans/picture.ts';

/**
 * Carriers that ban by hidden rules: fixed caps against `protect`, with the same leads. Prints a table and draws it. Fails
 * if `protect` bans more than a third, or gets less than 95 % of the replies. The weights were tuned with the first half of
 * the seeds only.
 */
const SEEDS = 20;
const TUNED_UP_TO = 10;
const MAX_BANS = 1 / 3;
const LEAST_REPLIES = 0.95;
const PICTURE = new URL('../../../docs/reputation-bans.svg', import.meta.url);

interface Pair {
  off: SeedOutcome;
  protect: SeedOutcome;
}

const started = performance.now();

function compare(replacedAfter: number): Pair[] {
  return Array.from({ length: SEEDS }, (_, index) => ({
    off: runSeed(index + 1, 'off', replacedAfter),
    protect: runSeed(index + 1, 'protect', replacedAfter),
  }));
}

const total = (pairs: readonly Pair[], policy: keyof Pair, of: (outcome: SeedOutcome) => number): number =>
  pairs.reduce((sum, pair) => sum + of(pair[policy]), 0);

const ratio = (pairs: readonly Pair[], of: (outcome: SeedOutcome) => number): number =>
  total(pairs, 'protect', of) / total(pairs, 'off', of);

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function report(title: string, pairs: readonly Pair[]): void {
  const row = (policy: keyof Pair): string => {
    const sum = (of: (outcome: SeedOutcome) => number): number => total(pairs, policy, of);
    const wait = sum(({ waitDays, reached }) => waitDays * reached) / sum(({ reached }) => reached);
    return `| ${policy === 'off' ? 'fixed caps' : 'protect'} | ${sum(({ bans }) => bans)} | ${sum(({ replies }) => replies)} | ${sum(({ reached }) => reached)} | ${wait.toFixed(1)} |`;
  };
  console.log(`\n${title}\n`);
  console.log('| | bans | replies | leads written to | days until then |\n| - | - | - | - | - |');
  console.log(row('off'));
  console.log(row('protect'));
  console.log(
    `\nprotect: ${percent(ratio(pairs, ({ bans }) => bans))} of the bans, ${percent(ratio(pairs, ({ replies }) => replies))} of the replies`,
  );
  console.log(
    `bans by rule: ${reasons(pairs, 'off')} with fixed caps; ${reasons(pairs, 'protect')} with protect`,
  );
}

function reasons(pairs: readonly Pair[], policy: keyof Pair): string {
  const rules = pairs.flatMap((pair) =>
    pair[policy].lines.flatMap(({ bans }) => bans.map(({ rule }) => rule)),
  );
  return [...Map.groupBy(rules, (rule) => rule)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([rule, found]) => `${rule} ${found.length}`)
    .join(', ');
}

const pairs = compare(Infinity);
console.log(`${SEEDS} carriers with hidden rules, ${LINES} lines each, ${DAYS} days, the same leads`);
report('All seeds', pairs);
report(`Seeds 1 to ${TUNED_UP_TO}, used for tuning`, pairs.slice(0, TUNED_UP_TO));
report(`Seeds ${TUNED_UP_TO + 1} to ${SEEDS}, held out`, pairs.slice(TUNED_UP_TO));
report('All seeds, when each banned line is replaced by a new one after a week', compare(7));

const bans = ratio(pairs, (outcome) => outcome.bans);
const replies = ratio(pairs, (outcome) => outcome.replies);
const summary = `${SEEDS} carriers, ${LINES} lines each, ${DAYS} days: ${percent(bans)} of the bans and ${percent(replies)} of the replies with protect`;
writeFileSync(PICTURE, `${drawBans(pairs, TUNED_UP_TO, summary)}\n`);
console.log(`\ntime ${((performance.now() - started) / 1000).toFixed(1)} s`);
if (bans > MAX_BANS || replies < LEAST_REPLIES) process.exitCode = 1;
