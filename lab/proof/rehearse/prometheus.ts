import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { freePort } from '../../../providers/free-port.ts';
import { openLog } from '../../../standalone/log-file.ts';
import { runningProcess } from '../../../standalone/running-process.ts';
import { stopAtEnd } from '../../bench/support/leftovers.ts';
import { until } from '../../bench/support/waiting.ts';
import type { Programs } from './programs.ts';

/** A series of values by time, in seconds. */
export interface Series {
  labels: Record<string, string>;
  values: [at: number, value: number][];
}

export interface Prometheus {
  url: string;
  query(expression: string, from: Date, to: Date, stepSeconds: number): Promise<Series[]>;
  stop(): Promise<void>;
}

const RULES = fileURLToPath(new URL('../../../deploy/prometheus/alerts.yml', import.meta.url));
const EVERY = '5s';

/**
 * Starts Prometheus with the alert rules of `deploy/`.
 * @param targets addresses by the name of their job.
 * @param every how often it scrapes and evaluates.
 */
export async function startPrometheus(
  folder: string,
  { prometheus, promtool }: Pick<Programs, 'prometheus' | 'promtool'>,
  targets: Readonly<Record<string, readonly string[]>>,
  every = EVERY,
): Promise<Prometheus> {
  mkdirSync(folder, { recursive: true });
  const configFile = join(folder, 'prometheus.yml');
  const configuration = {
    global: { scrape_interval: every, evaluation_interval: every },
    rule_files: [RULES],
    scrape_configs: Object.entries(targets).map(([job_name, addresses]) => ({
      job_name,
      static_configs: [{ targets: addresses }],
    })),
  };
  writeFileSync(configFile, stringify(configuration));
  execFileSync(promtool, ['check', 'config', configFile], { stdio: 'pipe' });
  const address = `127.0.0.1:${await freePort()}`;
  const log = openLog(join(folder, 'prometheus.log'));
  const arguments_ = [
    `--config.file=${configFile}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ];
  const child = spawn(prometheus, arguments_, { stdio: ['ignore', log, log] });
  const server = await runningProcess(child, 'SIGTERM');
  stopAtEnd(server, 'SIGTERM');
  const url = `http://${address}`;
  await until(async () => (await fetch(`${url}/-/ready`)).ok);
  return {
    url,
    async query(query, from, to, stepSeconds) {
      const parameters = new URLSearchParams({
        query,
        start: String(from.getTime() / 1000),
        end: String(to.getTime() / 1000),
        step: String(stepSeconds),
      });
      const response = await fetch(`${url}/api/v1/query_range?${parameters.toString()}`);
      const { data, error } = (await response.json()) as {
        error?: string;
        data?: { result: { metric: Record<string, string>; values: [number, string][] }[] };
      };
      if (!data) throw new Error(`${query}: ${error}`);
      return data.result.map(({ metric, values }) => ({
        labels: metric,
        values: values.map(([at, value]) => [at, Number(value)]),
      }));
    },
    stop: () => server.stop(),
  };
}
