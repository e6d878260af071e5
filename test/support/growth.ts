/**
 * How much longer work takes for sixteen times the input: about 16 if its time is linear, 256 if it is quadratic. Compares the
 * processor time of the fastest of several alternating runs, which is independent of other load. Runs are repeated while the result
 * is near the bound or beyond.
 * @param length a quarter of the longer input.
 */
export function growth<T>(input: (length: number) => T, work: (input: T) => unknown, length: number): number {
  const [short, long] = [input(length / 4), input(4 * length)];
  const fastest = { short: Infinity, long: Infinity };
  const isClear = (): boolean => fastest.long / fastest.short < LINEAR / 2;
  for (let run = 0; run < MAX_RUNS && (run < MIN_RUNS || !isClear()); run += 1) {
    fastest.short = Math.min(
      fastest.short,
      timeOf(() => work(short)),
    );
    fastest.long = Math.min(
      fastest.long,
      timeOf(() => work(long)),
    );
  }
  return fastest.long / fastest.short;
}

/** The first warms up the compiler. */
const MIN_RUNS = 3;
const MAX_RUNS = 10;

/** A bound between linear and quadratic growth that tolerates noise, and caches that hold the short input only. */
export const LINEAR = 64;

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
