import { normalizeEmail } from '../base/address.ts';
import type { Role } from './team.ts';

/** Where the identity provider's tokens name organizations and roles, from `AUTH_ORGANIZATION_CLAIM` and so on. */
export interface ClaimRules {
  /** null: `org_id`, or `id` of the compact `o`. */
  organizationClaim: string | null;
  /** null: `org_role`, or `rol` of the compact `o`. */
  rolesClaim: string | null;
  /** The values of `rolesClaim` that make an admin. */
  adminRoles: readonly string[];
  /** The values of `rolesClaim` that make a member; null: everybody in the organization is one. */
  memberRoles: readonly string[] | null;
}

/** What verified claims say about where a user belongs. */
export interface NamedPlace {
  /** Ids and names of organizations, the one that counts most first; []: the provider names none. */
  organizations: readonly string[];
  /** What people call the first organization; '' if the provider names none. */
  title: string;
  /** The role in the organization; null: none is named. */
  role: string | null;
}

/** The provider names an organization, but no role that lets the user in. */
export class NoRoleNamed extends Error {
  override readonly name = 'NoRoleNamed';
}

type Claims = Record<string, unknown>;

const MAX_VALUES = 200;

/** @throws NoRoleNamed */
export function placeNamedBy(claims: Claims, rules: ClaimRules): NamedPlace {
  const { role, ...place } =
    rules.organizationClaim === null
      ? clerkClaims(claims)
      : { ...organizationsIn(claimAt(claims, rules.organizationClaim)), role: clerkClaims(claims).role };
  if (place.organizations.length === 0) return { ...place, role: null };
  if (rules.rolesClaim === null) return { ...place, role };
  return { ...place, role: roleAmong(rolesIn(claimAt(claims, rules.rolesClaim)), rules) };
}

/** @throws NoRoleNamed */
function roleAmong(roles: readonly string[], { adminRoles, memberRoles }: ClaimRules): Role {
  if (roles.some((role) => adminRoles.includes(role))) return 'org:admin';
  if (memberRoles === null || roles.some((role) => memberRoles.includes(role))) return 'org:member';
  throw new NoRoleNamed('the provider names no role that lets the user in');
}

/** Clerk's session tokens: version 1 has `org_id`, `org_slug` and `org_role`, version 2 the compact `o`. */
function clerkClaims({ v, o, org_id, org_slug, org_role }: Claims): NamedPlace {
  const { id, slg, rol } = isRecord(o) ? o : {};
  if (isText(id)) return clerkPlace(id, slg, isText(rol) ? `org:${rol.replace(/^org:/, '')}` : null);
  if (v === 2 || !isText(org_id)) return { organizations: [], title: '', role: null };
  return clerkPlace(org_id, org_slug, isText(org_role) ? org_role : null);
}

const clerkPlace = (id: string, slug: unknown, role: string | null): NamedPlace => ({
  organizations: [id],
  title: isText(slug) ? slug : id,
  role: role === 'org:owner' ? 'org:admin' : role,
});

/**
 * The forms of an organization claim: a name, an object with an `id` or a `name`, a list of these, or an object of objects by name, which
 * may have an `id`, as Keycloak's `organization` has it.
 */
function organizationsIn(claim: unknown): Omit<NamedPlace, 'role'> {
  const named = listOf(claim).flatMap((one) => {
    if (!isRecord(one)) return texts(one).map((name) => ({ names: [name], title: name }));
    const own = namesOf(one);
    if (own.length > 0) return [{ names: own, title: own.at(-1) ?? '' }];
    return Object.entries(one)
      .slice(0, MAX_VALUES)
      .filter(([name]) => name !== '')
      .map(([name, about]) => ({
        names: [...(isRecord(about) ? texts(about['id']) : []), name],
        title: name,
      }));
  });
  return { organizations: named.flatMap(({ names }) => names), title: named[0]?.title ?? '' };
}

/**
 * The forms of a claim of roles: a name, names with spaces or commas between them, as in `scope`, a list of names or of objects with a `name`,
 * or an object by name, as Zitadel has it.
 */
const rolesIn = (claim: unknown): string[] =>
  listOf(isText(claim) ? [claim, ...claim.split(/[\s,]+/, MAX_VALUES)] : claim).flatMap((one) => {
    if (!isRecord(one)) return texts(one);
    const own = namesOf(one);
    return own.length > 0 ? own : Object.keys(one).slice(0, MAX_VALUES);
  });

/** What an object calls itself: its id first. */
const namesOf = ({ id, name }: Claims): string[] =>
  [id, name].flatMap((one) => (isRecord(one) ? [] : texts(one)));

/** The value of a claim by its name, or by a path in it, whose names may contain dots: `realm_access.roles`. */
export function claimAt(claims: unknown, path: string): unknown {
  if (!isRecord(claims)) return undefined;
  if (Object.hasOwn(claims, path)) return claims[path];
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot);
    const found = Object.hasOwn(claims, name) ? claimAt(claims[name], path.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isRecord = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]).slice(0, MAX_VALUES);
/** Some providers number what others name. */
const texts = (value: unknown): string[] =>
  listOf(value)
    .map((one) => (typeof one === 'number' ? String(one) : one))
    .filter(isText);

/** The name and the email address that the provider gives of a user; null: none, or one that it has not verified. */
export interface Profile {
  name: string | null;
  email: string | null;
}

const MAX_NAME = 200;

export function profileOf(claims: Claims): Profile {
  const parts = [claims['given_name'], claims['family_name']].filter(isText).join(' ');
  const names = [claims['name'], parts, claims['nickname'], claims['preferred_username']].filter(isText);
  const name = names.map(oneLine).find((one) => one !== '') ?? '';
  const isVerified = claims['email_verified'] === true || claims['email_verified'] === 'true';
  const email = isVerified && isText(claims['email']) ? normalizeEmail(claims['email']) : null;
  return { name: name === '' ? null : name, email };
}

const oneLine = (text: string): string =>
  text
    .slice(0, 4 * MAX_NAME)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME);
