import { beforeAll, describe, expect, it } from 'vitest';
import { createSignInLink } from '#db/queries/accounts/sign-in-links.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { connected } from '#db/connection/connected.ts';
import { hashSignInToken, signInLink } from '#domain/accounts/sign-in-link.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient, type ApiResponse } from '#test/support/client.ts';
import { createAgency, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';
import { mailsTo } from '#test/support/mails.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: TestWorkspace;
let email: string;

beforeAll(async () => {
  app = await sharedApp();
});

/** A workspace, and an owner with an address of their own. */
async function createOwner(): Promise<void> {
  workspace = await createWorkspace(app);
  email = `owner-${newId()}@example.test`;
  await connected(app.ownerUrl, (client) =>
    client.query('update users set email = $1 where id = $2', [email, workspace.ownerId]),
  );
}

/** The cookie that a response sets, as a browser sends it. */
const cookieOf = (headers: Headers, name: string): string | undefined =>
  headers
    .getSetCookie()
    .map((text) => /^[^;]+/.exec(text)?.[0] ?? '')
    .find((pair) => pair.startsWith(`linepace-${name}=`));

const ask = (address: string, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  apiClient(app.url, '')('POST', '/api/sign-in/link', { email: address }, headers);

/** Asks for a link. @returns the link in the email, and the cookie of the browser. */
async function mailedLink(address = email): Promise<{ link: string; cookie: string }> {
  const { status, body, headers } = await ask(address);
  expect([status, body]).toEqual([202, { success: true }]);
  const mail = await eventually(async () => (await mailsTo(app, address))[0]);
  expect(mail.subject).toBe('Sign in to Linepace');
  const link = new RegExp(`${app.url}/sign-in/[\\w-]+`).exec(mail.text)?.[0] ?? '';
  expect(mail.html).toContain(link);
  return { link, cookie: cookieOf(headers, 'browser') ?? '' };
}

interface Opened {
  status: number;
  text: string;
  location: string | null;
  session: string | undefined;
}

async function open(link: string, method: 'GET' | 'POST', headers: Record<string, string>): Promise<Opened> {
  const response = await fetch(link, { method, headers, redirect: 'manual' });
  return {
    status: response.status,
    text: await response.text(),
    location: response.headers.get('location'),
    session: cookieOf(response.headers, 'session'),
  };
}

/** The status of a request of the console with the session. */
async function statusWith(session = ''): Promise<number> {
  const options = await fetch(`${app.url}/auth/session`, { headers: { cookie: session } });
  const { sessionId } = (await options.json()) as { sessionId: string };
  const headers = { cookie: session, 'x-console-session': sessionId };
  return (await apiClient(app.url, '')('GET', '/api/keys', undefined, headers)).status;
}

const refused = (status: number) => ({ status, session: undefined });

describe('a link by email', () => {
  it('signs in the browser that asked, once, after a confirmation', async () => {
    await createOwner();
    const { link, cookie } = await mailedLink();
    const page = await open(link, 'GET', { cookie });
    expect(page).toMatchObject(refused(200));
    expect(page.text).toContain(email);
    expect(page.text).toContain('<form method="post">');
    const { status, location, session } = await open(link, 'POST', { cookie });
    expect([status, location]).toEqual([303, `${app.url}/console`]);
    expect(await statusWith(session)).toBe(200);
    expect(await open(link, 'POST', { cookie })).toMatchObject(refused(404));
    expect(await open(link, 'GET', { cookie })).toMatchObject(refused(404));
    const owner = await sessionClient(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      role: 'org:admin',
    });
    expect((await owner('GET', '/api/audit-log?action=session.started')).body.entries).toMatchObject([
      { actor: { id: workspace.ownerId }, channel: 'session', changes: { method: 'email' } },
    ]);
  });

  it('is not used up by a mail scanner, and signs in nobody to whom it is forwarded', async () => {
    await createOwner();
    const { link, cookie } = await mailedLink();
    const other = cookieOf((await ask(`nobody-${newId()}@example.test`)).headers, 'browser') ?? '';
    const scanners: Record<string, string>[] = [{}, { cookie: other }, { cookie: 'linepace-browser=' }];
    for (const headers of scanners)
      for (const method of ['GET', 'POST'] as const) {
        const opened = await open(link, method, headers);
        expect(opened).toMatchObject(refused(403));
        expect(opened.text).not.toContain(email);
      }
    const fromElsewhere = { cookie, 'sec-fetch-site': 'cross-site' };
    expect(await open(link, 'POST', fromElsewhere)).toMatchObject(refused(200));
    expect((await open(link, 'POST', { cookie })).status).toBe(303);
  });

  it('is accepted once, even in simultaneous requests', async () => {
    await createOwner();
    const { link, cookie } = await mailedLink();
    const all = await Promise.all(Array.from({ length: 6 }, () => open(link, 'POST', { cookie })));
    expect(all.map(({ status }) => status).toSorted()).toEqual([303, 404, 404, 404, 404, 404]);
  });

  it('expires after fifteen minutes, and is stored as a hash', async () => {
    await createOwner();
    const { link, cookie } = await mailedLink();
    const token = link.split('/').at(-1) ?? '';
    const minutes = await connected(app.ownerUrl, async (client) => {
      const { rows } = await client.query<{ row: string; minutes: number }>(
        `select l::text as row, extract(epoch from expires_at - now())::float / 60 as minutes from sign_in_links l where user_id = $1`,
        [workspace.ownerId],
      );
      expect(rows[0]?.row).not.toContain(token);
      await client.query('update sign_in_links set expires_at = now() where user_id = $1', [
        workspace.ownerId,
      ]);
      return rows[0]?.minutes;
    });
    expect(minutes).toBeGreaterThan(14);
    expect(minutes).toBeLessThanOrEqual(15);
    expect(await open(link, 'POST', { cookie })).toMatchObject(refused(404));
  });

  it('is asked for without revealing who has an account', async () => {
    await createOwner();
    const stranger = `nobody-${newId()}@example.test`;
    const [known, unknown] = await Promise.all([ask(email.toUpperCase()), ask(stranger)]);
    for (const { status, body, headers } of [known, unknown]) {
      expect([status, body]).toEqual([202, { success: true }]);
      expect(cookieOf(headers, 'browser')).toBeDefined();
    }
    await eventually(async () => (await mailsTo(app, email)).length > 0);
    expect(await mailsTo(app, stranger)).toEqual([]);
    const malformed = await ask('not an address');
    expect([malformed.status, malformed.body.issues[0].path]).toEqual([400, 'email']);
  });

  it('is limited for an email address, whoever asks', async () => {
    const address = `limited-${newId()}@example.test`;
    const asked: ApiResponse[] = [];
    while (asked.length < 6) asked.push(await ask(address));
    expect(asked.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 429]);
    expect(Number(asked.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('reaches people of an agency who belong to no workspace', async () => {
    const agency = await createAgency(app);
    const client = await createWorkspace(app, { agency_id: agency.id });
    const staff = newUserId();
    const address = `staff-${newId()}@example.test`;
    await insertRow(app, 'users', { id: staff, email: address });
    await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: staff, role: 'co_admin' });
    const { link, cookie } = await mailedLink(address);
    const { status, session } = await open(link, 'POST', { cookie });
    expect([status, await statusWith(session)]).toEqual([303, 200]);
    expect(client.id).toMatch(/^org_/);
  });
});

describe('a link that an operator prints', () => {
  it('signs in any browser once, and the session that this browser had ends', async () => {
    await createOwner();
    const printed = async () =>
      signInLink(app.url, await createSignInLink(systemDb(app.pools), workspace.ownerId, null));
    const [first, second] = [await printed(), await printed()];
    expect(await open(first, 'GET', {})).toMatchObject(refused(200));
    const { session = '' } = await open(first, 'POST', {});
    expect(await statusWith(session)).toBe(200);
    expect(await open(first, 'POST', {})).toMatchObject(refused(404));
    const { session: next } = await open(second, 'POST', { cookie: session });
    expect([await statusWith(session), await statusWith(next)]).toEqual([401, 200]);
  });

  it('signs in nobody who has left all workspaces', async () => {
    const user = newUserId();
    await insertRow(app, 'users', { id: user, email: `${user}@example.test` });
    const link = signInLink(app.url, await createSignInLink(systemDb(app.pools), user, null));
    expect(await open(link, 'POST', {})).toMatchObject(refused(403));
  });

  it('is looked up by its hash alone', async () => {
    expect(await open(`${app.url}/sign-in/${hashSignInToken('x')}`, 'GET', {})).toMatchObject(refused(404));
  });
});
