import { expect, test } from 'vitest';
import { readSettings, wantedPorts } from './settings.ts';

const portsOf = (environment: Record<string, string>): [string, number][] =>
  wantedPorts(readSettings(environment)).map(({ variable, port }) => [variable, port]);

test('API and worker have metrics ports of their own', () => {
  const metrics = portsOf({ METRICS_PORT: '4160' }).filter(([variable]) => variable === 'METRICS_PORT');
  expect(metrics).toEqual([
    ['METRICS_PORT', 4160],
    ['METRICS_PORT', 4161],
  ]);
  expect(() => readSettings({ METRICS_PORT: '65535' })).toThrow('METRICS_PORT');
  expect(portsOf({}).map(([variable]) => variable)).not.toContain('METRICS_PORT');
});
