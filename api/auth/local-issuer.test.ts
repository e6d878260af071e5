import { describe, expect, it } from 'vitest';
import { randomBytes } from 'node:crypto';
import { issueSession, localKeysOf } from './local-issuer.ts';
import { createSessionVerifier, SessionRefused } from './session-token.ts';

const issuer = 'urn:linepace:local';
const auth = { jwksUrl: null, localJwk: null, issuer } as Parameters<typeof localKeysOf>[0]['auth'];
const ringKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const verifierOf = (signingKeys: string) =>
  createSessionVerifier({ jwksUrl: null, issuer, localKeys: localKeysOf({ auth, signingKeys }) });
const session = { userId: 'user_1', organizationId: 'org_1', role: 'org:admin' };
const soon = { ...session, expires: new Date(Date.now() + 60_000) };

describe('the local issuer', () => {
  it('signs with the first of the signing keys, and accepts what any of them signed', async () => {
    const [old, current] = [ringKey('1'), ringKey('2')];
    const before = await issueSession({ auth, signingKeys: old }, soon);
    const rotated = verifierOf(`${current},${old}`);
    expect(await rotated.verify(before)).toMatchObject(session);
    const after = await issueSession({ auth, signingKeys: `${current},${old}` }, soon);
    expect(await rotated.verify(after)).toMatchObject(session);
    await expect(verifierOf(old).verify(after)).rejects.toThrow(SessionRefused);
  });

  it('accepts nothing that another key of the same id signed', async () => {
    const foreign = await issueSession({ auth, signingKeys: ringKey('1') }, soon);
    await expect(verifierOf(ringKey('1')).verify(foreign)).rejects.toThrow(SessionRefused);
  });

  it('signs nothing where an identity provider issues the tokens', async () => {
    const provided = { ...auth, jwksUrl: 'https://id.example.com/keys' };
    await expect(issueSession({ auth: provided, signingKeys: ringKey('1') }, soon)).rejects.toThrow(
      'the identity provider issues session tokens',
    );
  });
});
