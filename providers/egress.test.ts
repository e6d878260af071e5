import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { createEgress, type Egress, type EgressOptions } from './egress.ts';
import { UrlNotAllowed } from './egress-guard.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function egress(options: Partial<EgressOptions> = {}): Egress {
  const made = createEgress({ allowPrivate: false, httpsOnly: false, ...options });
  cleanups.push(() => made.close());
  return made;
}

async function listening(
  server: Server,
): Promise<{ port: number; sockets: Set<Socket>; total: () => number }> {
  const sockets = new Set<Socket>();
  let total = 0;
  server.on('connection', (socket: Socket) => {
    total += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, sockets, total: () => total };
}
const serve = (listener: RequestListener) => listening(createServer(listener));

const request = {
  headers: { 'content-type': 'application/json' },
  body: '{}',
  timeoutMs: 5_000,
  maxResponseBytes: 65_536,
};
const at =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('the URL of a request', () => {
  it.each([
    ['decimal', 'http://127.0.0.1/'],
    ['one number', 'http://2130706433/'],
    ['hexadecimal', 'http://0x7f.1/'],
    ['hexadecimal, one number', 'http://0x7f000001/'],
    ['octal', 'http://0177.0.0.1/'],
    ['two parts', 'http://127.1/'],
    ['trailing dot', 'http://127.0.0.1./'],
    ['percent encoded', 'http://%31%32%37.0.0.1/'],
    ['full-width digits', 'http://１２７.０.０.１/'],
    ['ideographic full stops', 'http://127。0。0。1/'],
    ['zero', 'http://0/'],
    ['unspecified', 'http://[::]/'],
    ['IPv6 loopback', 'http://[::1]/'],
    ['IPv6 loopback in full', 'http://[0:0:0:0:0:0:0:1]/'],
    ['IPv4-mapped', 'http://[::ffff:127.0.0.1]/'],
    ['IPv4-mapped, hexadecimal', 'http://[::ffff:7f00:1]/'],
    ['zone', 'http://[fe80::1%25eth0]/'],
    ['private', 'https://10.0.0.1/'],
    ['metadata', 'http://169.254.169.254/latest/meta-data/'],
    ['localhost', 'http://localhost:9999/'],
    ['localhost with a trailing dot', 'http://localhost./'],
    ['below localhost', 'http://app.localhost/'],
    ['metadata name', 'http://metadata.google.internal/'],
    ['multicast DNS name', 'http://printer.local/'],
    ['user name', 'https://user@example.com/'],
    ['password', 'https://user:secret@example.com/'],
    ['user name that looks like a host', 'https://example.com@127.0.0.1/'],
    ['ftp', 'ftp://example.com/'],
    ['file', 'file:///etc/passwd'],
    ['javascript', 'javascript:alert(1)'],
    ['no URL', 'example.com'],
    ['empty', ''],
  ])('is refused in the form “%s” at registration and at the request: %s', async (_what, url) => {
    const guarded = egress({ resolve: at('93.184.216.34') });
    await expect(guarded.guard.checkUrl(url)).rejects.toThrow(UrlNotAllowed);
    const result = await guarded.post(url, request);
    expect(result).toMatchObject({ status: null, connected: false, body: '' });
    expect(result.error).toMatch(/^url not allowed: /);
  });

  it('is refused with http if https is required', async () => {
    const guarded = egress({ httpsOnly: true, resolve: at('93.184.216.34') });
    await expect(guarded.guard.checkUrl('http://example.com/')).rejects.toThrow('only https is allowed');
    await expect(guarded.guard.checkUrl('https://example.com/')).resolves.toBeUndefined();
  });

  it('is refused if any address of its host is not public', async () => {
    const url = 'https://example.com/hook';
    await expect(egress({ resolve: at('93.184.216.34') }).guard.checkUrl(url)).resolves.toBeUndefined();
    await expect(egress({ resolve: at('10.1.2.3') }).guard.checkUrl(url)).rejects.toThrow(UrlNotAllowed);
    await expect(egress({ resolve: at('93.184.216.34', '::1') }).guard.checkUrl(url)).rejects.toThrow(
      UrlNotAllowed,
    );
  });

  it('is refused without revealing what its host resolves to', async () => {
    await expect(egress({ resolve: at('10.1.2.3') }).guard.checkUrl('https://example.com/')).rejects.toThrow(
      /^[^\d]*$/,
    );
  });

  it('passes the check at registration if its host does not resolve, or not in time', async () => {
    const unknown = egress({ resolve: () => Promise.reject(new Error('no such name')) });
    await expect(unknown.guard.checkUrl('https://example.com/')).resolves.toBeUndefined();
    vi.useFakeTimers();
    cleanups.push(async () => vi.useRealTimers());
    const silent = egress({ resolve: () => new Promise(() => {}) }).guard.checkUrl('https://example.com/');
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(silent).resolves.toBeUndefined();
  });
});

describe('a request with loopback allowed', () => {
  it.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', 'hooks.example.com'])(
    'reaches %s',
    async (host) => {
      const { port } = await serve((incoming, answer) => answer.writeHead(202).end(incoming.headers.host));
      const open = egress({
        allowPrivate: true,
        ...(host.includes('example') && { resolve: at('127.0.0.1') }),
      });
      const url = `http://${host}:${port}/`;
      await expect(open.guard.checkUrl(url)).resolves.toBeUndefined();
      expect(await open.post(url, request)).toMatchObject({
        status: 202,
        error: null,
        connected: true,
        body: new URL(url).host,
      });
    },
  );

  it.each([
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'http://0.0.0.0/',
    'http://[fd00::1]/',
    'http://[::127.0.0.1]/',
  ])('does not reach %s', async (url) => {
    await expect(egress({ allowPrivate: true }).guard.checkUrl(url)).rejects.toThrow(UrlNotAllowed);
  });
});

