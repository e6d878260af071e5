import { expect, test } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { requireFreePorts } from './ports.ts';

test('a port that two parts want is named with both variables', async () => {
  const [port, other] = [await freePort(), await freePort()];
  const api = { port, variable: 'PORT', purpose: 'API' };
  await requireFreePorts([api, { port: other, variable: 'SIMULATOR_PORT', purpose: 'simulated providers' }]);
  await expect(
    requireFreePorts([api, { port, variable: 'METRICS_PORT', purpose: "the worker's metrics" }]),
  ).rejects.toThrow(
    `Port ${port} (the worker's metrics) is also that of PORT (API); set METRICS_PORT to another port.`,
  );
});
