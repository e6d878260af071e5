/*
 * Signs people in at a real Keycloak: discovery over TLS with a certificate authority of its own, profiles, organizations and
 * realm roles from claims, workspaces that are created, a user who may not have offline tokens, renewal, disabled users, signing
 * out, and an outage.
 *
 * Usage: npm run prove -- keycloak
 * KEYCLOAK_HOME names an unpacked distribution; without it, Maven downloads one. Requires Java 17 or later and openssl.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Agent, fetch, type RequestInit, type Response } from 'undici';
import { readFile } from 'node:fs/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import { startApi } from '../../api/server.ts';
import { startServers } from '../bench/support/servers.ts';
import { createPools } from '../../db/connection/pools.ts';
import { systemDb } from '../../db/connection/transactions.ts';
import { freePort } from '../../providers/free-port.ts';
import { createCertificates } from './rehearse/certificates.ts';
import { conclude } from './world/part.ts';

const VERSION = '26.4.5';
const FOLDER = resolve(process.env['DATA_DIR'] ?? '.data', 'keycloak');
const START_TIMEOUT_MS = 240_000;

/** Where Keycloak is. null: it cannot be installed here. */
function install(): string | null {
  const given = process.env['KEYCLOAK_HOME'];
  if (given !== undefined && given !== '') return given;
  const home = join(FOLDER, `keycloak-${VERSION}`);
  if (existsSync(home)) return home;
  if (spawnSync('java', ['-version']).status !== 0) return null;
  mkdirSync(FOLDER, { recursive: true });
  console.log(`Downloading Keycloak ${VERSION}, 160 MB, once …`);
  const copied = spawnSync(
    'mvn',
    [
      '-q',
      '-B',
      'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack',
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`,
      `-DoutputDirectory=${FOLDER}`,
    ],
    // Where there is no project, Maven leaves its marks in the current folder.
    { cwd: FOLDER, stdio: 'inherit' },
  );
  if (copied.status !== 0 || !existsSync(home)) return null;
  spawnSync('chmod', ['+x', join(home, 'bin', 'kc.sh')]);
  return home;
}

const PASSWORD = 'a password of the proof';
const CLIENT_SECRET = 'a secret of the proof';

const user = (username: string, roles: string[], attributes: object = {}) => ({
  username,
  email: `${username}@acme.test`,
  firstName: username.replace(/^./, (letter) => letter.toUpperCase()),
  lastName: 'Example',
  emailVerified: true,
  enabled: true,
  credentials: [{ type: 'password', value: PASSWORD }],
  realmRoles: roles,
  ...attributes,
});

/** The realm as docs/keycloak.md describes it. */
const realm = (publicUrl: string) => ({
  realm: 'linepace',
  enabled: true,
  organizationsEnabled: true,
  roles: { realm: [{ name: 'linepace-admin' }, { name: 'linepace-member' }, { name: 'offline_access' }] },
  clients: [
    {
      clientId: 'linepace-console',
      secret: CLIENT_SECRET,
      redirectUris: [`${publicUrl}/auth/callback`],
      attributes: { 'post.logout.redirect.uris': `${publicUrl}/console` },
      protocolMappers: [
        {
          name: 'realm roles',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-usermodel-realm-role-mapper',
          config: {
            'claim.name': 'realm_access.roles',
            'jsonType.label': 'String',
            multivalued: 'true',
            'id.token.claim': 'true',
          },
        },
        {
          name: 'organization',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-organization-membership-mapper',
          config: {
            'claim.name': 'organization',
            'jsonType.label': 'JSON',
            multivalued: 'true',
            addOrganizationId: 'true',
            'id.token.claim': 'true',
          },
        },
      ],
    },
  ],
  organizations: [
    {
      name: 'Acme',
      alias: 'acme',
      enabled: true,
      domains: [{ name: 'acme.test', verified: true }],
      members: ['ada', 'ben', 'cleo', 'dan'].map((username) => ({ username, membershipType: 'UNMANAGED' })),
    },
  ],
  users: [
    user('ada', ['linepace-admin', 'offline_access']),
    user('ben', ['linepace-member']),
    user('cleo', []),
    user('dan', ['linepace-member', 'offline_access']),
    user('eve', ['linepace-member'], { email: 'eve@elsewhere.test' }),
  ],
});

const trusting = (ca: string) => {
  const dispatcher = new Agent({ connect: { ca } });
  return (url: string, options: RequestInit = {}): Promise<Response> =>
    fetch(url, { redirect: 'manual', ...options, dispatcher });
};

let failures = 0;
function check(title: string, isSo: boolean, seen: unknown = ''): void {
  console.log(`${isSo ? '✓' : '✗'} ${title}${isSo ? '' : `: ${JSON.stringify(seen).slice(0, 1500)}`}`);
  if (!isSo) failures += 1;
}

/** A browser without scripts: cookies by origin, and the forms of Keycloak's pages. */
function browser(request: ReturnType<typeof trusting>) {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (url: string): Map<string, string> => {
    const { origin } = new URL(url);
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    return jar;
  };
  const send = async (
    url: string,
    options: RequestInit = {},
  ): Promise<{ response: Response; text: string }> => {
    const jar = jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', cookie, ...(options.headers as Record<string, string>) };
    const response = await request(url, { ...options, headers });
    for (const text of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (value === '' || /max-age=0/i.test(text)) jar.delete(name);
      else jar.set(name, value);
    }
    return { response, text: await response.text() };
  };
  return {
    jarOf,
    send,
    /** Follows redirects. @returns the last page and the addresses on the way. */
    async open(url: string, options: RequestInit = {}) {
      const way: string[] = [];
      let next: string | null = url;
      let page = { status: 0, text: '' };
      let given = options;
      while (next !== null && way.length < 12) {
        way.push(next);
        const { response, text } = await send(next, given);
        given = {};
        page = { status: response.status, text };
        const location = response.headers.get('location');
        next = location === null ? null : new URL(location, next).href;
        if (next !== null && new URL(next).pathname === '/console') {
          way.push(next);
          return { ...page, status: 200, text: 'console', way };
        }
      }
      return { ...page, way };
    },
  };
}

async function main(home: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const certificates = createCertificates(join(FOLDER, 'certificates'), '');
  const ca = await readFile(certificates.authority, 'utf8');
  const [port, httpPort, managementPort, apiPort] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ]);
  const publicUrl = `http://localhost:${apiPort}`;
  const issuer = `https://localhost:${port}/realms/linepace`;
  rmSync(join(home, 'data', 'h2'), { recursive: true, force: true });
  mkdirSync(join(home, 'data', 'import'), { recursive: true });
  writeFileSync(join(home, 'data', 'import', 'linepace.json'), JSON.stringify(realm(publicUrl)));

  const log = openSync(join(FOLDER, 'keycloak.log'), 'w');
  const startKeycloak = () =>
    spawn(
      join(home, 'bin', 'kc.sh'),
      [
        'start-dev',
        '--import-realm',
        `--https-port=${port}`,
        `--http-port=${httpPort}`,
        `--http-management-port=${managementPort}`,
        `--https-certificate-file=${certificates.server}`,
        `--https-certificate-key-file=${certificates.serverKey}`,
        `--hostname=https://localhost:${port}`,
      ],
      {
        stdio: ['ignore', log, log],
        detached: true,
        env: {
          ...process.env,
          KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
          KC_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
          JAVA_OPTS_APPEND: '-Xmx700m',
        },
      },
    );
  let keycloak = startKeycloak();
  const stopKeycloak = async (): Promise<void> => {
    if (keycloak.exitCode !== null || keycloak.pid === undefined) return;
    const ended = once(keycloak, 'exit');
    // The script starts Java, which is in the same process group.
    process.kill(-keycloak.pid, 'SIGTERM');
    await ended;
  };
  const request = trusting(ca);
  const isUp = async (): Promise<void> => {
    const end = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      const response = await request(`${issuer}/.well-known/openid-configuration`).catch(() => null);
      await response?.text();
      if (response?.ok) return;
      if (Date.now() > end) throw new Error(`Keycloak did not start: ${FOLDER}/keycloak.log`);
      await new Promise((again) => setTimeout(again, 1000));
    }
  };

  const servers = await startServers();
  await isUp();
  const pools = await createPools(servers.config.database, { size: 2 });
  const db = systemDb(pools);
  const api = await startApi({
    ...servers.config,
    port: apiPort,
    publicUrl,
    auth: {
      ...servers.config.auth,
      issuer,
      client: { id: 'linepace-console', secret: CLIENT_SECRET },
      scopes: ['openid', 'profile', 'email', 'organization', 'offline_access'],
      claimRules: {
        organizationClaim: 'organization',
        rolesClaim: 'realm_access.roles',
        adminRoles: ['linepace-admin'],
        memberRoles: ['linepace-member'],
      },
      provisionMembers: true,
      createWorkspaces: true,
      caFile: certificates.authority,
    },
  });

  const signIn = async (username: string) => {
    const person = browser(request);
    const form = await person.open(`${publicUrl}/auth/sign-in`);
    const body = new URLSearchParams({ username, password: PASSWORD }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    let signedIn = form;
    const { way } = form;
    // With organizations, Keycloak asks for the name first.
    for (let tries = 0; tries < 2; tries++) {
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(signedIn.text) ?? [];
      if (action === undefined || !action.startsWith(issuer)) break;
      signedIn = await person.open(action.replaceAll('&amp;', '&'), { method: 'POST', body, headers });
      way.push(...signedIn.way);
    }
    const call = async (path: string, method = 'GET') => {
      const options = await person.send(`${publicUrl}/auth/session`);
      const { sessionId } = JSON.parse(options.text) as { sessionId: string | null };
      const { response, text } = await person.send(publicUrl + path, {
        method,
        headers: { 'x-console-session': sessionId ?? '' },
      });
      return { status: response.status, body: z.looseObject({}).parse(JSON.parse(text)) };
    };
    return { ...signedIn, way, call, person };
  };
  const renewAll = () => db.query(sql.type(z.object({}))`update user_sessions set renew_at = now()`);
  const WITH_OFFLINE = /[?&]scope=[^&]*offline_access/;

  try {
    const early = await signIn('ben');
    check('a member whose organization has no workspace is told so', early.status === 403, early.text);
    check('… by the name of the organization', early.text.includes('acme'), early.text);

    const ada = await signIn('ada');
    check('the first admin of the organization signs in', ada.text === 'console', ada);
    check('… with offline_access', ada.way.filter((url) => WITH_OFFLINE.test(url)).length > 0, ada.way);
    const workspace = (await ada.call('/api/workspace')).body as {
      workspace?: { name?: string; _id?: string };
      caller?: { role?: string };
    };
    check('… and has created its workspace', workspace.workspace?.name === 'acme', workspace);
    check('… as an admin', workspace.caller?.role === 'org:admin', workspace);

    const ben = await signIn('ben');
    check('a member who may not have offline tokens signs in', ben.text === 'console', ben);
    const authorizations = ben.way.filter((url) => url.includes('/protocol/openid-connect/auth?'));
    check(
      '… without the scope at the second try',
      authorizations.map((url) => WITH_OFFLINE.test(url)).join(',') === 'true,false',
      authorizations,
    );
    const team = (await ada.call('/api/team')).body as { members?: Record<string, unknown>[] };
    const told = (team.members ?? []).map(({ name, email, role, isOwner }) => [name, email, role, isOwner]);
    check(
      'both have the names, addresses and roles of the provider',
      JSON.stringify(told.toSorted(([, a], [, b]) => String(a).localeCompare(String(b)))) ===
        JSON.stringify([
          ['Ada Example', 'ada@acme.test', 'org:admin', true],
          ['Ben Example', 'ben@acme.test', 'org:member', false],
        ]),
      told,
    );
    const cleo = await signIn('cleo');
    check(
      'a user without a role is told so',
      cleo.status === 403 && cleo.text.includes('no role'),
      cleo.text,
    );
    const eve = await signIn('eve');
    check('a user outside of the organization is refused', eve.status === 403, eve.text);

    await renewAll();
    check('a session with an offline token is renewed', (await ada.call('/api/workspace')).status === 200);
    check('… and one without', (await ben.call('/api/workspace')).status === 200);

    const admin = await adminOf(request, `https://localhost:${port}`);
    await admin.updateUser('ben', { firstName: 'Benjamin' });
    await renewAll();
    await ben.call('/api/workspace');
    const renamed = JSON.stringify((await ada.call('/api/team')).body);
    check('a renewal brings a new name', renamed.includes('Benjamin Example'), renamed);
    await admin.updateUser('ben', { enabled: false });
    await renewAll();
    const disabled = await ben.call('/api/workspace');
    check('a disabled user is signed out at the next renewal', disabled.status === 401, disabled);

    const dan = await signIn('dan');
    const left = await dan.call('/api/sessions/current', 'DELETE');
    const { signOutUrl } = left.body as { signOutUrl?: string };
    check(
      'signing out names the address at the provider',
      signOutUrl?.startsWith(issuer) === true,
      left.body,
    );
    const out = await dan.person.open(signOutUrl ?? issuer);
    check('… which ends the session there and leads back', out.text === 'console', out.way);

    await stopKeycloak();
    await renewAll();
    check('during an outage sessions go on', (await ada.call('/api/workspace')).status === 200);
    const outage = await fetch(`${publicUrl}/auth/sign-in`, {
      headers: { accept: 'text/html' },
      redirect: 'manual',
    });
    // The address of the provider's page is known; it is the browser that gets no answer there.
    check('… and signing in leads to the provider, whose configuration is known', outage.status === 302);
    keycloak = startKeycloak();
    await isUp();
    const back = await signIn('ada');
    check('afterwards people sign in again', back.text === 'console', back);
  } finally {
    await api.stop();
    await pools.close();
    await stopKeycloak();
    await servers.stop();
  }
}

/** Keycloak's own API for administrators. */
async function adminOf(request: ReturnType<typeof trusting>, url: string) {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'admin-cli',
    username: 'admin',
    password: PASSWORD,
  });
  const token = await request(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: body.toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const { access_token } = z.object({ access_token: z.string() }).parse(await token.json());
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  const users = `${url}/admin/realms/linepace/users`;
  return {
    async updateUser(username: string, changes: object): Promise<void> {
      const found = await request(`${users}?exact=true&username=${username}`, { headers });
      const [about] = z.array(z.looseObject({ id: z.string() })).parse(await found.json());
      const { status } = await request(`${users}/${about?.id}`, {
        method: 'PUT',
        headers,
        body: JSON.stringify({ ...about, ...changes }),
      });
      if (status !== 204) throw new Error(`Keycloak did not change ${username}: ${status}`);
    },
  };
}

const home = install();
if (home === null) {
  conclude('skipped', 'keycloak', 'it requires Java 17 or later, and Maven or KEYCLOAK_HOME');
} else {
  await main(home);
  conclude(failures === 0 ? 'holds' : 'fails', 'keycloak', `Keycloak ${VERSION}, ${failures} failed`);
}
