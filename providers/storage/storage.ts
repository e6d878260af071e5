import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import { Readable, Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import type { DriverContract } from 'flydrive/types';
import type { ByteRange } from '#domain/base/byte-range.ts';
import { createReceivedBytes } from './received-bytes.ts';

/** File storage for all workspaces: a folder, or a bucket shared by all processes. */
export interface StorageOptions {
  /** Absolute, or relative to the working directory. Used if there is no bucket. */
  folder: string;
  s3: {
    bucket: string;
    region: string;
    /** The URL of a store with an S3-compatible API; default: Amazon's. */
    endpoint: string | null;
    accessKeyId: string;
    secretAccessKey: string;
    /** PEM file of the certificate authority of the store; null: a public one. */
    caFile?: string | null;
    /** Without a byte in either direction for so long, an operation fails; default: 10 seconds. */
    idleTimeoutMs?: number;
    /** How long an operation may take in all, however slowly the store goes on; default: by the operation. */
    longestMs?: number;
  } | null;
}

export interface Storage {
  /**
   * Stores a stream under a key, replacing an existing file. Leaves nothing behind if the stream fails.
   * @returns the size in bytes.
   * @throws FileTooLarge; Busy if too much is being received
   */
  put(key: string, content: Readable, limit: number, contentType?: string | null): Promise<number>;
  /** @returns null if there is no such file. */
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  delete(key: string): Promise<void>;
  /** Stores, reads and deletes a small file. @throws StorageUnavailable */
  check(): Promise<void>;
}

/** The store refuses, does not respond in time, or is not set up; the message says what failed. Each method throws it. */
export class StorageUnavailable extends Error {}

export class FileTooLarge extends Error {
  constructor(limit: number) {
    super(`the file is larger than ${limit} bytes`);
  }
}

const MB = 1024 * 1024;
/** The temporary folder of the Helm chart has 1 GiB. */
const RECEIVED_AT_MOST = { inAll: 768 * MB, workspace: 512 * MB };

/** Not derived from file names, which callers choose. */
export const storageKey = (workspaceId: string, attachmentId: string): string =>
  `${workspaceId}/${attachmentId}`;

const workspaceOf = (key: string): string => key.split('/', 1)[0] ?? '';

type Operation = 'put' | 'open' | 'delete';

/** A large file takes minutes; a store that sends its answer a byte at a time would take forever. */
const LONGEST_MS: Readonly<Record<Operation, number>> = { put: 600_000, open: 60_000, delete: 60_000 };
const CHECK = 'check';

/** @param onFailure called with each operation that the store has failed. */
export async function createStorage(
  { folder, s3 }: StorageOptions,
  onFailure: (operation: Operation) => void = () => {},
): Promise<Storage> {
  const { driver, openRange } = s3 ? await bucket(s3) : files(resolve(folder));
  const disk = new Disk(driver);
  const received = createReceivedBytes(RECEIVED_AT_MOST);
  async function of<T>(operation: Operation, work: Promise<T>): Promise<T> {
    try {
      return await inTime(work, s3?.longestMs ?? LONGEST_MS[operation]);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === null) throw error;
      onFailure(operation);
      throw new StorageUnavailable(`the file store failed to ${operation} a file: ${reason}`, {
        cause: error,
      });
    }
  }
  const storage: Storage = {
    async put(key, content, limit, contentType) {
      // Buffered in a file, because a bucket requires the size in advance and a failed stream must leave nothing.
      const scratch = await mkdtemp(join(tmpdir(), 'linepace-'));
      const bytes = received.ofFile(workspaceOf(key));
      try {
        const counter = new ByteCounter(limit, bytes.add);
        const path = join(scratch, 'file');
        await pipeline(content, counter, createWriteStream(path));
        const file = createReadStream(path);
        // If the disk refuses before it reads, the file is gone when it is opened. Nobody else listens for that error.
        file.on('error', () => {});
        await of('put', disk.putStream(key, file, contentType ? { contentType } : {}));
        return counter.bytes;
      } finally {
        await rm(scratch, { recursive: true, force: true });
        bytes.release();
      }
    },
    async open(key, range) {
      if (!(await of('open', disk.exists(key)))) return null;
      return of('open', range ? openRange(key, range) : disk.getStream(key));
    },
    delete: (key) => of('delete', disk.delete(key)),
    async check() {
      const key = `.checks/${randomUUID()}`;
      await storage.put(key, Readable.from([Buffer.from(CHECK)]), MB).catch(async (error: unknown) => {
        // Some servers answer and hang up while a file is being sent, so that the answer is lost. Reading asks again.
        const why = await openRange(key, { start: 0, end: 0 }).then(
          () => null,
          (other: unknown) => (isAbsence(other) ? null : reasonOf(other)),
        );
        if (why === null || !isLostConnection(error)) throw error;
        throw new StorageUnavailable(`the file store failed to put a file: ${why}`, { cause: error });
      });
      const content = await storage.open(key);
      if (!content) throw new StorageUnavailable('the file store does not return the files that it accepts');
      if ((await of('open', text(content))) !== CHECK)
        throw new StorageUnavailable('the file store returns something else than it has accepted');
      await storage.delete(key);
    },
  };
  return storage;
}

