import { describe, expect, it, test } from 'vitest';
import { readConfig, REQUIRED_IN_PRODUCTION, REQUIRED_WITH } from './config.ts';
import { documentationOf, Environment } from './environment.ts';

const KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const REQUIRED = {
  DATABASE_URL: 'postgres://localhost/linepace',
  ENCRYPTION_KEYS: KEYS,
  SIGNING_KEYS: KEYS,
  DATABASE_SYSTEM_URL: 'postgres://localhost/linepace',
  AUTH_LOCAL_JWK: '{}',
};
const read = (environment: Record<string, string>) => readConfig({ ...REQUIRED, ...environment });

test('each outside server can have a certificate of an authority of its own', () => {
  const names = Object.keys(Environment.shape);
  const servers = ['AUTH_ISSUER', 'SMTP_URL', 'S3_ENDPOINT', 'LLM_BASE_URL'].concat(
    names.filter((name) => name.endsWith('_API_URL')),
  );
  const withoutCa = servers.filter((name) => !names.includes(`${name.split('_')[0]}_CA_FILE`));
  expect(withoutCa).toEqual([]);
});

test('a process names every variable whose file it cannot read, and none that only others read', () => {
  const given = {
    S3_CA_FILE: '/s3.pem',
    LLM_CA_FILE: '/model.pem',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/ca.pem',
  };
  const readBy = (reader: 'API' | 'workers', missing: string[]) => () =>
    readConfig(
      { ...REQUIRED, ...given },
      { reader, whyUnreadable: (file) => (missing.includes(file) ? 'no such file' : null) },
    );
  const all = Object.values(given);
  expect(readBy('workers', all)).toThrow(
    /TEMPORAL_TLS_SERVER_CA_CERT_PATH: cannot be read: no such file[^]*LLM_CA_FILE: cannot be read[^]*S3_CA_FILE: cannot/,
  );
  expect(readBy('API', ['/model.pem'])).not.toThrow();
  expect(readBy('API', all)).toThrow('  S3_CA_FILE: cannot be read: no such file');
});

test('a process that reads a variable also reads those that it requires', () => {
  const readBy = (name: keyof typeof Environment.shape) => documentationOf(Environment.shape[name]).readBy;
  const unread = [...REQUIRED_WITH, ...REQUIRED_IN_PRODUCTION].flatMap(([required, given]) =>
    readBy(given)
      .filter((process) => !readBy(required).includes(process))
      .map((process) => `${process}: ${required}, which ${given} requires`),
  );
  expect(unread).toEqual([]);
});

test('what the documentation says is required with another variable is refused without it', () => {
  const sentences = Object.entries(Environment.shape).flatMap(([name, variable]) => {
    if (name === 'PATH') return [];
    const [, given] =
      /(?<!is )(?:required with|Requires) `([A-Z_]+)`/.exec(documentationOf(variable).description) ?? [];
    return given === undefined ? [] : [[name, given]];
  });
  const known = [...REQUIRED_WITH, ...REQUIRED_IN_PRODUCTION].flatMap(([required, given]) => [
    `${required} ${given}`,
    `${given} ${required}`,
  ]);
  expect(sentences.length).toBeGreaterThan(5);
  expect(sentences.filter(([name, given]) => !known.includes(`${name} ${given}`))).toEqual([]);
});

