import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';

/** Secrets that are unique to an installation. */
type Secrets = Record<'ENCRYPTION_KEYS' | 'SIGNING_KEYS' | 'AUTH_LOCAL_JWK' | 'SIMULATOR_SECRET', string>;

/**
 * Loads the secrets of this installation from `secrets.json` in its data folder, and generates them on the first start.
 * Without that file, encrypted data cannot be read.
 */
export async function loadSecrets(dataDir: string): Promise<Secrets> {
  const file = join(dataDir, 'secrets.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Secrets;
  const secrets: Secrets = {
    ENCRYPTION_KEYS: `1:${randomBytes(32).toString('base64')}`,
    SIGNING_KEYS: `1:${randomBytes(32).toString('base64')}`,
    AUTH_LOCAL_JWK: JSON.stringify(await newSessionKey()),
    SIMULATOR_SECRET: randomBytes(32).toString('hex'),
  };
  // Renamed when complete, so that an interrupted start leaves no partial file.
  writeFileSync(`${file}.partial`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.partial`, file);
  return secrets;
}

async function newSessionKey() {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'ES256', use: 'sig' };
}
