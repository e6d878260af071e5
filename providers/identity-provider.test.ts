import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createIdentityProvider,
  type IdentityProvider,
  IdentityProviderUnavailable,
  OfflineAccessRefused,
} from './identity-provider.ts';

/** What the provider puts into its ID tokens, and what it responds. */
let claims: Record<string, unknown>;
let nonce: string;
let userInfo: { status: number; type?: string; body: unknown };
let token: { status: number; type?: string; body?: unknown };

let issuer: string;
let provider: IdentityProvider;
const { privateKey, publicKey } = await generateKeyPair('RS256');
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', issuer);
  const give = (status: number, body: unknown, type = 'application/json'): void =>
    void response
      .writeHead(status, { 'content-type': type })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  if (pathname === '/.well-known/openid-configuration')
    return give(200, {
      ...whole(issuer),
      userinfo_endpoint: `${issuer}/userinfo`,
      scopes_supported: ['openid', 'offline_access'],
    });
  if (pathname === '/jwks')
    return give(200, { keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256', kid: '1' }] });
  if (pathname === '/userinfo') return give(userInfo.status, userInfo.body, userInfo.type);
  if (token.body !== undefined) return give(token.status, token.body, token.type);
  const idToken = await new SignJWT({ ...claims, nonce })
    .setProtectedHeader({ alg: 'RS256', kid: '1' })
    .setSubject('ada')
    .setIssuer(issuer)
    .setAudience('client')
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
  give(200, { token_type: 'Bearer', access_token: 'access', id_token: idToken, refresh_token: 'rotated' });
});

const OPTIONS = {
  clientId: 'client',
  clientSecret: null,
  redirectUri: 'http://localhost/auth/callback',
  signedOutUri: 'http://localhost/console',
  scopes: ['openid', 'offline_access'],
  placeClaims: ['organization', 'realm_access.roles'],
  caFile: null,
};

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider = createIdentityProvider({ ...OPTIONS, issuer });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  claims = { name: 'Ada', email: 'ada@example.com', email_verified: true, ...PLACE };
  userInfo = { status: 500, body: '' };
  token = { status: 200 };
});

const PLACE = { organization: ['acme'], realm_access: { roles: ['admin'] } };

async function signIn({ offline = true } = {}) {
  const { checks } = await provider.begin({ offline });
  ({ nonce } = checks);
  return provider.finish(`?code=1&state=${checks.state}`, checks, { offline });
}

describe('the claims of somebody who signs in', () => {
  it('are those of the ID token, if it says who they are and where they belong', async () => {
    expect((await signIn()).claims).toMatchObject(claims);
  });

  it.each([
    ['roles', { name: 'Ada', email: 'ada@example.com', email_verified: true, organization: ['acme'] }],
    [
      'organization',
      { name: 'Ada', email: 'ada@example.com', email_verified: true, realm_access: { roles: [] } },
    ],
    ['verification of the address', { name: 'Ada', email: 'ada@example.com', ...PLACE }],
    ['name', { email: 'ada@example.com', email_verified: true, ...PLACE }],
    ['address', { name: 'Ada', ...PLACE }],
  ])('are completed by the user info, if the ID token lacks the %s', async (_, given) => {
    userInfo = { status: 200, body: { sub: 'ada', more: 1, ...claims } };
    claims = given;
    expect((await signIn()).claims).toMatchObject({ ...given, more: 1 });
  });

  it('are those of the ID token if only the user info fails, unless it would say where they belong', async () => {
    claims = PLACE;
    for (const failure of [
      { status: 503, body: '' },
      { status: 200, type: 'text/html', body: '<html>' },
      { status: 200, body: { sub: 'somebody else' } },
      { status: 401, body: { error: 'invalid_token' } },
    ]) {
      userInfo = failure;
      expect((await signIn()).claims).toMatchObject(PLACE);
    }
    claims = { organization: ['acme'] };
    userInfo = { status: 503, body: '' };
    await expect(signIn()).rejects.toThrow(IdentityProviderUnavailable);
  });
});

describe('a renewal', () => {
  it('keeps the rotated refresh token although the user info fails, and says nothing about the user', async () => {
    const { tokens } = await signIn();
    claims = {};
    expect(await provider.renew(tokens)).toMatchObject({ claims: null, tokens: { refreshToken: 'rotated' } });
  });
});

describe('a configuration', () => {
  it.each<[string, number, (own: string) => object, string | null]>([
    ['is not there', 404, () => ({ error: 'Realm does not exist' }), 'it responds 404 where'],
    [
      'is of another issuer',
      200,
      (own) => ({ ...whole(own), issuer: `${own}/realms/other` }),
      'its configuration is of the issuer http://127.0.0.1',
    ],
    [
      'is of machines',
      200,
      (own) => ({ issuer: own, jwks_uri: `${own}/jwks` }),
      'its configuration names no authorization_endpoint and no token_endpoint',
    ],
    ['cannot be given now', 503, () => ({}), null],
    ['is asked for too often', 429, () => ({}), null],
    ['is of a page', 200, () => [], null],
  ])('that %s tells what is wrong, if trying again does not help', async (_, status, body, answer) => {
    const other = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body(own)));
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const own = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const broken = createIdentityProvider({ ...OPTIONS, issuer: own });
    for (const ask of [() => broken.check(), () => broken.begin({ offline: true })])
      await expect(ask()).rejects.toMatchObject({
        name: 'IdentityProviderUnavailable',
        answer: answer === null ? null : expect.stringContaining(answer),
      });
    other.close();
  });
});

const whole = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
});

describe('a provider that exchanges no code', () => {
  it.each([
    ['not_allowed', 400, OfflineAccessRefused],
    ['invalid_scope', 403, OfflineAccessRefused],
    ['invalid_client', 401, IdentityProviderUnavailable],
    ['temporarily_unavailable', 400, IdentityProviderUnavailable],
  ])('is understood by its error: %s', async (error, status, kind) => {
    token = { status, body: { error, error_description: null } };
    await expect(signIn()).rejects.toThrow(kind);
  });

  it('because of another scope than offline_access does not let the client sign anybody in', async () => {
    token = { status: 400, body: { error: 'invalid_scope', error_description: 'Invalid scopes: groups' } };
    await expect(signIn({ offline: false })).rejects.toMatchObject({
      name: 'IdentityProviderUnavailable',
      answer: 'invalid_scope: Invalid scopes: groups',
    });
  });

  it.each([
    [200, 'text/html', '<html>'],
    [200, 'application/json', '[]'],
    [200, 'application/json', '{"access_token":"a"}'],
    [400, 'text/html', '<html>'],
    [400, 'application/json', '{"error":{"message":"x"}}'],
    [502, 'text/html', '<html>'],
  ])('is unavailable with status %i and %s: %s', async (status, type, body) => {
    token = { status, type, body };
    await expect(signIn()).rejects.toThrow(IdentityProviderUnavailable);
  });
});