describe('the connection to Temporal', () => {
  it('uses no TLS by default', () => {
    expect(read({}).temporal.tls).toBeNull();
    expect(read({ TEMPORAL_TLS: '0' }).temporal.tls).toBeNull();
  });

  it.each([
    { TEMPORAL_TLS: '1' },
    { TEMPORAL_API_KEY: 'key' },
    { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' },
    { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/ca.pem' },
    { TEMPORAL_TLS_CLIENT_CERT_PATH: '/crt.pem', TEMPORAL_TLS_CLIENT_KEY_PATH: '/key.pem' },
  ])('uses TLS with %o', (environment) => {
    expect(read(environment).temporal.tls).not.toBeNull();
  });

  it('reports every variable that contradicts another', () => {
    expect(() =>
      read({ TEMPORAL_TLS: '0', TEMPORAL_API_KEY: 'key', TEMPORAL_TLS_CLIENT_CERT_PATH: '/crt.pem' }),
    ).toThrow(
      [
        'TEMPORAL_TLS_CLIENT_KEY_PATH: is required with TEMPORAL_TLS_CLIENT_CERT_PATH',
        'TEMPORAL_TLS: cannot be 0 with TEMPORAL_API_KEY',
        'TEMPORAL_TLS: cannot be 0 with TEMPORAL_TLS_CLIENT_CERT_PATH',
      ].join('\n  '),
    );
    expect(() => read({ TEMPORAL_TLS_CLIENT_KEY_PATH: '/key.pem' })).toThrow(
      'TEMPORAL_TLS_CLIENT_CERT_PATH: is required with TEMPORAL_TLS_CLIENT_KEY_PATH',
    );
  });
});

describe('the configuration outside of production', () => {
  it('listens on this machine only, and refuses to be behind a proxy', () => {
    expect(read({}).host).toBe('127.0.0.1');
    expect(read({ HOST: '0.0.0.0' }).host).toBe('0.0.0.0');
    expect(() => read({ TRUSTED_PROXIES: '1' })).toThrow('  TRUSTED_PROXIES: requires NODE_ENV=production');
  });
});

test.each(['prod', 'Production', 'staging'])(
  'NODE_ENV=%s is refused, instead of being development',
  (mode) => {
    expect(() => read({ NODE_ENV: mode })).toThrow('  NODE_ENV: must be production, development or test');
  },
);

test('beside its problems, a configuration is told what it should have', () => {
  expect(() => read({ TRUSTED_PROXIES: '1' })).toThrow('  NODE_ENV: is not production');
  expect(() => read({ NODE_ENV: 'production' })).toThrow('  SECURITY_CONTACT: is recommended');
  expect(() => read({ NODE_ENV: 'production', SECURITY_CONTACT: 'mailto:security@example.com' })).not.toThrow(
    'SECURITY_CONTACT',
  );
});

describe('the production configuration', () => {
  const PRODUCTION = {
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://messaging.example.com',
    AUTH_JWKS_URL: 'https://id.example.com/keys',
    AUTH_ISSUER: 'https://id.example.com',
    AUTH_AUDIENCE: 'linepace',
    TEMPORAL_ADDRESS: 'temporal.example.com:7233',
  };

  it('listens on all addresses behind its proxies', () => {
    const { host, trustedProxies } = read({ ...PRODUCTION, TRUSTED_PROXIES: '2' });
    expect([host, trustedProxies]).toEqual(['0.0.0.0', 2]);
  });

  it('needs no identity provider', () => {
    const none = { AUTH_JWKS_URL: '', AUTH_ISSUER: '', AUTH_AUDIENCE: '', AUTH_LOCAL_JWK: '' };
    const { auth } = read({ ...PRODUCTION, ...none });
    expect([auth.jwksUrl, auth.localJwk, auth.client, auth.audience]).toEqual([null, null, null, null]);
  });

  it('requires https addresses, a Temporal server, and an audience or authorized parties', () => {
    expect(read(PRODUCTION).auth.audience).toEqual(['linepace']);
    const { auth } = read({
      ...PRODUCTION,
      AUTH_AUDIENCE: '',
      AUTH_AUTHORIZED_PARTIES: 'https://a, https://b',
    });
    expect(auth.authorizedParties).toEqual(['https://a', 'https://b']);
  });

  it.each([
    ['PUBLIC_URL', ''],
    ['PUBLIC_URL', 'http://messaging.example.com'],
    ['PUBLIC_URL', 'HTTP://messaging.example.com'],
    ['AUTH_JWKS_URL', 'http://id.example.com/keys'],
    ['AUTH_AUDIENCE', ''],
    ['AUTH_AUDIENCE', ' , '],
    ['TEMPORAL_ADDRESS', ''],
    ['WEBHOOK_ALLOW_PRIVATE', '1'],
  ])('refuses %s=%j, which development accepts', (variable, value) => {
    expect(() => read({ ...PRODUCTION, [variable]: value })).toThrow(`  ${variable}: `);
  });

  it('signs people in at an issuer that is an https address', () => {
    const { auth } = read({ ...PRODUCTION, AUTH_CLIENT_ID: 'console', AUTH_SESSION_IDLE_MINUTES: '15' });
    expect([auth.client, auth.sessions]).toEqual([
      { id: 'console', secret: null },
      { idleMinutes: 15, hours: 12 },
    ]);
    for (const issuer of ['urn:linepace', 'http://id.example.com'])
      expect(() => read({ ...PRODUCTION, AUTH_CLIENT_ID: 'console', AUTH_ISSUER: issuer })).toThrow(
        '  AUTH_ISSUER: must be',
      );
    expect(() => read({ AUTH_CLIENT_SECRET: 'secret' })).toThrow('  AUTH_CLIENT_ID: is required');
  });

  it('reports all missing, malformed and contradictory variables at once', () => {
    const environment = {
      SIGNING_KEYS: '1:c2hvcnQ=',
      NODE_ENV: 'production',
      DATABASE_URL: 'not a URL',
      PORT: 'x',
      PUBLIC_URL: 'http://messaging.example.com',
      AUTH_JWKS_URL: 'http://id.example.com/keys',
    };
    let message = '';
    try {
      readConfig(environment);
    } catch (error) {
      message = (error as Error).message;
    }
    for (const variable of [
      'DATABASE_URL',
      'DATABASE_SYSTEM_URL',
      'PORT',
      'ENCRYPTION_KEYS',
      'SIGNING_KEYS',
      'PUBLIC_URL',
      'AUTH_JWKS_URL',
      'AUTH_ISSUER',
      'AUTH_AUDIENCE',
      'TEMPORAL_ADDRESS',
    ]) {
      expect(message).toContain(`\n  ${variable}: `);
    }
    expect(message).toContain('\n  DATABASE_SYSTEM_URL: is required\n');
    expect(message).toContain('SIGNING_KEYS: the key 1 has 5 bytes instead of 32');
  });
});
