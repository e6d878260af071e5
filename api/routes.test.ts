import { expect, test } from 'vitest';
import { publishedRoutes } from './routes.ts';

test.each([
  [null, false, true],
  [null, true, false],
  [9464, false, false],
  [9464, true, false],
])(
  'with METRICS_PORT=%s, production: %s, metrics are on the public port: %s',
  (metricsPort, production, are) => {
    const paths = publishedRoutes({ metricsPort, production }).map(({ path }) => path);
    expect(paths.includes('/metrics')).toBe(are);
    expect(paths).toContain('/healthz');
  },
);
