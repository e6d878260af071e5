import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const NEEDED = {
  DATABASE_URL: 'postgres://localhost/linepace',
  ENCRYPTION_KEYS: '1:key',
  SIGNING_KEYS: '1:key',
  AUTH_LOCAL_JWK: '{}',
};
const read = (environment: Record<string, string>) => readConfig({ ...NEEDED, ...environment });

describe('the connection to Temporal', () => {
  it('has no TLS unless something asks for it', () => {
    expect(read({}).temporal.tls).toBeNull();
    expect(read({ TEMPORAL_TLS: '0' }).temporal.tls).toBeNull();
  });

  it.each([
    { TEMPORAL_TLS: '1' },
    { TEMPORAL_API_KEY: 'key' },
    { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' },
    { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/ca.pem' },
    { TEMPORAL_TLS_CLIENT_CERT_PATH: '/crt.pem', TEMPORAL_TLS_CLIENT_KEY_PATH: '/key.pem' },
  ])('has TLS with %o', (environment) => {
    expect(read(environment).temporal.tls).not.toBeNull();
  });

  it('names every variable that contradicts another', () => {
    expect(() =>
      read({ TEMPORAL_TLS: '0', TEMPORAL_API_KEY: 'key', TEMPORAL_TLS_CLIENT_CERT_PATH: '/crt.pem' }),
    ).toThrow(
      [
        'TEMPORAL_TLS_CLIENT_KEY_PATH: is needed with TEMPORAL_TLS_CLIENT_CERT_PATH',
        'TEMPORAL_TLS: cannot be 0 with TEMPORAL_API_KEY',
        'TEMPORAL_TLS: cannot be 0 with TEMPORAL_TLS_CLIENT_CERT_PATH',
      ].join('\n  '),
    );
    expect(() => read({ TEMPORAL_TLS_CLIENT_KEY_PATH: '/key.pem' })).toThrow(
      'TEMPORAL_TLS_CLIENT_CERT_PATH: is needed with TEMPORAL_TLS_CLIENT_KEY_PATH',
    );
  });
});
