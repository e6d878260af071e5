/**
 * How many times longer a piece of work takes on input of four times the length: about 4 when its time is linear, 16
 * when it is quadratic. Both lengths take turns and count with their fastest run, in processor time, so that a busy
 * machine does not tell.
 */
export function growth<T>(input: (length: number) => T, work: (input: T) => unknown, length: number): number {
  const [one, four] = [input(length), input(4 * length)];
  const fastest = { one: Infinity, four: Infinity };
  for (let run = 0; run < 10; run += 1) {
    fastest.one = Math.min(
      fastest.one,
      taken(() => work(one)),
    );
    fastest.four = Math.min(
      fastest.four,
      taken(() => work(four)),
    );
  }
  return fastest.four / fastest.one;
}

/** Between what is linear and what is quadratic, on a logarithmic scale with room for noise below. */
export const LINEAR = 12;

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
