const DAY_SECONDS = 86_400;

/**
 * The ends of the time axis: room for half a bar at both, which has the width of the shortest time between two, a day at most, and around a single
 * value half a day.
 * @param times of the values, in Unix seconds, ascending.
 */
export function timeRange(times: readonly number[], bars: boolean): [first: number, last: number] {
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const room = bars || first === last ? Math.min(...steps, DAY_SECONDS) / 2 : 0;
  return [first - room, last + room];
}
