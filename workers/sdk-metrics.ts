import type { TelemetryOptions } from '@temporalio/worker';
import { freePort } from '#providers/free-port.ts';

/**
 * The metrics of Temporal's SDK: latencies, slots, polls and failures by task queue and type. The SDK serves them only on a
 * port of its own. It listens on a loopback port, from which `read` fetches them.
 */
export interface SdkMetrics {
  telemetry: TelemetryOptions;
  /** @returns the metrics in the Prometheus text format; '' if the SDK does not respond. */
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
