import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStorage, FileTooLarge, type Storage } from './storage.ts';

describe('storage in a folder', () => {
  let folder: string;
  let storage: Storage;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'linepace-storage-'));
    storage = await createStorage({ folder, s3: null });
  });
  afterEach(() => rm(folder, { recursive: true }));

  const read = async (key: string): Promise<string | null> => {
    const stream = await storage.open(key);
    return stream && (await buffer(stream)).toString();
  };

  it('returns a stored file and its size', async () => {
    expect(await storage.put('org_1/a', Readable.from([Buffer.from('one '), Buffer.from('file')]), 100)).toBe(
      8,
    );
    expect(await read('org_1/a')).toBe('one file');
    await storage.put('org_1/a', Readable.from([Buffer.from('again')]), 100);
    expect(await read('org_1/a')).toBe('again');
    await storage.delete('org_1/a');
    expect(await read('org_1/a')).toBeNull();
  });

  it('keeps nothing of a file that is too large or incomplete', async () => {
    await expect(storage.put('org_1/a', Readable.from([Buffer.alloc(11)]), 10)).rejects.toThrow(FileTooLarge);
    const broken = Readable.from(
      (function* () {
        yield Buffer.from('half');
        throw new Error('connection lost');
      })(),
    );
    await expect(storage.put('org_1/b', broken, 100)).rejects.toThrow('connection lost');
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses keys that lead out of the folder', async () => {
    await expect(storage.put('../a', Readable.from([Buffer.from('x')]), 100)).rejects.toThrow(
      'Path traversal',
    );
  });
});
