import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Listens on a port for a moment. @param port 0 for any free port. @throws the system's error, e.g. `EADDRINUSE`. */
export function tryPort(port: number, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** Below the ports that Linux and macOS give to outgoing connections and to servers that ask for any. */
const [LOWEST, HIGHEST] = [20_000, 32_767];

/** A free loopback port that no other program takes by chance before it is used, or while its server restarts. */
export const freePort = (): Promise<number> =>
  tryPort(randomInt(LOWEST, HIGHEST + 1), '127.0.0.1').catch((error: { code?: unknown }) => {
    if (error.code === 'EADDRINUSE' || error.code === 'EACCES') return freePort();
    throw error;
  });
