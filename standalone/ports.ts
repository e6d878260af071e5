import { tryPort } from '#providers/free-port.ts';

/** A required port and the environment variable that changes it. */
export interface WantedPort {
  port: number;
  variable: string;
  /** The part that listens on it. */
  purpose: string;
}

const REASONS: Record<string, string> = { EADDRINUSE: 'is in use', EACCES: 'requires privileges' };

/** @throws an error that lists every port that is unavailable or wanted twice, its purpose and its variable. */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const problems: string[] = [];
  const parts = new Map<number, WantedPort>();
  for (const part of wanted) {
    const { port, variable, purpose } = part;
    const other = parts.get(port);
    if (other) {
      problems.push(
        `Port ${port} (${purpose}) is also that of ${other.variable} (${other.purpose}); set ${variable} to another port.`,
      );
      continue;
    }
    parts.set(port, part);
    try {
      await tryPort(port);
      // A listener on the loopback address alone does not collide with the wildcard on every system.
      await tryPort(port, '127.0.0.1');
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      problems.push(
        `Port ${port} (${purpose}) ${REASONS[code] ?? message}; set ${variable} to another port.`,
      );
    }
  }
  if (problems.length > 0) throw new Error(problems.join('\n'));
}
