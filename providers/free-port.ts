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

/** A free loopback port. */
export const freePort = (): Promise<number> => tryPort(0, '127.0.0.1');
