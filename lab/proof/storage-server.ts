import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort } from '../../providers/free-port.ts';
import { createStorage, FileTooLarge, StorageUnavailable } from '../../providers/storage/storage.ts';
import { goProgram, provePart, responds, startProgram } from './world/part.ts';

/** `npm run prove -- storage-server`: stores and reads files at an S3 server, Versity S3 Gateway, built with Go. */
const VERSION = 'v1.8.0';
const [accessKeyId, secretAccessKey, region, MB] = [
  'proof',
  'a secret of the proof',
  'us-east-1',
  1024 * 1024,
];

await provePart({
  name: 'storage-server',
  find() {
    const program = goProgram('github.com/versity/versitygw/cmd/versitygw', VERSION);
    return program === null
      ? 'Versity S3 Gateway cannot be built; it requires Go'
      : { version: `versitygw ${VERSION}`, program };
  },
  async prove({ program }, check) {
    const folder = await mkdtemp(join(tmpdir(), 'linepace-s3-'));
    const port = await freePort();
    const endpoint = `http://127.0.0.1:${port}`;
    const server = await startProgram(
      program,
      ['--port', `127.0.0.1:${port}`, 'posix', folder],
      responds(endpoint),
      { env: { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey } },
    );
    const at = (fields: object = {}) =>
      createStorage({
        folder: '',
        s3: {
          bucket: 'files',
          region,
          endpoint,
          accessKeyId,
          secretAccessKey,
          idleTimeoutMs: 2000,
          ...fields,
        },
      });
    const failureOf = async (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'none',
        (error: unknown) =>
          error instanceof StorageUnavailable ? error.message : `another error: ${String(error)}`,
      );
    try {
      const storage = await at();
      const missing = await failureOf(storage.check());
      check('a bucket that does not exist is named', missing.includes('NoSuchBucket'), missing);
      await new S3Client({
        endpoint,
        region,
        forcePathStyle: true,
        credentials: { accessKeyId, secretAccessKey },
      }).send(new CreateBucketCommand({ Bucket: 'files' }));
      check('a bucket that works passes the check', (await failureOf(storage.check())) === 'none');

      const key = 'org_1/6742f1c09b1e8a00d4c3b2a1';
      await storage.put(key, Readable.from([Buffer.from('0123456789')]), MB, 'text/plain');
      const read = async (range?: { start: number; end: number }) => {
        const stream = await storage.open(key, range);
        return stream && text(stream);
      };
      check('a file is read back', (await read()) === '0123456789');
      check(
        '… and a part of it',
        (await read({ start: 2, end: 4 })) === '234',
        await read({ start: 2, end: 4 }),
      );
      check('a file that does not exist is none', (await storage.open('org_1/none')) === null);
      const large = await storage
        .put('org_1/large', Readable.from([Buffer.alloc(2 * MB)]), MB)
        .catch((error: unknown) => error);
      check(
        'a file over the limit is refused, and not stored',
        large instanceof FileTooLarge && (await storage.open('org_1/large')) === null,
      );
      const size = 25 * MB;
      const stored = await storage.put('org_1/25', Readable.from([Buffer.alloc(size)]), size);
      check('25 MB are stored', stored === size, stored);
      await storage.delete(key);
      check('a deleted file is gone', (await storage.open(key)) === null);
      const refused = await failureOf((await at({ secretAccessKey: 'wrong' })).check());
      check('a wrong secret is named', refused.includes('SignatureDoesNotMatch'), refused);
      const stranger = await failureOf((await at({ accessKeyId: 'stranger' })).check());
      check('an unknown access key is named', /access key|InvalidAccessKeyId/.test(stranger), stranger);

      server.process.kill('SIGSTOP');
      const begun = performance.now();
      const silent = await failureOf(storage.open('org_1/25'));
      const seconds = (performance.now() - begun) / 1000;
      check('a server that falls silent fails in time', silent !== 'none' && seconds < 30, {
        silent,
        seconds,
      });
      server.process.kill('SIGCONT');
      await server.stop();
      const gone = await failureOf(storage.check());
      check('a server that is gone is an error of the store', gone.includes('ECONNREFUSED'), gone);
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
});
