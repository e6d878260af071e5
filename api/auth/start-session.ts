import type { Context } from 'koa';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { workspaceOfSession } from '#db/queries/accounts/credentials.ts';
import {
  endSession,
  insertUserSession,
  agencyOfPerson,
  landingWorkspace,
  type SessionKey,
} from '#db/queries/accounts/user-sessions.ts';
import { recordIdentity, userOfSubject } from '#db/queries/accounts/identities.ts';
import {
  createWorkspaceOfOrganization,
  workspaceOfOrganizations,
} from '#db/queries/accounts/provider-organizations.ts';
import { type SystemDb, withSystemShare } from '#db/connection/transactions.ts';
import type { Config } from '#domain/base/config.ts';
import {
  type ClaimRules,
  type NamedPlace,
  NoRoleNamed,
  placeNamedBy,
  profileOf,
} from '#domain/accounts/identity-claims.ts';
import {
  hashSessionToken,
  lifetimeOf,
  newSessionToken,
  type SignInMethod,
} from '#domain/accounts/user-session.ts';
import type { ProviderTokens, SignedIn } from '#providers/identity-provider.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Services } from '../services.ts';
import { addCookie, cookieHeader } from './cookies.ts';
import { joinByProvider, updateByProvider } from './first-session.ts';
import { findSession, logOf, NO_TOKENS, recordEnd, revokeAtProvider, sealTokens } from './user-sessions.ts';

const MAX_USER_AGENT = 300;

/** Why nobody was signed in. */
type Refusal =
  | { reason: 'not_a_member' }
  /** No workspace is that of the organization, which people call `organization`. */
  | { reason: 'unknown_organization'; organization: string }
  | { reason: 'no_role' };

/** null: the session has started. */
type Started = Refusal | null;

/** A person who has proved who they are, and the browser. */
interface Person {
  method: SignInMethod;
  tokens: ProviderTokens;
  /** The session that it replaces. */
  previous: SessionKey | null;
  place: NamedPlace;
  /** The user that they are. */
  identify(db: SystemDb): Promise<string>;
  /** Called when it is known that they are let in. */
  remember?(db: SystemDb, userId: string): Promise<void>;
}

/**
 * Starts a session of somebody who signed in at the identity provider.
 * @param previous the session that it replaces.
 */
export async function startSession(
  context: Context,
  services: Services,
  { claims, tokens }: SignedIn,
  previous: SessionKey | null,
): Promise<Started> {
  const place = readPlace(claims, services.config.auth.claimRules);
  if (!place) return { reason: 'no_role' };
  const subject = String(claims['sub']);
  const profile = profileOf(claims);
  return start(context, services, {
    method: 'identity_provider',
    tokens,
    previous,
    place,
    identify: (db) => userOfSubject(db, subject, profile),
    remember: (db, userId) => recordIdentity(db, subject, userId, profile),
  });
}

/** Starts a session of somebody who signed in here, in place of the session that the browser has. */
export async function startOwnSession(
  context: Context,
  services: Services,
  userId: string,
  method: Exclude<SignInMethod, 'identity_provider'>,
): Promise<Started> {
  const previous = await findSession(
    { cookies: context.get('cookie'), client: () => clientAddress(context) },
    services,
  );
  return start(context, services, {
    method,
    tokens: NO_TOKENS,
    previous,
    place: OWN_PLACE,
    identify: async () => userId,
  });
}

/** The memberships alone count. */
const OWN_PLACE: NamedPlace = { organizations: [], title: '', role: null };

