import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { TLSConfig } from '@temporalio/client';
import { experimental } from '@grpc/grpc-js';
import { parseOwnJson } from '#domain/base/own-json.ts';

/** Credentials are renewed days before they expire, so a change may take a while to be noticed. */
export const REREAD_MS = 10_000;

export interface TemporalCredentials {
  apiKey: string | null;
  /** A file with the API key, which is read again when it changes; null: `apiKey`. */
  apiKeyPath: string | null;
  /** Paths of PEM files, which are read again when they change; null: no TLS. */
  tls: {
    clientCertPath: string | null;
    clientKeyPath: string | null;
    serverCaCertPath: string | null;
    serverName: string | null;
  } | null;
}

type KeyOptions = Pick<TemporalCredentials, 'apiKey' | 'apiKeyPath'>;
type TlsPaths = NonNullable<TemporalCredentials['tls']>;

/** @returns the API key that is valid now; null: none is configured. @throws if its file cannot be read. */
export const readApiKey = ({ apiKey, apiKeyPath }: KeyOptions): string | null =>
  apiKeyPath === null ? apiKey : readFileSync(apiKeyPath, 'utf8').trim();

/**
 * An API key whose file is read again from time to time.
 * @returns null if none is configured.
 * @throws if its file cannot be read.
 */
export function currentApiKey(options: KeyOptions): (() => string) | null {
  let key = readApiKey(options);
  if (key === null) return null;
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt >= REREAD_MS) {
      readAt = performance.now();
      key = unlessUnreadable(() => readApiKey(options)) ?? key;
    }
    return key ?? '';
  };
}

/** @throws if a file cannot be read, or the certificate and the key do not belong together. */
export function readTls({
  clientCertPath,
  clientKeyPath,
  serverCaCertPath,
  serverName,
}: TlsPaths): TLSConfig {
  const clientCertPair =
    clientCertPath !== null && clientKeyPath !== null
      ? { crt: readFileSync(clientCertPath), key: readFileSync(clientKeyPath) }
      : null;
  // While both files are being replaced, one may be new and one old.
  if (
    clientCertPair &&
    !new X509Certificate(clientCertPair.crt).checkPrivateKey(createPrivateKey(clientCertPair.key))
  )
    throw new Error(`${clientCertPath} is not the certificate of the key in ${clientKeyPath}`);
  return {
    ...(serverName !== null && { serverNameOverride: serverName }),
    ...(serverCaCertPath !== null && { serverRootCACertificate: readFileSync(serverCaCertPath) }),
    ...(clientCertPair && { clientCertPair }),
  };
}

/** Everything whose change requires a new connection. */
export const fingerprint = ({ serverRootCACertificate, clientCertPair }: TLSConfig): string =>
  [serverRootCACertificate, clientCertPair?.crt, clientCertPair?.key]
    .map((part) => (part ? Buffer.from(part).toString('base64') : ''))
    .join(' ');

/**
 * Options for a client connection that uses new certificates for its next handshake. `@temporalio/client` does not support
 * changing certificates, but accepts gRPC credentials, which do.
 */
export function reloadingTls(paths: TlsPaths) {
  const certificates = new Certificates(paths);
  const hasIdentity = paths.clientCertPath !== null;
  return {
    credentials: experimental.createCertificateProviderChannelCredentials(
      certificates,
      hasIdentity ? certificates : null,
    ),
    channelArgs: {
      ...(paths.serverName !== null && {
        'grpc.ssl_target_name_override': paths.serverName,
        'grpc.default_authority': paths.serverName,
      }),
    },
  };
}

type CertificateProvider = experimental.CertificateProvider;
type CaListener = Parameters<CertificateProvider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<CertificateProvider['addIdentityCertificateListener']>[0];

/** Reads the files again while a channel is interested. */
class Certificates implements CertificateProvider {
  readonly #paths: TlsPaths;
  #tls: TLSConfig;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  #timer: NodeJS.Timeout | undefined;

  constructor(paths: TlsPaths) {
    this.#paths = paths;
    this.#tls = readTls(paths);
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    process.nextTick(listener, this.#ca());
    this.#watch();
  }
  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#watch();
  }
  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    process.nextTick(listener, this.#identity());
    this.#watch();
  }
  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#watch();
  }

  #watch(): void {
    const isWatched = this.#caListeners.size + this.#identityListeners.size > 0;
    if (isWatched) this.#timer ??= setInterval(() => this.#reread(), REREAD_MS).unref();
    else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #reread(): void {
    const tls = unlessUnreadable(() => readTls(this.#paths));
    if (tls === null || fingerprint(tls) === fingerprint(this.#tls)) return;
    this.#tls = tls;
    for (const listener of this.#caListeners) listener(this.#ca());
    for (const listener of this.#identityListeners) listener(this.#identity());
  }

  #ca(): { caCertificate: Buffer } {
    const own = this.#tls.serverRootCACertificate;
    return { caCertificate: Buffer.from(own ?? rootCertificates.join('\n')) };
  }
  #identity(): { certificate: Buffer; privateKey: Buffer } | null {
    const pair = this.#tls.clientCertPair;
    return pair ? { certificate: Buffer.from(pair.crt), privateKey: Buffer.from(pair.key) } : null;
  }
}

/** Files that are being replaced are read again later. */
export function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** When the credentials expire, as far as they say so. In seconds since 1970. */
export function credentialExpiries({ tls, ...key }: TemporalCredentials) {
  const certificate = tls && unlessUnreadable(() => readTls(tls).clientCertPair?.crt ?? null);
  return {
    certificate: certificate ? Date.parse(new X509Certificate(certificate).validTo) / 1000 : null,
    'API key': unlessUnreadable(() => jwtExpiry(readApiKey(key))),
  };
}

/** The API keys of Temporal Cloud are JSON Web Tokens. */
function jwtExpiry(key: string | null): number | null {
  const payload = key?.split('.')[1];
  if (payload === undefined) return null;
  const { exp } = parseOwnJson(Buffer.from(payload, 'base64url').toString()) as { exp?: unknown };
  return typeof exp === 'number' ? exp : null;
}
