import { createServer } from 'node:net';

/** A required port and the environment variable that changes it. */
export interface WantedPort {
  port: number;
  variable: string;
  /** The part that listens on it. */
  purpose: string;
}

/** Tries to listen on a port, on all interfaces or one. @param port 0 for any free port. @throws the system's error. */
function tryPort(port: number, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** A free loopback port. */
export const freePort = (): Promise<number> => tryPort(0, '127.0.0.1');

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
