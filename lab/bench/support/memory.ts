import { execFileSync } from 'node:child_process';

/** Measures the resident sets of processes in MB before `work`, and their peak while it runs. */
export async function watchMemory<T>(
  pids: Record<string, number>,
  work: () => Promise<T>,
): Promise<{ result: T; peak: Record<string, number>; before: Record<string, number> }> {
  const measure = () =>
    Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, residentMb(pid)]));
  const before = measure();
  const peak = { ...before };
  const timer = setInterval(() => {
    for (const [name, mb] of Object.entries(measure())) peak[name] = Math.max(peak[name] ?? 0, mb);
  }, 500);
  try {
    return { result: await work(), peak, before };
  } finally {
    clearInterval(timer);
  }
}

/** The resident set of a process, in MB. */
export const residentMb = (pid: number): number =>
  Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024);
