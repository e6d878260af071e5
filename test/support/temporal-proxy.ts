import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect,
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';

export const certificate = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));

export const fingerprintOf = (file: string): string => new X509Certificate(readFileSync(file)).fingerprint256;

export interface TemporalProxy {
  /** host:port */
  address: string;
  /** Calls that were refused because they lacked the API key. */
  unauthorized: string[];
  /** The API keys and the fingerprints of client certificates that it has seen. */
  seen: Set<string>;
  /** Accepts these keys only, and the client certificates in these files only. Ends the present connections. */
  accept(apiKeys: readonly string[], certificates: readonly string[]): void;
  stop(): Promise<void>;
}

const OPERATOR_SERVICE = '/temporal.api.operatorservice.v1.OperatorService/';
const PERMISSION_DENIED = '7';
const UNAUTHENTICATED = '16';

/**
 * Simulates a managed Temporal service: TLS with client certificates, an API key, and no operator service. It forwards
 * other calls to the server of the test run.
 */
export async function startTemporalProxy(server: string, apiKey: string): Promise<TemporalProxy> {
  const upstream = connect(`http://${server}`);
  const unauthorized: string[] = [];
  const proxy = createSecureServer({
    cert: readFileSync(certificate('server')),
    key: readFileSync(certificate('server-key')),
    ca: readFileSync(certificate('authority')),
    requestCert: true,
    rejectUnauthorized: true,
  });
  const sessions = new Set<ServerHttp2Session>();
  const seen = new Set<string>();
  let keys: readonly string[] = [apiKey];
  let fingerprints: readonly string[] | null = null;
  proxy.on('session', (session) => {
    const { fingerprint256 } = (session.socket as TLSSocket).getPeerCertificate();
    if (fingerprints && !fingerprints.includes(fingerprint256)) {
      session.destroy();
      return;
    }
    seen.add(fingerprint256);
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  // A client without a certificate fails the handshake.
  proxy.on('tlsClientError', () => {});
  proxy.on('stream', (stream, headers) => {
    const path = headers[':path'] ?? '';
    const key = headers.authorization?.replace('Bearer ', '') ?? '';
    seen.add(key);
    if (!keys.includes(key)) {
      unauthorized.push(path);
      refuse(stream, UNAUTHENTICATED);
    } else if (path.startsWith(OPERATOR_SERVICE)) refuse(stream, PERMISSION_DENIED);
    else forward(stream, headers);
  });

  function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const call = upstream.request({ ...headers, ':scheme': 'http', ':authority': server });
    const abort = () => call.close(constants.NGHTTP2_CANCEL);
    stream.on('aborted', abort).on('error', abort);
    call.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    stream.pipe(call);
    let trailers: OutgoingHttpHeaders = {};
    call.on('trailers', (received: OutgoingHttpHeaders) => (trailers = received));
    call.on('response', (received, flags) => {
      if (stream.destroyed) return;
      const ends = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(received, { endStream: ends, waitForTrailers: !ends });
      if (ends) return;
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      call.pipe(stream);
    });
  }

  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    unauthorized,
    seen,
    accept(apiKeys, certificates) {
      keys = apiKeys;
      fingerprints = certificates.map(fingerprintOf);
      for (const session of sessions) session.destroy();
    },
    async stop() {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

function refuse(stream: ServerHttp2Stream, status: string): void {
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': 'refused' },
    { endStream: true },
  );
}
