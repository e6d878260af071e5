import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClaimRules, NoRoleNamed, placeNamedBy, profileOf } from './identity-claims.ts';

const DEFAULT: ClaimRules = {
  organizationClaim: null,
  rolesClaim: null,
  adminRoles: ['admin', 'owner'],
  memberRoles: null,
};
const KEYCLOAK = { ...DEFAULT, organizationClaim: 'organization', rolesClaim: 'realm_access.roles' };

describe('the organization and role of claims', () => {
  it.each([
    [{}, [], null],
    [{ org_id: 'org_1', org_role: 'org:admin' }, ['org_1'], 'org:admin'],
    [{ org_id: 'org_1', org_role: 'org:owner' }, ['org_1'], 'org:admin'],
    [{ org_id: 'org_1' }, ['org_1'], null],
    [{ org_id: 'org_1', org_slug: 'acme' }, ['org_1'], null],
    [{ v: 2, org_id: 'org_1' }, [], null],
    [{ v: 2, o: { id: 'org_1', rol: 'admin' } }, ['org_1'], 'org:admin'],
    [{ o: { id: 'org_1', rol: 'org:billing' } }, ['org_1'], 'org:billing'],
  ])('reads the common claims %j', (claims, organizations, role) => {
    expect(placeNamedBy(claims, DEFAULT)).toMatchObject({ organizations, role });
  });

  it.each([
    ['acme', ['acme']],
    [
      ['acme', 'beta'],
      ['acme', 'beta'],
    ],
    [{ acme: {} }, ['acme']],
    [{ acme: { id: '42a4', tier: ['gold'] }, beta: { id: ['77'] } }, ['42a4', 'acme', '77', 'beta']],
    [{ id: 'o1', name: 'Acme' }, ['o1', 'Acme']],
    [
      [{ id: 'o1', name: 'Acme' }, { name: 'Beta' }, { id: 7 }],
      ['o1', 'Acme', 'Beta', '7'],
    ],
    [[{ acme: { id: '42' } }], ['42', 'acme']],
    [{ id: { id: '42' } }, ['42', 'id']],
    [42, ['42']],
    [['acme', null, {}, [], true], ['acme']],
    [{}, []],
    [[], []],
    [null, []],
  ])('reads the organization claim %j', (organization, names) => {
    const { organizations } = placeNamedBy(
      { organization },
      { ...DEFAULT, organizationClaim: 'organization' },
    );
    expect(organizations).toEqual(names);
  });

  it('reads roles at a path, or at a claim whose name contains dots', () => {
    const organization = ['acme'];
    const roleOf = (claims: object, rules: Partial<ClaimRules> = {}) =>
      placeNamedBy({ organization, ...claims }, { ...KEYCLOAK, ...rules }).role;
    expect(roleOf({ realm_access: { roles: ['offline_access', 'admin'] } })).toBe('org:admin');
    expect(roleOf({ realm_access: { roles: ['offline_access'] } })).toBe('org:member');
    expect(roleOf({})).toBe('org:member');
    expect(roleOf({ 'https://a.example/roles': 'owner' }, { rolesClaim: 'https://a.example/roles' })).toBe(
      'org:admin',
    );
    for (const realm of [
      { roles: { admin: { 'acme.example': '1' } } },
      { roles: [{ id: 3, name: 'admin' }] },
    ])
      expect(roleOf({ realm_access: realm })).toBe('org:admin');
    expect(roleOf({ realm_access: { roles: 'admin' } })).toBe('org:admin');
    for (const roles of ['openid profile admin', 'agent,admin', 'agent, admin'])
      expect(roleOf({ realm_access: { roles } })).toBe('org:admin');
    expect(roleOf({ realm_access: { roles: ['no admin'] } })).toBe('org:member');
    const client = { resource_access: { 'app.acme.example': { roles: ['admin'] }, app: { acme: 1 } } };
    expect(roleOf(client, { rolesClaim: 'resource_access.app.acme.example.roles' })).toBe('org:admin');
    const listed = { memberRoles: ['agent'] };
    expect(roleOf({ realm_access: { roles: ['agent'] } }, listed)).toBe('org:member');
    expect(() => roleOf({ realm_access: { roles: ['other'] } }, listed)).toThrow(NoRoleNamed);
    expect(placeNamedBy({ realm_access: { roles: ['other'] } }, { ...KEYCLOAK, ...listed })).toMatchObject({
      organizations: [],
      role: null,
    });
  });

  it('accepts claims of any shape', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('org_id', 'o', 'organization', 'roles'), fc.jsonValue()),
        (claims) => {
          for (const rules of [DEFAULT, { ...KEYCLOAK, rolesClaim: 'roles' }]) {
            const { organizations, role } = placeNamedBy(claims, rules);
            expect(organizations.every((name) => name !== '')).toBe(true);
            if (organizations.length === 0) expect(role).toBeNull();
          }
        },
      ),
    );
  });
});

describe('the profile of claims', () => {
  it.each([
    [
      { name: 'Ada Lovelace', email: 'Ada@Example.com', email_verified: true },
      'Ada Lovelace',
      'Ada@example.com',
    ],
    [{ given_name: 'Ada', family_name: 'Lovelace' }, 'Ada Lovelace', null],
    [{ name: ' A\n\tB ', email: 'ada@example.com' }, 'A B', null],
    [{ name: '', email: 'ada@example.com', email_verified: false }, null, null],
    [{ name: 7, email: 'no address', email_verified: 'true' }, null, null],
    [{ name: '  ', given_name: 'Ada', nickname: 'al' }, 'Ada', null],
    [{ nickname: 'al', preferred_username: 'ada' }, 'al', null],
    [{ preferred_username: 'ada' }, 'ada', null],
  ])('of %j', (claims, name, email) => {
    const profile = profileOf(claims);
    expect([profile.name, profile.email?.toLowerCase() ?? null]).toEqual([
      name,
      email?.toLowerCase() ?? null,
    ]);
  });
});