/** Why the store has failed; null: the error is not the store's. The library's message names only the file. */
function reasonOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, cause, message } = error as NodeJS.ErrnoException & { cause?: unknown };
  if (code?.startsWith('E_CANNOT_')) return cause instanceof Error ? describe(cause) : message;
  // Of the S3 client and of Node.
  return '$metadata' in error || (code !== undefined && /^E[A-Z]+$/.test(code)) ? describe(error) : null;
}

/** The store says that there is no such file, which says nothing about the store. */
const isAbsence = (error: unknown): boolean => error instanceof Error && error.name === 'NoSuchKey';

const isLostConnection = (error: unknown): boolean =>
  error instanceof StorageUnavailable &&
  /\b(?:EPIPE|ECONNRESET)\b|socket hang up|aborted/.test(error.message);

/** A response without an error of the store's own is a proxy's, or empty. */
function describe(error: Error): string {
  const { name, message } = error;
  const status = '$metadata' in error && (error.$metadata as { httpStatusCode?: number }).httpStatusCode;
  const isOwn = !['', 'Error', 'Unknown'].includes(name);
  if (status && !isOwn) return `it responded ${status}`;
  return isOwn ? [name, message].filter((part) => part !== '').join(': ') : message;
}

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(Object.assign(new Error(`it has not ended after ${ms / 1000} s`), { code: 'ETIMEDOUT' }));
  }, ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

interface Place {
  driver: DriverContract;
  /** Range reads, which the library does not support. @param key of an existing file. */
  openRange(key: string, range: ByteRange): Promise<Readable>;
}

const files = (folder: string): Place => ({
  driver: new FSDriver({ location: folder, visibility: 'private' }),
  openRange: async (key, range) => createReadStream(join(folder, key), range),
});

/** Connecting takes milliseconds, and a store that is busy sends or receives something every second. */
const CONNECTION_TIMEOUT_MS = 3000;
const IDLE_TIMEOUT_MS = 10_000;

/** Otherwise the client prints warnings to the console. */
const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** A store names the version of an object in each response. What responds 200 without it is something in between, such as a login page. */
const OF_OBJECTS = new Set(['PutObjectCommand', 'GetObjectCommand', 'HeadObjectCommand']);

/** Loaded on demand, because the S3 client is large. */
async function bucket({
  bucket: Bucket,
  region,
  endpoint,
  accessKeyId,
  secretAccessKey,
  caFile = null,
  idleTimeoutMs: socketTimeout = IDLE_TIMEOUT_MS,
}: NonNullable<StorageOptions['s3']>): Promise<Place> {
  const { S3Driver } = await import('flydrive/drivers/s3');
  const { GetObjectCommand, S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({
    region,
    credentials: { accessKeyId, secretAccessKey },
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      socketTimeout,
      httpsAgent: {
        keepAlive: true,
        ...(caFile !== null && { ca: [...rootCertificates, await readFile(caFile, 'utf8')] }),
      },
    },
    maxAttempts: 2,
    logger: SILENT,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
  });
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const result = await next(args);
        if (OF_OBJECTS.has(commandName) && !('ETag' in result.output && result.output.ETag))
          throw Object.assign(new Error("the response is not the store's own"), { code: 'ENOTSTORE' });
        return result;
      },
    { step: 'initialize' },
  );
  return {
    // Buckets without ACLs are the default.
    driver: new S3Driver({ client, bucket: Bucket, visibility: 'private', supportsACL: false }),
    async openRange(Key, { start, end }) {
      const { Body } = await client.send(
        new GetObjectCommand({ Bucket, Key, Range: `bytes=${start}-${end}` }),
      );
      return Body as Readable;
    },
  };
}

class ByteCounter extends Transform {
  bytes = 0;
  readonly #limit: number;
  readonly #receive: (bytes: number) => void;

  /** @param receive called with the size of each chunk; what it throws fails the stream. */
  constructor(limit: number, receive: (bytes: number) => void) {
    super();
    this.#limit = limit;
    this.#receive = receive;
  }

  override _transform(
    chunk: Buffer,
    _encoding: string,
    done: (error: Error | null, chunk?: Buffer) => void,
  ): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#limit) return done(new FileTooLarge(this.#limit));
    try {
      this.#receive(chunk.length);
    } catch (error) {
      return done(error as Error);
    }
    done(null, chunk);
  }
}
