import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server that can swallow what goes through its present connections, as after the loss of a host: no FIN, no RST. Or reset them. */
export async function startBlackHole(host: string, port: number, at = 0) {
  let swallowsNew = false;
  const pairs = new Set<{ client: Socket; server: Socket; isSwallowed: boolean }>();
  const front = createServer((client) => {
    const server = connect(port, host);
    const pair = { client, server, isSwallowed: swallowsNew };
    pairs.add(pair);
    client.on('data', (chunk) => void (pair.isSwallowed || server.write(chunk)));
    server.on('data', (chunk) => void (pair.isSwallowed || client.write(chunk)));
    client.on('error', () => {});
    server.on('error', () => {});
    client.on('close', () => {
      pairs.delete(pair);
      server.destroy();
    });
    server.on('close', () => void (pair.isSwallowed || client.destroy()));
  });
  await new Promise<void>((resolve) => front.listen(at, '127.0.0.1', resolve));
  return {
    port: (front.address() as AddressInfo).port,
    /** Swallows the present connections; the server loses them. New ones pass, or are swallowed as well. */
    swallow({ andNew = false } = {}): number {
      swallowsNew = andNew;
      for (const pair of pairs) {
        pair.isSwallowed = true;
        pair.server.destroy();
      }
      return pairs.size;
    },
    /** Resets the present connections, as the server that takes over the address of a lost one. */
    reset(): void {
      for (const { client } of pairs) client.resetAndDestroy();
    },
    async close() {
      for (const { client } of pairs) client.destroy();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}
