import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FetchMedia } from '../carriers/carrier.ts';
import { createSigner } from '../signer.ts';
import { createSignedLinks } from './signed-link.ts';
import { createStorage, storageKey } from './storage.ts';
import { storedMedia } from './stored-media.ts';

const file = { workspaceId: 'org_1', attachmentId: '0123456789abcdef01234567', name: 'a photo.png' };
const links = createSignedLinks(
  'https://api.example',
  createSigner(`k:${randomBytes(32).toString('base64')}`),
);
const never = new AbortController().signal;
let folder: string;
let fetchMedia: FetchMedia;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'linepace-media-'));
  const storage = await createStorage({ folder, s3: null });
  await storage.put(storageKey(file.workspaceId, file.attachmentId), Readable.from(['the file']), 100);
  fetchMedia = storedMedia(links, storage);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const inAnHour = new Date(Date.now() + 3_600_000);

test('a signed link gives its file, even after it has expired', async () => {
  const { content } = await fetchMedia(links.sign(file, inAnHour), never);
  expect(content.toString()).toBe('the file');
  const ended = links.sign(file, new Date(Date.now() - 3_600_000));
  expect((await fetchMedia(ended, never)).content.toString()).toBe('the file');
});

test.each([
  ['a URL of another server', 'http://169.254.169.254/latest/meta-data'],
  ['a link without a signature', links.raw(file)],
  ['a link to another file', links.sign(file, inAnHour).replace('org_1', 'org_2')],
])('%s is not fetched', async (_name, link) => {
  await expect(fetchMedia(link, never)).rejects.toThrow('not a link to a stored file');
});

test('a link to a deleted file fails', async () => {
  const gone = { ...file, attachmentId: 'f'.repeat(24) };
  await expect(fetchMedia(links.sign(gone, inAnHour), never)).rejects.toThrow('no longer exists');
});
