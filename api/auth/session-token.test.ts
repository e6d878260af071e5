import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createSessionVerifier,
  SessionKeysUnavailable,
  SessionRefused,
  signLocalSession,
  type SessionVerifierOptions,
} from './session-token.ts';

const ISSUER = 'https://clerk.example.com';
const CONSOLE = 'https://app.example.com';

interface SigningKey {
  kid: string;
  alg: 'RS256' | 'ES256';
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  jwk: JWK;
}

async function signingKey(kid: string, alg: SigningKey['alg'] = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** A stand-in for an identity provider: a JSON Web Key Set over HTTP. */
let server: Server;
let published: JWK[];
let status: number;
let fetches: number;
let jwksUrl: string;
let rsa: SigningKey;
let ec: SigningKey;

beforeAll(async () => {
  server = createServer((_request, response) => {
    fetches += 1;
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ keys: published }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/jwks.json`;
  [rsa, ec] = await Promise.all([signingKey('rsa-1'), signingKey('ec-1', 'ES256')]);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  published = [rsa.jwk, ec.jwk];
  status = 200;
  fetches = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

const verifier = (options: Partial<SessionVerifierOptions> = {}) =>
  createSessionVerifier({ jwksUrl, issuer: ISSUER, ...options });

const now = (): number => Math.floor(Date.now() / 1000);
const claims = (changes: Record<string, unknown> = {}): JWTPayload => ({
  iss: ISSUER,
  sub: 'user_1',
  sid: 'sess_1',
  iat: now(),
  nbf: now() - 10,
  exp: now() + 60,
  azp: CONSOLE,
  sts: 'active',
  org_id: 'org_1',
  org_role: 'org:admin',
  ...changes,
});
const token = (changes: Record<string, unknown> = {}, key: SigningKey = rsa): Promise<string> =>
  new SignJWT(claims(changes))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' })
    .sign(key.privateKey);

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('the claims of a session token', () => {
  it('may name the organization as org_id and org_role', async () => {
    const session = { userId: 'user_1', organizationId: 'org_1', role: 'org:admin' };
    expect(await verifier().verify(await token())).toMatchObject(session);
    expect(await verifier().verify(await token({}, ec))).toMatchObject(session);
  });

  it('may name the organization in the compact shape, as o.id and o.rol', async () => {
    const compact = {
      v: 2,
      o: { id: 'org_2', rol: 'member', slg: 'acme' },
      org_id: undefined,
      org_role: undefined,
    };
    expect(await verifier().verify(await token(compact))).toMatchObject({
      userId: 'user_1',
      organizationId: 'org_2',
      role: 'org:member',
    });
  });

  it.each([
    ['first shape', { org_id: undefined, org_role: undefined }],
    ['compact shape', { v: 2, org_id: undefined, org_role: undefined }],
    ['compact shape, which does not read org_id', { v: 2 }],
  ])('name no organization for a personal account: %s', async (_what, changes) => {
    expect(await verifier().verify(await token(changes))).toEqual({
      userId: 'user_1',
      organizationId: null,
      role: null,
    });
  });

  it.each([
    ['expired', () => ({ exp: now() - 6 }), '"exp"'],
    ['without an expiry', () => ({ exp: undefined }), '"exp"'],
    ['not valid yet', () => ({ nbf: now() + 7 }), '"nbf"'],
    ['of another issuer', () => ({ iss: 'https://clerk.evil.example' }), '"iss"'],
    ['without an issuer', () => ({ iss: undefined }), '"iss"'],
    ['without a subject', () => ({ sub: undefined }), '"sub"'],
    ['with an empty subject', () => ({ sub: '' }), 'wrong type'],
    ['pending', () => ({ sts: 'pending' }), 'pending'],
    ['of a mistyped organization', () => ({ v: 2, o: 'org_1' }), 'wrong type'],
  ])('are refused for a token %s', async (_what, changes, reason) => {
    const refused = verifier().verify(await token(changes()));
    await expect(refused).rejects.toThrow(SessionRefused);
    await expect(refused).rejects.toThrow(reason);
  });

  it('tolerate clocks that differ by five seconds', async () => {
    await expect(verifier().verify(await token({ exp: now() - 3 }))).resolves.toBeTruthy();
    await expect(verifier().verify(await token({ nbf: now() + 3 }))).resolves.toBeTruthy();
  });

  it('must include an accepted aud if audiences are configured', async () => {
    const strict = verifier({ audience: ['linepace', 'linepace-staging'] });
    await expect(strict.verify(await token({ aud: 'linepace' }))).resolves.toBeTruthy();
    await expect(strict.verify(await token({ aud: ['other', 'linepace-staging'] }))).resolves.toBeTruthy();
    for (const aud of [undefined, 'other', '', [], ['other'], 'LINEPACE', null]) {
      await expect(strict.verify(await token({ aud }))).rejects.toThrow(SessionRefused);
    }
  });

  it('must include a known azp if authorized parties are configured', async () => {
    const strict = verifier({ authorizedParties: ['https://other.example.com', CONSOLE] });
    await expect(strict.verify(await token())).resolves.toBeTruthy();
    await expect(strict.verify(await token({ azp: 'https://evil.example' }))).rejects.toThrow('azp');
    await expect(strict.verify(await token({ azp: undefined }))).rejects.toThrow('azp');
    await expect(verifier().verify(await token({ azp: undefined }))).resolves.toBeTruthy();
  });
});

describe('a session token', () => {
  it('is refused with alg none', async () => {
    const unsigned = `${base64url({ alg: 'none', typ: 'JWT' })}.${base64url(claims())}.`;
    await expect(verifier().verify(unsigned)).rejects.toThrow(SessionRefused);
  });

  it('is refused when it is signed by HS256 with the public key as the secret', async () => {
    for (const secret of [await exportSPKI(rsa.publicKey), JSON.stringify(rsa.jwk)]) {
      const forged = await new SignJWT(claims())
        .setProtectedHeader({ alg: 'HS256', kid: rsa.kid })
        .sign(Buffer.from(secret));
      await expect(verifier().verify(forged)).rejects.toThrow(SessionRefused);
    }
  });

  it('is refused with an unlisted algorithm, even if its key is published', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS512', { extractable: true });
    published.push({ ...(await exportJWK(publicKey)), kid: 'rsa-512' });
    const signed = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'RS512', kid: 'rsa-512' })
      .sign(privateKey);
    await expect(verifier().verify(signed)).rejects.toThrow(SessionRefused);
  });

  it('is refused when its payload was changed', async () => {
    const [header, , signature] = (await token()).split('.');
    await expect(
      verifier().verify(`${header}.${base64url(claims({ org_id: 'org_2' }))}.${signature}`),
    ).rejects.toThrow(SessionRefused);
  });

  it("is refused when it is signed with another issuer's key under the same key id", async () => {
    const stranger = await signingKey('rsa-1');
    await expect(verifier().verify(await token({}, stranger))).rejects.toThrow('signature');
  });

  it.each(['', 'a', 'a.b.c', '..', 'not a token', 'e30.e30.'])('is refused when it is %j', async (text) => {
    await expect(verifier().verify(text)).rejects.toThrow(SessionRefused);
  });
});

describe("the provider's keys", () => {
  it('are fetched once for many tokens', async () => {
    const sessions = verifier();
    for (const signed of await Promise.all([token(), token(), token({}, ec)])) await sessions.verify(signed);
    expect(fetches).toBe(1);
  });

  it('are not fetched again for each unknown key id', async () => {
    const sessions = verifier();
    await sessions.verify(await token());
    const unknown = await token({}, { ...rsa, kid: 'invented' });
    for (let times = 0; times < 5; times += 1)
      await expect(sessions.verify(unknown)).rejects.toThrow(SessionRefused);
    expect(fetches).toBe(1);
  });

  it('are fetched again after the cooldown, so that a rotated key replaces the old one', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const sessions = verifier();
    await sessions.verify(await token());
    const rotated = await signingKey('rsa-2');
    published = [rotated.jwk];
    await expect(sessions.verify(await token({}, rotated))).rejects.toThrow(SessionRefused);
    vi.setSystemTime(Date.now() + 31_000);
    await expect(sessions.verify(await token({}, rotated))).resolves.toBeTruthy();
    await expect(sessions.verify(await token())).rejects.toThrow(SessionRefused);
    expect(fetches).toBe(2);
  });

  it('do not count against the token when they cannot be fetched', async () => {
    status = 503;
    const sessions = verifier();
    await expect(sessions.verify(await token())).rejects.toThrow(SessionKeysUnavailable);
    status = 200;
    await expect(sessions.verify(await token())).resolves.toBeTruthy();
  });
});

describe('the local issuer', () => {
  const local = 'http://localhost:3000';
  const session = { userId: 'user_1', organizationId: 'org_1', role: 'org:admin' };

  it.each(['ES256', 'RS256'] as const)('signs tokens that its own public key verifies: %s', async (alg) => {
    const localKey = { ...(await exportJWK((await signingKey('local', alg)).privateKey)), kid: 'local' };
    const sessions = createSessionVerifier({ jwksUrl: null, issuer: local, localKeys: [localKey] });
    expect(
      await sessions.verify(await signLocalSession(localKey, local, { ...session, expires: '1h' })),
    ).toMatchObject(session);
    const personal = { userId: 'user_2', organizationId: null, role: null };
    expect(
      await sessions.verify(await signLocalSession(localKey, local, { ...personal, expires: '1h' })),
    ).toEqual(personal);
    await expect(
      sessions.verify(await signLocalSession(localKey, local, { ...session, expires: '-6s' })),
    ).rejects.toThrow('"exp"');
    await expect(
      sessions.verify(await signLocalSession(localKey, ISSUER, { ...session, expires: '1h' })),
    ).rejects.toThrow('"iss"');
    await expect(sessions.verify(await token({ iss: local }))).rejects.toThrow(SessionRefused);
  });

  it('is not trusted if an identity provider is configured', async () => {
    const localKey = await exportJWK((await signingKey('local', 'ES256')).privateKey);
    const forged = await signLocalSession({ ...localKey, kid: ec.kid }, ISSUER, {
      ...session,
      expires: '1h',
    });
    await expect(verifier({ localKeys: [localKey] }).verify(forged)).rejects.toThrow(SessionRefused);
  });

  it('requires a key', () => {
    expect(() => createSessionVerifier({ jwksUrl: null, issuer: local })).toThrow('AUTH_LOCAL_JWK');
  });
});
