import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { PNG, upload, uploaded, wav } from '#test/support/files.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
});

const MB = 1024 * 1024;
const ELF = Buffer.concat([Buffer.from('\x7fELF'), Buffer.alloc(100)]);
const png = { name: 'photo.png', content: PNG, type: 'image/png' };

describe('uploading a file', () => {
  it('returns a link that opens it for a year without a credential', async () => {
    const { status, body } = await upload(app, workspace.key, png);
    expect(status).toBe(200);
    expect(body).toEqual({
      url: expect.any(String),
      name: 'photo.png',
      size: PNG.length,
      contentType: 'image/png',
      workspaceId: workspace.id,
    });
    const days = (Number(new URL(body.url).searchParams.get('expires')) * 1000 - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(364);
    expect(days).toBeLessThan(367);
    const response = await fetch(body.url);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(PNG);
  });

  it('makes byte ranges of it available', async () => {
    const content = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
    const { body } = await upload(app, workspace.key, { name: 'film.mp4', content, type: 'video/mp4' });
    const part = async (range: string, headers: Record<string, string> = {}) => {
      const response = await fetch(body.url, { headers: { range, ...headers } });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, range: response.headers.get('content-range'), bytes };
    };
    const parts: [range: string, start: number, end: number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=70000-140000', 70_000, 140_000],
      ['bytes=199990-', 199_990, 199_999],
      ['bytes=-5', 199_995, 199_999],
      ['bytes=100-9999999', 100, 199_999],
    ];
    for (const [range, start, end] of parts) {
      expect(await part(range)).toEqual({
        status: 206,
        range: `bytes ${start}-${end}/200000`,
        bytes: content.subarray(start, end + 1),
      });
    }
    expect(await part('bytes=200000-')).toMatchObject({ status: 416, range: 'bytes */200000' });
    const whole = { status: 200, range: null, bytes: content };
    for (const range of ['bytes=5-1', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=-'])
      expect(await part(range)).toEqual(whole);
    expect(await part('bytes=0-1', { 'if-range': '"a version"' })).toEqual(whole);
  });

  it('accepts every allowed extension in any case, and a missing content type', async () => {
    const allowed = [
      'mp3',
      'm4a',
      'wav',
      'aac',
      'ogg',
      'caf',
      'png',
      'jpg',
      'gif',
      'webp',
      'heic',
      'mp4',
      'mov',
      'webm',
      'PDF',
    ];
    for (const extension of allowed) {
      const { status } = await upload(app, workspace.key, {
        name: `a file.${extension}`,
        content: 'unknown content',
      });
      expect(status, extension).toBe(200);
    }
    const bare = await post('/api/attachments/upload', form('a.mp3', 'x', ''));
    expect(bare.body.contentType).toBeNull();
  });

  it('accepts content of another allowed type', async () => {
    for (const name of ['photo.jpg', 'photo.heic', 'scan.pdf', 'voice.m4a'])
      expect((await upload(app, workspace.key, { name, content: PNG, type: 'image/png' })).status, name).toBe(
        200,
      );
  });

  it.each([
    ['a file of another kind', { name: 'virus.exe', content: 'MZ' }, 400, /pdf$/],
    [
      'a name without an extension',
      { name: 'pdf', content: 'x' },
      400,
      /mp3, m4a, wav, aac, ogg, caf, png, jpg, gif, webp, heic, mp4, mov, webm, pdf$/,
    ],
    ['an empty file', { name: 'empty.pdf', content: '' }, 400, /^File is empty\.$/],
    ['a program named like a photo', { name: 'photo.jpg', content: ELF }, 400, /application\/x-elf/],
    ['a file over 25 MB', { name: 'a.mp4', content: Buffer.alloc(26 * MB) }, 413, /26\.0 MB.*under 25 MB/],
  ])('is refused for %s', async (_, file, status, error) => {
    const response = await upload(app, workspace.key, file);
    expect(response.status).toBe(status);
    expect(response.body.error).toMatch(error);
  });

  it('is refused without a form, and with a form that has no file', async () => {
    const json = await api('POST', '/api/attachments/upload', {});
    expect([json.status, json.body.error]).toEqual([
      400,
      expect.stringMatching(/multipart\/form-data.*file/),
    ]);
    const without = await post(
      '/api/attachments/upload',
      `--b\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--b--\r\n`,
    );
    expect([without.status, without.body.error]).toEqual([
      400,
      expect.stringMatching(/no file was provided/),
    ]);
  });

  it.each(['file', 'other'])('is refused for a form that ends within its part %s', async (part) => {
    const start = `--b\r\nContent-Disposition: form-data; name="${part}"; filename="a.png"\r\n\r\n`;
    for (const content of ['', 'abc', 'x'.repeat(200_000)]) {
      const response = await post('/api/attachments/upload', start + content);
      expect([response.status, response.body.error]).toEqual([
        400,
        expect.stringMatching(/the form cannot be read/),
      ]);
    }
  });

  it('is refused without a credential, with an agency key and in a read-only workspace', async () => {
    const anonymous = await upload(app, '', png);
    expect([anonymous.status, anonymous.body.error]).toEqual([401, 'Unauthorized']);
    expect((await upload(app, (await createAgency(app)).key, png)).status).toBe(403);
    const late = await createWorkspace(app, { subscription_status: 'past_due' });
    expect((await upload(app, late.key, png)).status).toBe(402);
  });

  it('is possible up to exactly 25 MB', async () => {
    const full = { name: 'a.mp4', content: Buffer.alloc(25 * MB) };
    expect((await upload(app, workspace.key, full)).status).toBe(200);
    const more = await upload(app, workspace.key, { ...full, content: Buffer.alloc(25 * MB + 1) });
    expect([more.status, more.body.error]).toEqual([413, expect.stringMatching(/under 25 MB/)]);
  });

  it('stops as soon as the file exceeds the limit', async () => {
    let sent = 0;
    const [head = ''] = form('a.mp4', '@', 'video/mp4').split('@');
    const endless = Readable.from(
      (function* () {
        yield Buffer.from(head);
        for (; ; sent += 65_536) yield Buffer.alloc(65_536);
      })(),
    );
    const unknownLength = startUpload();
    endless.pipe(unknownLength);
    expect((await answerOf(unknownLength)).statusCode).toBe(413);
    // Some megabytes are in flight between the two.
    expect(sent).toBeLessThan(50 * MB);
    endless.destroy();
    unknownLength.destroy();
  });

  it('is refused before the body is sent if Content-Length exceeds the limit', async () => {
    const [head = ''] = form('a.mp4', '@', 'video/mp4').split('@');
    const declared = startUpload({ 'content-length': String(26 * MB) });
    declared.write(head);
    expect((await answerOf(declared)).statusCode).toBe(413);
    declared.destroy();
  });

  it('returns the first response again for a repeated Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'upload-1' };
    const first = await upload(app, workspace.key, png, key);
    const again = await upload(app, workspace.key, png, key);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await upload(app, workspace.key, { ...png, name: 'other.png' }, key)).status).toBe(409);
  });

  it('streams files: twelve at once are not held in memory', async () => {
    const before = process.memoryUsage().arrayBuffers;
    let highest = 0;
    const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().arrayBuffers)), 5);
    const statuses = await Promise.all(Array.from({ length: 12 }, () => uploadStream(25)));
    clearInterval(timer);
    expect(new Set(statuses)).toEqual(new Set([200]));
    // In memory they would take 300 MB twice, since sender and receiver share this process. The count includes buffers
    // that are not collected yet.
    expect(highest - before).toBeLessThan(250 * MB);
  });
});

