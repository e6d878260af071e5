/**
 * How much longer work takes for four times the input: about 4 if its time is linear, 16 if it is quadratic. Compares the
 * processor time of the fastest of several alternating runs, which is independent of other load.
 */
export function growth<T>(input: (length: number) => T, work: (input: T) => unknown, length: number): number {
  const [one, four] = [input(length), input(4 * length)];
  const fastest = { one: Infinity, four: Infinity };
  for (let run = 0; run < 10; run += 1) {
    fastest.one = Math.min(
      fastest.one,
      timeOf(() => work(one)),
    );
    fastest.four = Math.min(
      fastest.four,
      timeOf(() => work(four)),
    );
  }
  return fastest.four / fastest.one;
}

/** A bound between linear and quadratic growth that tolerates noise. */
export const LINEAR = 12;

/** @returns the processor time of one run in microseconds, averaged over enough runs to measure. */
function timeOf(work: () => unknown): number {
  let times = 0;
  const started = process.threadCpuUsage();
  for (;;) {
    work();
    times += 1;
    const { user, system } = process.threadCpuUsage(started);
    if (user + system > 1000) return (user + system) / times;
  }
}