async function start(
  context: Context,
  services: Services,
  { method, tokens, previous, place, identify, remember }: Person,
): Promise<Started> {
  const { config, pools, secrets } = services;
  const token = newSessionToken();
  const canBeRenewed = tokens.refreshToken !== null;
  const session = {
    hash: hashSessionToken(token),
    role: place.organizations.length === 0 ? null : (place.role ?? 'org:member'),
    userAgent: context.get('user-agent').slice(0, MAX_USER_AGENT),
    minutes: lifetimeOf(config.auth.sessions, canBeRenewed || method !== 'identity_provider'),
    canBeRenewed,
  };
  const started = await withSystemShare(pools, clientAddress(context), async (db) => {
    const userId = await identify(db);
    const entered = await enter(db, userId, { ...place, role: session.role }, config.auth);
    if ('reason' in entered) return entered;
    await remember?.(db, userId);
    const { workspaceId, userName } = entered;
    const id = await insertUserSession(db, { ...session, userId, workspaceId }, (sessionId) =>
      sealTokens(secrets, { place: workspaceId ?? userId, id: sessionId }, tokens),
    );
    await insertAuditEntry(await logOf(db, { workspaceId, userId }), {
      ...byUser(userId, userName),
      action: 'session.started',
      target: { type: 'session', id },
      changes: { method },
    });
    const replaced = previous && (await endSession(db, previous.id, null));
    if (replaced) await recordEnd(db, replaced, byUser(replaced.userId), 'replaced');
    return { replaced };
  });
  if ('reason' in started) return started;
  if (started.replaced) revokeAtProvider([started.replaced], services);
  const { minutes } = session;
  addCookie(context, cookieHeader('session', token, config.publicUrl, { minutes, sameSite: 'Strict' }));
  return null;
}

const byUser = (id: string, name: string | null = null) =>
  ({ actor: { type: 'user', id, name }, channel: 'session' }) as const;

/** null: the provider names no role that lets the user in. */
function readPlace(claims: Record<string, unknown>, rules: ClaimRules): NamedPlace | null {
  try {
    return placeNamedBy(claims, rules);
  } catch (error) {
    if (error instanceof NoRoleNamed) return null;
    throw error;
  }
}

interface Entered {
  /** null: the agency of the user has no client yet. */
  workspaceId: string | null;
  userName: string | null;
}

/** The workspace that the user signs in to. Users whom the provider names in its organization may become its members. */
async function enter(
  db: SystemDb,
  userId: string,
  place: NamedPlace,
  auth: Config['auth'],
): Promise<Refusal | Entered> {
  const { organizations, role, title } = place;
  const isNamed = organizations.length > 0;
  const workspaceId = isNamed
    ? ((await workspaceOfOrganizations(db, organizations, userId)) ??
      (await createByFirstAdmin(db, userId, place, auth)))
    : await landingWorkspace(db, userId);
  if (workspaceId === null) {
    if (isNamed) return { reason: 'unknown_organization', organization: title };
    const person = await agencyOfPerson(db, userId);
    return person ? { workspaceId: null, userName: person.userName } : { reason: 'not_a_member' };
  }
  const found = await workspaceOfSession(db, workspaceId, userId);
  if (!found) return { reason: 'not_a_member' };
  const { memberRole, isOfAgency, userName } = found;
  if (memberRole !== null) await updateByProvider(db, workspaceId, userId, role, auth);
  const isIn =
    memberRole !== null || isOfAgency || (await joinByProvider(db, workspaceId, userId, role, auth));
  return isIn ? { workspaceId, userName } : { reason: 'not_a_member' };
}

/** With `AUTH_CREATE_WORKSPACES`, the first admin of an organization creates its workspace. @returns null if they may not. */
async function createByFirstAdmin(
  db: SystemDb,
  userId: string,
  { organizations: [name], title, role }: NamedPlace,
  { createWorkspaces }: Config['auth'],
): Promise<string | null> {
  if (!createWorkspaces || role !== 'org:admin' || name === undefined) return null;
  const { workspaceId, isNew } = await createWorkspaceOfOrganization(db, name, title);
  if (isNew)
    await insertAuditEntry(
      { db, workspaceId },
      { ...byUser(userId), action: 'workspace.created', target: { type: 'workspace', id: workspaceId } },
    );
  return workspaceId;
}
