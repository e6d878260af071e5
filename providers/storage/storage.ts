import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';

/** Where the files of all workspaces lie: a folder, or a bucket that all processes share. */
export interface StorageOptions {
  /** Absolute or relative to the working directory; used when there is no bucket. */
  folder: string;
  s3: {
    bucket: string;
    region: string;
    /** For stores that speak S3's protocol under another address. */
    endpoint: string | null;
    accessKeyId: string;
    secretAccessKey: string;
  } | null;
}

export interface Storage {
  /**
   * Stores a stream under a key, replacing what is there; nothing is left behind when it breaks off.
   * @returns its size in bytes.
   * @throws FileTooLarge
   */
  put(key: string, content: Readable, limit: number, contentType?: string | null): Promise<number>;
  /** @returns null when there is no such file. */
  open(key: string): Promise<Readable | null>;
  delete(key: string): Promise<void>;
}

export class FileTooLarge extends Error {
  constructor(limit: number) {
    super(`the file is larger than ${limit} bytes`);
  }
}

/** Never from a file's name: what a caller chose does not become a path. */
export const storageKey = (workspaceId: string, attachmentId: string): string =>
  `${workspaceId}/${attachmentId}`;

export async function createStorage({ folder, s3 }: StorageOptions): Promise<Storage> {
  const disk = new Disk(
    s3 ? await s3Driver(s3) : new FSDriver({ location: resolve(folder), visibility: 'private' }),
  );
  return {
    async put(key, content, limit, contentType) {
      // Through a file, since a bucket wants to know the size beforehand and a broken stream must leave nothing.
      const scratch = await mkdtemp(join(tmpdir(), 'linepace-'));
      try {
        const counter = new ByteCounter(limit);
        const path = join(scratch, 'file');
        await pipeline(content, counter, createWriteStream(path));
        await disk.copyFromFs(path, key, contentType ? { contentType } : {});
        return counter.bytes;
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    },
    open: async (key) => ((await disk.exists(key)) ? disk.getStream(key) : null),
    delete: (key) => disk.delete(key),
  };
}

/** Loaded only where it is used: the S3 client is larger than all the rest. */
async function s3Driver({
  bucket,
  region,
  endpoint,
  accessKeyId,
  secretAccessKey,
}: NonNullable<StorageOptions['s3']>) {
  const { S3Driver } = await import('flydrive/drivers/s3');
  return new S3Driver({
    bucket,
    region,
    credentials: { accessKeyId, secretAccessKey },
    visibility: 'private',
    // Buckets without access lists are the default everywhere by now.
    supportsACL: false,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
  });
}

class ByteCounter extends Transform {
  bytes = 0;
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override _transform(
    chunk: Buffer,
    _encoding: string,
    done: (error: Error | null, chunk?: Buffer) => void,
  ): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#limit) done(new FileTooLarge(this.#limit));
    else done(null, chunk);
  }
}
