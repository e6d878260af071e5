import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Environment } from '#domain/base/environment.ts';
import { pauseAfterFailure, TOLD_AFTER_MS } from '#domain/lines/inbox-health.ts';

const FOLDER = new URL('../deploy/prometheus/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

const { groups } = parse(read('alerts.yml')) as { groups: { rules: { alert: string }[] }[] };
const { tests } = parse(read('alerts.test.yml')) as {
  tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
};
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
const observability = readFileSync(new URL('../docs/observability.md', import.meta.url), 'utf8');
const promtool = process.env['PROMTOOL'] ?? 'promtool';
const hasPromtool = spawnSync(promtool, ['--version']).status === 0;

describe('deploy/prometheus', () => {
  it.each(alerts)('shows the alert %s firing', (alert) => {
    const shown = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    const firing = shown.filter(
      ({ alertname, exp_alerts = [] }) => alertname === alert && exp_alerts.length > 0,
    );
    expect(firing).not.toEqual([]);
  });

  it.each(alerts)('has a row about the alert %s in docs/observability.md', (alert) => {
    expect(observability).toMatch(new RegExp(`^\\|.*\`${alert}\`.*\\|`, 'm'));
  });

  it.each(['prometheus.yml', 'machine.yml'])(
    'tells of an unreadable mailbox within a minute, with %s',
    (name) => {
      const { global } = parse(read(name)) as {
        global: { scrape_interval: string; evaluation_interval: string };
      };
      const rule = groups
        .flatMap(({ rules }) => rules)
        .find(({ alert }) => alert === 'LinepaceInboxUnreadable');
      expect(rule).not.toHaveProperty('for');
      const secondsOf = (text: string): number => Number(/^(\d+)s$/.exec(text)?.[1]);
      const inboxPollSeconds = Environment.shape.INBOX_POLL_SECONDS.parse(undefined);
      const told =
        inboxPollSeconds +
        TOLD_AFTER_MS / 1000 +
        secondsOf(global.scrape_interval) +
        secondsOf(global.evaluation_interval);
      expect(told).toBeLessThan(60);
      expect(pauseAfterFailure(inboxPollSeconds * 1000, 0)).toBeLessThan(TOLD_AFTER_MS);
    },
  );

  // The title appears among the skipped tests.
  it.skipIf(!hasPromtool)('fires as shown, by promtool (skipped without it; PROMTOOL names its path)', () => {
    const { status, stdout, stderr } = spawnSync(
      promtool,
      ['test', 'rules', fileURLToPath(new URL('alerts.test.yml', FOLDER))],
      { encoding: 'utf8' },
    );
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});
