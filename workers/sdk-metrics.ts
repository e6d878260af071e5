import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TelemetryOptions } from '@temporalio/worker';

/**
 * The metrics of Temporal's SDK: latencies, slots, polls and failures by task queue and type. The SDK serves them on a port
 * of its own, here one of the loopback address, from which they are read.
 */
export interface SdkMetrics {
  telemetry: TelemetryOptions;
  /** @returns them in the Prometheus text format; '' while the SDK does not serve them. */
  read(): Promise<string>;
}

export async function createSdkMetrics(): Promise<SdkMetrics> {
  const address = `127.0.0.1:${await freePort()}`;
  return {
    telemetry: {
      metrics: {
        prometheus: {
          bindAddress: address,
          countersTotalSuffix: true,
          unitSuffix: true,
          useSecondsForDurations: true,
        },
      },
    },
    async read() {
      try {
        const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(2000) });
        return response.ok ? await response.text() : '';
      } catch {
        return '';
      }
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