describe('the link to a file', () => {
  const get = (url: string, given = {}) => fetch(url, { headers: given });

  it('serves a cacheable download that browsers never display', async () => {
    const name = 'Grüße "an" alle.pdf';
    const url = await uploaded(app, workspace.key, { name, content: '<script>alert(1)</script>' });
    const { status, headers: told } = await get(url);
    expect(status).toBe(200);
    expect(Object.fromEntries(told)).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': expect.stringMatching(/^attachment; .*filename\*=UTF-8''Gr%C3%BC%C3%9Fe/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, max-age=86400, immutable',
      'accept-ranges': 'bytes',
    });
    // Without the second, fetch adds `no-cache`.
    const again = await get(url, { 'if-none-match': told.get('etag'), 'cache-control': 'max-age=0' });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '25']);
  });

  it('serves the rest of a file that has not changed', async () => {
    const url = await uploaded(app, workspace.key, { name: 'a.mp4', content: '0123456789' });
    const etag = (await get(url)).headers.get('etag');
    const rest = await get(url, { range: 'bytes=7-', 'if-range': etag });
    expect([rest.status, rest.headers.get('content-range'), await rest.text()]).toEqual([
      206,
      'bytes 7-9/10',
      '789',
    ]);
  });

  it('is refused if it was changed, has expired or names another workspace', async () => {
    const url = await uploaded(app, workspace.key, png);
    const { pathname } = new URL(url);
    const [, , , id = ''] = pathname.split('/');
    const links = createSignedLinks(app.config.publicUrl, createSigner(app.config.signingKeys));
    const file = { workspaceId: workspace.id, attachmentId: id, name: 'photo.png' };
    const other = await createWorkspace(app);
    const inAnHour = new Date(Date.now() + 3_600_000);
    expect((await get(links.sign(file, inAnHour))).status).toBe(200);
    for (const wrong of [
      links.sign(file, new Date(Date.now() - 1000)),
      url.replace(/.(?=&)/, (digit) => (digit === '9' ? '8' : '9')),
      url.replace(workspace.id, other.id),
      url.replace('photo', 'image'),
      url.replace(/signature=.*/, 'signature='),
      url.replace(/\?.*/, ''),
    ]) {
      const response = await get(wrong);
      expect([response.status, ((await response.json()) as { code: string }).code], wrong).toEqual([
        403,
        'LINK_NOT_VALID',
      ]);
    }
    // A valid signature for another workspace, which does not have the file.
    expect((await get(links.sign({ ...file, workspaceId: other.id }, inAnHour))).status).toBe(404);
  });
});