describe('a request', () => {
  it('is refused if its host was public when checked but is loopback now (DNS rebinding)', async () => {
    const server = await serve((_incoming, answer) => answer.end('secret'));
    const resolve = vi.fn(at('127.0.0.1')).mockImplementationOnce(at('93.184.216.34'));
    const guarded = egress({ resolve });
    const url = `http://rebind.example.com:${server.port}/`;
    await guarded.guard.checkUrl(url);
    const result = await guarded.post(url, request);
    expect(result).toMatchObject({
      status: null,
      connected: false,
      error: expect.stringMatching(/^url not allowed/),
    });
    expect(resolve).toHaveBeenCalledTimes(2);
    expect(server.total()).toBe(0);
  });

  it('does not follow redirects', async () => {
    const target = await serve((_incoming, answer) => answer.end('secret'));
    const { port } = await serve((_incoming, answer) =>
      answer.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end(),
    );
    expect(await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, request)).toMatchObject({
      status: 307,
      error: null,
    });
    expect(target.total()).toBe(0);
  });

  it('carries path, query, headers and body unchanged', async () => {
    const { port } = await serve(async (incoming, answer) => {
      const body = (await incoming.toArray()).join('');
      answer.end(JSON.stringify([incoming.method, incoming.url, incoming.headers['x-svc-event'], body]));
    });
    const sent = { ...request, headers: { 'X-Svc-Event': 'message.sent' }, body: '{"text":"grüße"}' };
    const { body } = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/a/b?c=d#e`, sent);
    expect(JSON.parse(body)).toEqual(['POST', '/a/b?c=d', 'message.sent', '{"text":"grüße"}']);
  });

  it('whose connection is refused is reported as not connected, without the address', async () => {
    const server = createTcpServer();
    const { port } = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    const result = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, request);
    expect(result).toMatchObject({ status: null, error: 'connection refused', connected: false });
  });

  it('whose connection closes without a response is reported as connected', async () => {
    const { port } = await listening(
      createTcpServer((socket) => socket.once('data', () => socket.destroy())),
    );
    const result = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, request);
    expect(result).toMatchObject({ status: null, connected: true });
    expect(result.error).toMatch(/^connection (reset|closed)/);
  });

  const answering = (...lines: string[]) =>
    listening(createTcpServer((socket) => socket.once('data', () => socket.write(lines.join('\r\n')))));
  const ok = ['HTTP/1.1 200 OK', 'content-length: 2', '', 'ok'];
  const early = ['HTTP/1.1 103 Early Hints', 'link: </style.css>; rel=preload', ''];

  it.each([
    ['100', ['HTTP/1.1 100 Continue', '']],
    ['100 with headers', ['HTTP/1.1 100 Continue', 'date: Fri, 27 Nov 2026 10:00:00 GMT', '']],
    ['102', ['HTTP/1.1 102 Processing', '']],
    ['103', early],
    ['several', ['HTTP/1.1 100 Continue', '', ...early, 'HTTP/1.1 100 Continue', '']],
  ])('accepts informational responses that it did not ask for: %s', async (_name, informational) => {
    const server = await answering(...informational, ...ok);
    const url = `http://127.0.0.1:${server.port}/`;
    const open = egress({ allowPrivate: true });
    const delivered = { status: 200, error: null, body: 'ok' };
    expect(await open.post(url, request)).toMatchObject(delivered);
  });

  it('accepts one that comes before the body was sent, over a connection that is used again', async () => {
    const server = createServer((incoming, answer) => {
      answer.writeContinue();
      incoming.on('data', () => {}).on('end', () => setTimeout(() => answer.end('ok'), 20));
    });
    const { port, total } = await listening(server);
    const open = egress({ allowPrivate: true });
    const long = { ...request, body: 'x'.repeat(1_000_000) };
    for (let count = 0; count < 3; count += 1)
      expect(await open.post(`http://127.0.0.1:${port}/`, long)).toMatchObject({ status: 200, body: 'ok' });
    expect(total()).toBe(1);
  });

  it.each([
    ['HTTP/1.1 2000 OK', '', ''],
    ['HTTP/1.1 200 OK', 'content-length: two', '', ''],
    ['hello', '', ''],
  ])('whose response is malformed says so: %j', async (...lines) => {
    const { port } = await answering(...lines);
    expect(await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, request)).toMatchObject({
      error: 'the response is not valid HTTP',
      connected: true,
    });
  });

  it.each([
    [
      'switches protocols',
      'HTTP/1.1 101 Switching Protocols',
      'upgrade: websocket',
      'connection: upgrade',
      '',
      '',
    ],
    ['is shorter than announced', 'HTTP/1.1 200 OK', 'content-length: 9', '', 'ok'],
  ])('whose response %s fails', async (_name, ...lines) => {
    const { port } = await listening(
      createTcpServer((socket) => socket.once('data', () => socket.end(lines.join('\r\n')))),
    );
    const result = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, request);
    expect(result).toMatchObject({
      connected: true,
      error: expect.stringMatching(/connection (reset|closed)/),
    });
  });

  it('speaks TLS and sends nothing to a server whose certificate cannot be verified', async () => {
    const read = (name: string): string =>
      readFileSync(new URL(`../test/fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
    const received = vi.fn();
    const server = createTlsServer({ key: read('server-key'), cert: read('server') }, received);
    const { port } = await listening(server);
    const result = await egress({ allowPrivate: true }).post(`https://localhost:${port}/`, request);
    expect(result).toMatchObject({
      status: null,
      error: expect.stringMatching(/^the certificate/),
      connected: false,
    });
    expect(received).not.toHaveBeenCalled();
  });

  it('with an invalid header returns an error instead of throwing', async () => {
    const { port } = await serve((_incoming, answer) => answer.end());
    const bad = { ...request, headers: { 'x-name': 'a\r\nb: c' } };
    expect(await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, bad)).toMatchObject({
      status: null,
      connected: false,
      error: expect.stringContaining('request failed'),
    });
  });
});

