import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import * as workflows from '#workflows/index.ts';
import { PATHS } from '#test/support/histories.ts';

/**
 * Replays the histories of real runs, saved by `SAVE_HISTORIES=1 npm test`, with the current workflows: a change that
 * running workflows cannot follow fails here and not in production.
 */
const FOLDER = new URL('../histories/', import.meta.url);
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const read = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
/** By file, undefined for a history that replays. */
const errors = new Map<string, Error | undefined>();

// One worker replays all: each would load the bundle anew.
beforeAll(async () => {
  const histories = files.map((name) => ({ workflowId: name, history: JSON.parse(read(name)) as unknown }));
  const workflowBundle = { codePath: inject('workflowBundle') };
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
    errors.set(workflowId, error);
  }
});

describe('the saved histories', () => {
  it.each(files)('include %s, which replays', (name) => {
    expect(errors.has(name)).toBe(true);
    expect(errors.get(name)).toBeUndefined();
  });

  it.each(Object.keys(workflows))('include one of %s', (type) => {
    expect(files.some((name) => name.startsWith(`${type}.`))).toBe(true);
  });

  it.each(Object.keys(PATHS))('include one that was %s', (path) => {
    expect(files.some((name) => name.endsWith(`.${path}.json`))).toBe(true);
  });

  it.each(files)('include %s, without addresses, numbers or texts', (name) => {
    const text = read(name);
    const payloads = [...text.matchAll(/"data": ?"([A-Za-z0-9+/=]+)"/g)].map(([, data = '']) =>
      Buffer.from(data, 'base64').toString('utf8'),
    );
    for (const payload of payloads)
      expect(payload).not.toMatch(/\+\d{8,}|@[a-z]|"(body|message|text|name|email|phone)"/i);
    // Failures are stored as plain text, with causes and stacks; a stack names packages such as `@temporalio/worker`.
    for (const [, failure] of text.matchAll(/"(?:message|stackTrace)": ?"((?:[^"\\]|\\.)*)"/g))
      expect(failure).not.toMatch(/\+\d{8,}|\w@[\w-]+\.\w/i);
  });
});