describe('attachmentUrls', () => {
  const send = (url: string, fields = {}) =>
    api('POST', '/api/messages', { recipientPhone: phone(), attachmentUrls: [url], ...fields });

  it("accept the workspace's own uploads in messages, drips and campaigns, and reach the carrier", async () => {
    const url = await uploaded(app, workspace.key, png);
    const to = phone();
    expect((await send(url, { recipientPhone: to })).status).toBe(201);
    expect((await api('POST', '/api/drip', { recipientPhone: phone(), attachmentUrls: [url] })).status).toBe(
      202,
    );
    const steps = [{ message: '', attachmentUrls: [url], delay: {} }];
    expect((await api('POST', '/api/campaigns', { name: 'Pictures', steps })).status).toBe(201);
    const [sent] = await eventually(async () => {
      const found = await sentTo(app, to);
      return found.length > 0 && found;
    });
    expect(sent?.attachments).toEqual([{ name: 'photo.png', contentType: 'image/png', voiceNote: false }]);
  });

  it('accept a link in another spelling', async () => {
    const url = new URL(await uploaded(app, workspace.key, png));
    const [, path = ''] = /^(.*)photo\.png/.exec(url.href) ?? [];
    const { signature, expires } = Object.fromEntries(url.searchParams);
    expect(
      (
        await send(
          `${path.replace('http://', 'HTTP://')}ph%6Fto.png?signature=${signature}&expires=${expires}#top`,
        )
      ).status,
    ).toBe(201);
  });

  it('refuse links that were changed, have expired or belong to another workspace', async () => {
    const url = await uploaded(app, workspace.key, png);
    const other = await createWorkspace(app);
    const theirs = await uploaded(app, other.key, png);
    const expires = new URL(url).searchParams.get('expires') ?? '';
    const refused = [
      theirs,
      theirs.replace(other.id, workspace.id),
      url.replace('photo', 'image'),
      `${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`,
      `${url}%`,
      url.replace(expires, String(Number(expires) + 1)),
      url.replace('http://localhost', 'http://example.com'),
      url.replace(/signature=.*/, ''),
      url.replace(/\?.*/, ''),
      `${app.url}/attachments`,
      url.replace('http://localhost', 'http://somebody@example.com'),
      url.replace('http://localhost', 'http://localhost@example.com'),
      url.replace('http://localhost', 'http://localhost.example.com'),
      url.replace('http://localhost', 'https://localhost'),
      url.replace(/:\d+/, ':1'),
      url.replace(workspace.id, `..%2F${other.id}`),
      `${theirs}#${url}`,
      `http://example.com/?${url}`,
      url.replace(/^http:/, 'javascript:'),
      'photo.png',
    ];
    for (const link of refused) {
      const { status, body } = await send(link);
      expect([status, body.issues?.[0]?.path], link).toEqual([400, 'attachmentUrls.0']);
    }
    expect(
      (await api('POST', '/api/drip', { recipientPhone: phone(), attachmentUrls: [theirs] })).status,
    ).toBe(400);
    const steps = [{ message: 'x', attachmentUrls: [theirs], delay: {} }];
    expect((await api('POST', '/api/campaigns', { name: 'Theirs', steps })).body.issues[0].path).toBe(
      'steps.0.attachmentUrls.0',
    );
  });

  it('send an audio file as a file unless a voice note is requested', async () => {
    const to = phone();
    await send(await uploaded(app, workspace.key, { name: 'a.wav', content: wav(1), type: 'audio/wav' }), {
      recipientPhone: to,
      attachmentNames: ['Song.wav'],
    });
    const [sent] = await eventually(async () => {
      const found = await sentTo(app, to);
      return found.length > 0 && found;
    });
    expect(sent?.attachments).toEqual([{ name: 'Song.wav', contentType: 'audio/wav', voiceNote: false }]);
  });
});

const form = (name: string, content: string, type: string): string =>
  `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n${type === '' ? '' : `Content-Type: ${type}\r\n`}\r\n${content}\r\n--b--\r\n`;
const headers = () => ({
  authorization: `Bearer ${workspace.key}`,
  'content-type': 'multipart/form-data; boundary=b',
});

/** Starts an upload. @returns the request, to write the body to. */
function startUpload(more: Record<string, string> = {}): ClientRequest {
  const url = `${app.url}/api/attachments/upload`;
  return request(url, { method: 'POST', headers: { ...headers(), ...more } });
}

const answerOf = (sent: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    sent.on('response', (response) => resolve(response.resume()));
    sent.on('error', reject);
  });

const post = (path: string, body: string) => api('POST', path, body, headers());

/** Streams a file of `size` MB without holding it in memory. @returns the status. */
function uploadStream(size: number): Promise<number | undefined> {
  const chunk = Buffer.alloc(65_536);
  const [head = '', tail = ''] = form('a.mov', '@', 'video/quicktime').split('@');
  const body = Readable.from(
    (function* () {
      yield Buffer.from(head);
      for (let at = 0; at < size * 16; at += 1) yield chunk;
      yield Buffer.from(tail);
    })(),
  );
  return answerOf(body.pipe(startUpload())).then(({ statusCode }) => statusCode);
}
