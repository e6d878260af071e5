import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { z } from 'zod';

/** Serves an app on the loopback interface. @param port 0: a free one. */
export async function serve(app: Koa, port = 0): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer(app.callback());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Refuses requests that the provider's schemas refuse, in its own form.
 * @param stopping once aborted, nobody waits for the responses that are late.
 */
export const refuseInvalid =
  (refuse: (context: Context, error: z.ZodError) => void, stopping?: AbortSignal): Middleware =>
  async (context, next) => {
    try {
      await next();
    } catch (error) {
      if (stopping?.aborted) return;
      if (!(error instanceof z.ZodError)) throw error;
      refuse(context, error);
    }
  };

/** The callbacks that a stand-in sends by itself, which it waits for before it stops. */
export function createReports() {
  const open = new Set<Promise<unknown>>();
  return {
    /** @param report whose failure nobody needs to know. */
    add(report: Promise<unknown>): void {
      const settled = report.catch(() => {}).finally(() => open.delete(settled));
      open.add(settled);
    },
    settled: (): Promise<unknown> => Promise.all(open),
  };
}