describe('the limits of a request', () => {
  it('end a request whose endpoint never responds', async () => {
    const server = await serve(() => {});
    const result = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${server.port}/`, {
      ...request,
      timeoutMs: 100,
    });
    expect(result).toMatchObject({ status: null, error: 'timeout', connected: true });
    expect(result.latencyMs).toBeGreaterThanOrEqual(95);
    expect(result.latencyMs).toBeLessThan(2_000);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0));
  });

  it('end a response that is still incomplete at the deadline', async () => {
    const { port } = await serve((_incoming, answer) => {
      const drip = setInterval(() => answer.write('.'), 20);
      answer.writeHead(200).on('close', () => clearInterval(drip));
    });
    const result = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${port}/`, {
      ...request,
      timeoutMs: 1000,
    });
    expect(result).toMatchObject({ status: 200, error: 'timeout', connected: true });
  });

  it('end a request whose name server never responds', async () => {
    const silent = egress({ resolve: () => new Promise(() => {}) });
    const result = await silent.post('http://example.com/', { ...request, timeoutMs: 100 });
    expect(result).toMatchObject({ status: null, error: 'timeout', connected: false });
  });

  it('prevent a request that timed out while connecting from being sent afterwards', async () => {
    const received = vi.fn();
    const server = await serve(received);
    const answer = Promise.withResolvers<void>();
    const slow = egress({ allowPrivate: true, resolve: () => answer.promise.then(at('127.0.0.1')) });
    const result = await slow.post(`http://slow.example.com:${server.port}/`, { ...request, timeoutMs: 50 });
    expect(result).toMatchObject({ error: 'timeout', connected: false });
    answer.resolve();
    await vi.waitFor(() => expect([server.total(), server.sockets.size]).toEqual([1, 0]));
    expect(received).not.toHaveBeenCalled();
  });

  it('cut an endless response and close its connection', async () => {
    const server = await serve((_incoming, answer) => {
      const more = (): void => {
        while (!answer.destroyed && answer.write('x'.repeat(16_384)));
      };
      answer.writeHead(200).on('drain', more);
      more();
    });
    const result = await egress({ allowPrivate: true }).post(`http://127.0.0.1:${server.port}/`, request);
    expect(result).toMatchObject({ status: 200, error: null, connected: true });
    expect(result.body).toBe('x'.repeat(65_536));
    await vi.waitFor(() => expect(server.sockets.size).toBe(0));
  });

  it('keep a hanging origin to its own connections, so that it delays no other', async () => {
    const hanging = await serve(() => {});
    const healthy = await serve((_incoming, answer) => answer.end('ok'));
    const open = egress({ allowPrivate: true, connectionsPerOrigin: 2 });
    const hang = (timeoutMs: number) =>
      open.post(`http://127.0.0.1:${hanging.port}/`, { ...request, timeoutMs });
    const sent = [hang(400), hang(400)];
    await vi.waitFor(() => expect(hanging.sockets.size).toBe(2));
    const waiting = Array.from({ length: 4 }, () => hang(100));
    const other = await open.post(`http://127.0.0.1:${healthy.port}/`, request);
    expect(other).toMatchObject({ status: 200, body: 'ok' });
    // These were never sent, so a replay may try them again.
    for (const result of await Promise.all(waiting))
      expect(result).toMatchObject({ error: 'timeout', connected: false });
    for (const result of await Promise.all(sent))
      expect(result).toMatchObject({ error: 'timeout', connected: true });
    // The abandoned requests open no connections afterwards either.
    await hang(100);
    expect(hanging.total()).toBe(3);
  });

  it('let a burst share connections', async () => {
    const server = await serve((_incoming, answer) => answer.end('ok'));
    const open = egress({ allowPrivate: true, connectionsPerOrigin: 4 });
    const results = await Promise.all(
      Array.from({ length: 40 }, () => open.post(`http://127.0.0.1:${server.port}/`, request)),
    );
    expect(results.every(({ status }) => status === 200)).toBe(true);
    expect(server.total()).toBeLessThanOrEqual(4);
  });
});

test('each lookup of a name is counted: that there is none is an answer', async () => {
  const results: string[] = [];
  const failing = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };
  for (const code of ['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'ETIMEOUT', 'ECONNREFUSED']) {
    const { guard } = egress({ resolve: failing(code), onLookup: (result) => results.push(result) });
    await expect(guard.addressOf('mail.example')).rejects.toThrow(code);
  }
  const { guard } = egress({ resolve: at('192.0.2.1'), onLookup: (result) => results.push(result) });
  await guard.addressOf('mail.example').catch(() => {});
  expect(results).toEqual(['answered', 'answered', 'failed', 'failed', 'failed', 'answered']);
});
