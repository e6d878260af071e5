import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStorage, FileTooLarge, type Storage, StorageUnavailable } from './storage.ts';

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

describe('storage in a bucket', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** A store that answers each request in the same way. */
  async function store(
    answer: RequestListener,
    idleTimeoutMs = 100,
  ): Promise<{ storage: Storage; failures: string[] }> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const failures: string[] = [];
    const storage = await createStorage(
      {
        folder: 'unused',
        s3: {
          bucket: 'files',
          region: 'us-east-1',
          endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          accessKeyId: 'key',
          secretAccessKey: 'secret',
          idleTimeoutMs,
          longestMs: 1000,
        },
      },
      (operation) => failures.push(operation),
    );
    return { storage, failures };
  }

  const error =
    (status: number, code: string): RequestListener =>
    (request, response) => {
      request.resume();
      request.once('end', () => {
        response.writeHead(status, { 'Content-Type': 'application/xml' });
        response.end(
          request.method === 'HEAD' ? '' : `<Error><Code>${code}</Code><Message>Refused</Message></Error>`,
        );
      });
    };
  const page =
    (status: number, body: string): RequestListener =>
    (request, response) => {
      request.resume();
      request.once('end', () => response.writeHead(status, { 'Content-Type': 'text/html' }).end(body));
    };
  const dripping: RequestListener = (request, response) => {
    request.resume();
    response.writeHead(200, { 'Content-Length': '100000' });
    const timer = setInterval(() => response.write('x'), 20);
    response.once('close', () => clearInterval(timer));
  };
  const file = (): Readable => Readable.from([Buffer.from('content')]);

  it.each([
    ['accepts connections and does not answer', () => {}, /put a file: .*Timeout/i],
    [
      'closes connections',
      (request: IncomingMessage) => request.destroy(),
      /put a file: .*(hang up|ECONNRESET|EPIPE)/,
    ],
    ['has no such bucket', error(404, 'NoSuchBucket'), /put a file: NoSuchBucket/],
    ['refuses the key', error(403, 'InvalidAccessKeyId'), /put a file: InvalidAccessKeyId/],
    ['is overloaded', error(503, 'SlowDown'), /put a file: SlowDown/],
    ['is full', error(507, 'XMinioStorageFull'), /put a file: XMinioStorageFull/],
    ['is in another region', error(301, 'PermanentRedirect'), /put a file: PermanentRedirect/],
    ['redirects to another region', error(307, 'TemporaryRedirect'), /put a file: TemporaryRedirect/],
    ['has another time', error(403, 'RequestTimeTooSkewed'), /put a file: RequestTimeTooSkewed/],
    [
      'is behind a proxy that responds for it',
      page(502, '<html>Bad gateway'),
      /put a file: it responded 502/,
    ],
    ['is behind a proxy that asks for a login', page(401, '{"error":1}'), /put a file: it responded 401/],
    ['is behind a page that responds 200', page(200, '<html>Log in'), /put a file: .* not the store's own/],
    ['responds with nothing', page(400, ''), /put a file: it responded 400/],
    ['sends its answer a byte at a time', dripping, /put a file: it has not ended after 1 s/],
  ])('says what failed if the store %s', async (_, answer, reason) => {
    // A busy machine may drip more slowly than a store that says nothing is waited for.
    const { storage, failures } = await store(answer, answer === dripping ? 10_000 : 100);
    await expect(storage.put('org_1/a', file(), 100)).rejects.toThrow(reason);
    await expect(storage.put('org_1/a', file(), 100)).rejects.toThrow(StorageUnavailable);
    await expect(storage.check()).rejects.toThrow(StorageUnavailable);
    expect(failures).toEqual(['put', 'put', 'put']);
  });

  it('returns nothing that something else than the store responds', async () => {
    const { storage } = await store(page(200, '<html>Log in</html>'));
    await expect(storage.open('org_1/a')).rejects.toThrow(StorageUnavailable);
    await expect(storage.open('org_1/a', { start: 0, end: 9 })).rejects.toThrow(StorageUnavailable);
  });

  it('fails its check if the store returns something else than it has accepted', async () => {
    const { storage } = await store((request, response) => {
      request.resume();
      request.once('end', () => response.writeHead(200, { ETag: '"1"' }).end('other'));
    });
    await expect(storage.check()).rejects.toThrow('returns something else than it has accepted');
  });

  it('is asked again what is wrong if it hangs up while a file is sent', async () => {
    const { storage } = await store((request, response) => {
      if (request.method === 'PUT') request.destroy();
      else error(404, 'NoSuchBucket')(request, response);
    });
    await expect(storage.check()).rejects.toThrow(/put a file: NoSuchBucket/);
  });

  it('does not wait for a store that stops in the middle of a file', async () => {
    const { storage } = await store(({ method }, response) => {
      response.writeHead(200, { 'Content-Length': '100', ETag: '"1"' });
      if (method === 'HEAD') response.end();
      else response.write('half');
    });
    const content = await storage.open('org_1/a', { start: 0, end: 99 });
    await expect(content && buffer(content)).rejects.toThrow(/aborted|timed out/i);
  });
});
