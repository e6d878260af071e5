/**
 * How many times longer a piece of work takes on input of twice the length: about 2 when its time is linear, 4 when it
 * is quadratic. Both lengths take turns and count with their fastest run, in processor time, so that a busy machine
 * does not tell.
 */
export function growth<T>(input: (length: number) => T, work: (input: T) => unknown, length: number): number {
  const [one, two] = [input(length), input(2 * length)];
  const fastest = { one: Infinity, two: Infinity };
  for (let run = 0; run < 10; run += 1) {
    fastest.one = Math.min(
      fastest.one,
      taken(() => work(one)),
    );
    fastest.two = Math.min(
      fastest.two,
      taken(() => work(two)),
    );
  }
  return fastest.two / fastest.one;
}

/** Repeated until the clock can tell. */
function taken(work: () => unknown): number {
  let times = 0;
  const started = process.threadCpuUsage();
  for (;;) {
    work();
    times += 1;
    const { user, system } = process.threadCpuUsage(started);
    if (user + system > 1000) return (user + system) / times;
  }
}
