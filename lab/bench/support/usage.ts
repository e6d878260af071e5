import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** The memory and processor time of a process and its children. */
export interface Usage {
  /** Resident memory of the process alone, in MB, since memory shared with children would count twice. */
  mb: number;
  /** Processor time of the process and its children, in seconds. */
  cpu: number;
}

/** Uses processor time, which is comparable even under other load. */
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
        cpu: preciseCpu(Number(pid)) ?? seconds(time),
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

/** Processor time in hundredths of a second, since `ps` counts whole seconds and many children live shorter. */
function preciseCpu(pid: number): number | null {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return null;
  try {
    // The fields after the name: user and system time of the process and of its ended children, in hundredths.
    const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return 0;
  }
}
