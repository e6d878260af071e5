import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const FOLDER = '.github/workflows';

interface Job {
  permissions?: Record<string, string>;
  environment?: string;
  steps: { uses?: string; run?: string }[];
}

const jobs = readdirSync(FOLDER).flatMap((file) => {
  const workflow = parse(readFileSync(`${FOLDER}/${file}`, 'utf8')) as { jobs: Record<string, Job> };
  return Object.entries(workflow.jobs).map(([name, job]): [string, Job] => [`${file}: ${name}`, job]);
});

describe.each(jobs)('%s', (_, { permissions = {}, environment, steps }) => {
  it('pins its actions by commit', () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/@[0-9a-f]{40}$/);
  });

  it('publishes only where people have approved it', () => {
    if (Object.values(permissions).includes('write')) expect(environment).toBe('release');
  });

  it('runs no scripts of dependencies if what it builds is published', () => {
    const commands = steps.map(({ run = '' }) => run).join('\n');
    if (!/\bnpm pack\b|\buv build\b/.test(commands)) return;
    expect(commands).toContain('npm ci --ignore-scripts');
    expect(commands).not.toMatch(/\bnpm (?:run|test|exec|install|i)\b|\bnpx\b|\.ci\/run/);
  });

  it('runs no code of the repository and its dependencies if it may publish', () => {
    const mayPublish = Object.values(permissions).includes('write');
    const commands = steps.map(({ run = '' }) => run).join('\n');
    const runsCode =
      /\bnpm (?:ci|i|install|run|test|exec)\b|\bnpx\b|\buv (?:build|run|sync)\b|\.ci\/run/.test(commands);
    expect(mayPublish && runsCode).toBe(false);
  });
});
