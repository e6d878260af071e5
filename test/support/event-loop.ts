/**
 * Measures the longest piece of work of this thread while `work` runs, in milliseconds of its processor time: what other
 * processes of the machine do does not count.
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
  return longest;
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
