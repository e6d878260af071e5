/** What it takes to read and write `TEXT` on a machine for which limits in milliseconds are meant. */
const NOMINAL_MS = 1.8;
const TEXT = JSON.stringify(
  Array.from({ length: 10_000 }, (_, n) => ({
    firstName: 'Ada',
    phone: `0151 ${10_000_000 + n}`,
    email: `a${n}@example.com`,
  })),
);
/** Shorter work is within every limit, however slow the machine is. */
const SHORT_MS = 20;

/**
 * Measures the longest piece of work of this thread while `work` runs, in milliseconds of its processor time: what other
 * processes of the machine do does not count. On a machine that is slow just now, it is less in proportion.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = busyMs();
  const timer = setInterval(() => {
    const now = busyMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  try {
    await work();
    // The last piece of work ends before the next timer.
    await new Promise((resolve) => setTimeout(resolve, 2));
  } finally {
    clearInterval(timer);
  }
  return longest < SHORT_MS ? longest : longest / slowness();
}

/** How much longer this machine takes just now; at least 1. */
function slowness(): number {
  const times = Array.from({ length: 5 }, () => {
    const before = busyMs();
    JSON.stringify(JSON.parse(TEXT));
    return busyMs() - before;
  });
  return Math.max(1, Math.min(...times) / NOMINAL_MS);
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
