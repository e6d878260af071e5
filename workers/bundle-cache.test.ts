import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheBundle, readCachedBundle } from './bundle-cache.ts';

let folder: string;
const path = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'linepace-bundle-'));
  for (const name of ['index.ts', 'campaign.ts']) writeFileSync(path(name), `of ${name}`);
  await cacheBundle(path('cached'), { code: 'the code' }, [path('index.ts'), path('campaign.ts')]);
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (entry = path('index.ts')) => readCachedBundle(path('cached'), entry);

describe('a cached bundle', () => {
  it('is used for as long as its files are the same', async () => {
    expect(await read()).toEqual({ code: 'the code' });
    writeFileSync(path('campaign.ts'), 'changed');
    expect(await read()).toBeNull();
  });

  it('is not used once a file is gone', async () => {
    rmSync(path('campaign.ts'));
    expect(await read()).toBeNull();
  });

  it('is not used for another checkout', async () => {
    expect(await read('/elsewhere/index.ts')).toBeNull();
  });

  it('may be missing or cut short', async () => {
    writeFileSync(path('cached'), '{"code": "the');
    expect(await read()).toBeNull();
    rmSync(path('cached'));
    expect(await read()).toBeNull();
  });
});
