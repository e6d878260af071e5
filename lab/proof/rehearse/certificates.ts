import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loopbackAddress, PUBLIC_HOSTS, publicAddress } from './public-address.ts';

/** Paths of PEM files. */
export interface Certificates {
  authority: string;
  server: string;
  serverKey: string;
  client: string;
  clientKey: string;
}

/** Every server listens on loopback: a connection to a public address may be verified by where it arrives. */
const HOSTS = Array.from({ length: PUBLIC_HOSTS }, (_, index) => index + 1);
const ADDRESSES = [...HOSTS.map(publicAddress), ...HOSTS.map(loopbackAddress)];
const NAMES = `subjectAltName=DNS:localhost,${ADDRESSES.map((address) => `IP:${address}`).join(',')}`;
/** More than the two weeks before which their end is an alert. */
const DAYS = '30';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** Valid in the past too, for a process whose clock is behind. */
const SINCE = '-1d';

/**
 * Creates an authority, and certificates of the servers and of the clients of Temporal, by the program `openssl`.
 * @param faketime the library that makes it see another time.
 */
export function createCertificates(folder: string, faketime: string): Certificates {
  mkdirSync(folder, { recursive: true });
  const file = (name: string): string => join(folder, `${name}.pem`);
  const env = { ...process.env, LD_PRELOAD: faketime, FAKETIME: SINCE };
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { stdio: 'pipe', env });
  const authorityKey = file('authority-key');
  const subject = ['-subj', '/CN=Authority of the rehearsal'];
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-days',
    DAYS,
    ...subject,
    '-keyout',
    authorityKey,
    '-out',
    file('authority'),
  );

  const sign = (name: string, extensions: string): void => {
    const [request, settings] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
    writeFileSync(settings, extensions);
    openssl('req', '-new', ...KEY, '-keyout', file(`${name}-key`), '-subj', `/CN=${name}`, '-out', request);
    const by = ['-CA', file('authority'), '-CAkey', authorityKey, '-CAcreateserial'];
    openssl('x509', '-req', '-in', request, ...by, '-days', DAYS, '-extfile', settings, '-out', file(name));
  };
  // The servers of a Temporal cluster are clients of one another.
  sign('server', `${NAMES}\nextendedKeyUsage=serverAuth,clientAuth\n`);
  sign('client', 'extendedKeyUsage=clientAuth\n');
  return {
    authority: file('authority'),
    server: file('server'),
    serverKey: file('server-key'),
    client: file('client'),
    clientKey: file('client-key'),
  };
}
