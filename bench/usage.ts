import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** What a process and its children hold and have used so far. */
export interface Usage {
  /** Resident memory of the process itself, in MB: what children share would count twice. */
  mb: number;
  /** Processor time of all of them, in seconds. */
  cpu: number;
}

/** Time on a processor tells what work costs even where others keep the machine busy. */
export function usageOf<Name extends string>(pids: Record<Name, number>): Record<Name, Usage> {
  const rows = execFileSync('ps', ['axS', '-o', 'pid=,ppid=,rss=,time='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => {
      const [pid, parent, rss, time = ''] = row.trim().split(/\s+/);
      return {
        pid: Number(pid),
        parent: Number(parent),
        mb: Math.round(Number(rss) / 1024),
        cpu: precise(Number(pid)) ?? seconds(time),
      };
    });
  const cpu = (pid: number): number =>
    rows.reduce(
      (sum, row) => sum + (row.pid === pid ? row.cpu : 0) + (row.parent === pid ? cpu(row.pid) : 0),
      0,
    );
  return Object.fromEntries(
    Object.entries<number>(pids).map(([name, pid]) => [
      name,
      { mb: rows.find((row) => row.pid === pid)?.mb ?? 0, cpu: cpu(pid) },
    ]),
  ) as Record<Name, Usage>;
}

/** `[[days-]hours:]minutes:seconds` */
function seconds(time: string): number {
  const [clock = '', days = '0'] = time.split('-').toReversed();
  return Number(days) * 86_400 + clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Many short-lived helpers of a server each use less than the second that `ps` counts in. */
function precise(pid: number): number | null {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return null;
  try {
    // After the name, which may hold anything: own and ended children's time, user and system, in hundredths.
    const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return 0;
  }
}
