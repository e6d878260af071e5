import { tryPort } from '#providers/free-port.ts';

/** A required port and the environment variable that changes it. */
export interface WantedPort {
  port: number;
  variable: string;
  /** The part that listens on it. */
  purpose: string;
}

const REASONS: Record<string, string> = { EADDRINUSE: 'is in use', EACCES: 'requires privileges' };

/** @throws an error that lists every unavailable port, its purpose and its variable. */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const problems: string[] = [];
  for (const { port, variable, purpose } of wanted) {
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
