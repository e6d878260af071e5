import { SMTPServer } from 'smtp-server';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb, withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, startTestApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { createAgency, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { firstMailTo, mailsTo } from '#test/support/mails.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';
import { mailSenderId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app, { name: 'Bits & <Pieces>' });
  api = apiClient(app.url, workspace.key);
});

const linkIn = (mail: { text: string }): string => /https?:\S+\/invitations\/\S+/.exec(mail.text)?.[0] ?? '';

describe('an invitation', () => {
  it('is sent by email as text and HTML, and makes its recipient a member', async () => {
    const { status, body } = await api('POST', '/api/team/invite', {
      email: 'Grace@Example.com',
      role: 'org:admin',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      success: true,
      invitation: {
        _id: expect.stringMatching(/^[0-9a-f]{24}$/),
        email: 'grace@example.com',
        role: 'org:admin',
        expiresAt: expect.any(String),
        acceptedAt: null,
        createdAt: expect.any(String),
      },
    });
    const mail = await firstMailTo(app, 'grace@example.com');
    expect(mail.subject).toBe('Join Bits & <Pieces> on Linepace');
    expect(mail.text).toContain('Bits & <Pieces>, a workspace on Linepace, as an admin');
    expect(mail.html).toContain('Bits &amp; &lt;Pieces&gt;');
    expect(mail.html).not.toContain('<Pieces>');
    expect(mail.headers['auto-submitted']).toBe('auto-generated');
    const link = linkIn(mail);
    expect(link.startsWith(app.config.publicUrl)).toBe(true);
    expect(mail.html).toContain(`href="${link}"`);

    // Opening the link, as mail scanners do, changes nothing.
    const page = await fetch(link);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('Join Bits &amp; &lt;Pieces&gt;?');
    const members = async () =>
      (await api('GET', '/api/team/members')).body.members.map(
        ({ email, role }: { email: string; role: string }) => [email, role],
      );
    expect(await members()).toHaveLength(1);

    expect((await fetch(link, { method: 'POST' })).status).toBe(200);
    expect((await fetch(link, { method: 'POST' })).status).toBe(200);
    expect(await members()).toEqual([
      [`${workspace.ownerId}@example.test`, 'org:admin'],
      ['grace@example.com', 'org:admin'],
    ]);
    expect((await api('GET', '/api/team/invitations')).body.invitations[0]).toMatchObject({
      email: 'grace@example.com',
      acceptedAt: expect.any(String),
    });
    const admin = await signIn(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      role: 'org:admin',
    });
    const joined = await apiClient(app.url, admin)('GET', '/api/audit-log?action=member.joined');
    expect(joined.body.entries).toMatchObject([
      { actor: { type: 'user', name: 'grace@example.com' }, changes: { role: 'org:admin' } },
    ]);
    expect(await api('POST', '/api/team/invite', { email: 'grace@example.com' })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    });
  });

  it('tells nobody that a member has joined who accepts it for another address', async () => {
    const email = 'grace.hopper@example.com';
    const { id: organizationId, ownerId: userId } = workspace;
    const session = await signIn(app, { userId, organizationId, role: 'org:admin' });
    const joined = async () =>
      (await apiClient(app.url, session)('GET', '/api/audit-log?action=member.joined')).body.entries.length;
    const before = await joined();
    await api('POST', '/api/team/invite', { email, role: 'org:admin' });
    const mail = await eventually(async () => (await mailsTo(app, email))[0]);
    const accepted = await fetch(linkIn(mail), {
      method: 'POST',
      headers: { authorization: `Bearer ${session}` },
    });
    expect([accepted.status, await accepted.text()]).toEqual([
      200,
      expect.stringContaining('You are a member'),
    ]);
    expect(await joined()).toBe(before);
  });

  const passOneHour = async (email: string): Promise<void> => {
    await age(app.pools, 'invitations', ['mailed_at'], '1 hour', `email = '${email}'`);
    await age(app.pools, 'mails', ['sent_at', 'next_attempt_at'], '1 hour', `recipient = '${email}'`);
  };

  it('replaces an earlier one to the same address', async () => {
    await api('POST', '/api/team/invite', { email: 'alan@example.com', role: 'org:admin' });
    await eventually(async () => (await mailsTo(app, 'alan@example.com')).length === 1);
    await passOneHour('alan@example.com');
    await api('POST', '/api/team/invite', { email: 'alan@example.com', role: 'org:member' });
    const mails = await eventually(async () => {
      const all = await mailsTo(app, 'alan@example.com');
      return all.length === 2 && all;
    });
    const links: string[] = mails.toSorted((a, b) => (a.receivedAt < b.receivedAt ? -1 : 1)).map(linkIn);
    expect((await fetch(links[0] ?? '')).status).toBe(404);
    expect((await fetch(links[1] ?? '')).status).toBe(200);
    const { invitations } = (await api('GET', '/api/team/invitations')).body;
    expect(invitations.filter(({ email }: { email: string }) => email === 'alan@example.com')).toMatchObject([
      { role: 'org:member' },
    ]);
  });

  it('sends an address at most one email an hour, whose link stays valid', async () => {
    const email = 'ken@example.com';
    for (const role of ['org:member', 'org:member', 'org:admin'])
      expect((await api('POST', '/api/team/invite', { email, role })).status).toBe(201);
    const link = linkIn(await firstMailTo(app, email));
    expect((await fetch(link)).status).toBe(200);
    // A new invitation after a withdrawal has another link, which is sent once the hour is over.
    const { invitations } = (await api('GET', '/api/team/invitations')).body;
    const open = invitations.find((invitation: { email: string }) => invitation.email === email);
    expect(open.role).toBe('org:admin');
    await api('DELETE', `/api/team/invitations/${open._id}`);
    expect((await api('POST', '/api/team/invite', { email })).status).toBe(201);
    await api('POST', '/api/team/invite', { email: 'dennis@example.com' });
    await eventually(async () => (await mailsTo(app, 'dennis@example.com')).length === 1);
    expect(await mailsTo(app, email)).toHaveLength(1);
    await passOneHour(email);
    await signalWorkflow(app.temporal, mailSenderId(workspace.id), workspace.id, 'mailsDue');
    const second = await eventually(async () => {
      const mails = await mailsTo(app, email);
      return mails.length === 2 && mails.map(linkIn).find((other) => other !== link);
    });
    expect((await fetch(second)).status).toBe(200);
    expect((await fetch(link)).status).toBe(404);
  });

  it('is refused beyond twenty an hour, with a Retry-After', async () => {
    const { key } = await createWorkspace(app);
    const inviter = apiClient(app.url, key);
    const invite = (index: number) =>
      inviter('POST', '/api/team/invite', { email: `crowd${index}@example.com` });
    for (let index = 0; index < 20; index += 1) expect((await invite(index)).status).toBe(201);
    const refused = await invite(20);
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    expect((await api('POST', '/api/team/invite', { email: 'other@example.com' })).status).toBe(201);
  });

  it('names the product in its subject and truncates a long workspace name', async () => {
    const name = `Your account is locked\nCall ${'+1 900 555 0100 '.repeat(20)}`;
    const { key } = await createWorkspace(app, { name });
    await apiClient(app.url, key)('POST', '/api/team/invite', { email: 'vera@example.com' });
    const mail = await firstMailTo(app, 'vera@example.com');
    expect(mail.subject).toMatch(/^Join .{10,60} on Linepace$/);
    for (const part of [mail.subject, mail.text, mail.html]) {
      expect(part).toContain('Your account is locked Call +1 900 555 0100');
      expect(part).not.toContain('0100 +1 900 555 0100 +1 900 555 0100');
    }
  });

  it('can be declined with all others, from whatever workspace or agency', async () => {
    const email = `${newId()}@example.com`;
    const [first, second, agency] = [
      await createWorkspace(app),
      await createWorkspace(app),
      await createAgency(app),
    ];
    expect((await first.api('POST', '/api/team/invite', { email })).status).toBe(201);
    const link = linkIn(await firstMailTo(app, email));
    const page = await (await fetch(link)).text();
    expect(page).toContain(`action="${link.split('/').at(-1)}/refuse"`);
    const decline = () => fetch(`${link}/refuse`, { method: 'POST' });
    expect((await decline()).status).toBe(200);
    expect((await decline()).status).toBe(404);
    expect((await fetch(link)).status).toBe(404);
    expect((await first.api('GET', '/api/team/invitations')).body.invitations).toEqual([]);

    expect((await second.api('POST', '/api/team/invite', { email: email.toUpperCase() })).status).toBe(201);
    const owner = await sessionClient(app, { userId: agency.ownerId });
    expect((await owner('POST', '/api/agency/admins', { email })).status).toBe(202);
    for (const table of ['mails', 'agency_mails'])
      await eventually(() =>
        systemDb(app.pools).exists(sql.type(z.unknown())`
          select 1 from ${sql.identifier([table])} where lower(recipient) = ${email} and status = 'failed'`),
      );
    expect(await mailsTo(app, email)).toHaveLength(1);
  });

  it('is invalid once it is withdrawn or has expired', async () => {
    const withdrawn = (await api('POST', '/api/team/invite', { email: 'barbara@example.com' })).body
      .invitation;
    expect(withdrawn.role).toBe('org:member');
    const link = linkIn(await firstMailTo(app, 'barbara@example.com'));
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
      update invitations set expires_at = now() - interval '1 second' where id = ${withdrawn._id}`),
    );
    expect((await fetch(link, { method: 'POST' })).status).toBe(404);
    expect((await api('DELETE', `/api/team/invitations/${withdrawn._id}`)).status).toBe(200);
    expect((await api('DELETE', `/api/team/invitations/${withdrawn._id}`)).status).toBe(404);
    expect((await fetch(link)).status).toBe(404);
    expect((await fetch(`${app.url}/invitations/unknown`)).status).toBe(404);
  });

  it('is refused with 400 if it is malformed and with 403 for a member', async () => {
    for (const body of [
      {},
      { email: 'nobody' },
      { email: 'a@example.com', role: 'org:owner' },
      { email: 5 },
    ]) {
      expect(await api('POST', '/api/team/invite', body)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR' },
      });
    }
    const as = (role: string) =>
      sessionClient(app, { userId: workspace.ownerId, organizationId: workspace.id, role });
    expect(
      (await (await as('org:member'))('POST', '/api/team/invite', { email: 'a@example.com' })).body.code,
    ).toBe('ADMIN_REQUIRED');
    expect(
      (await (await as('org:admin'))('POST', '/api/team/invite', { email: 'a@example.com' })).status,
    ).toBe(201);
  });

  it('is stored without its readable link', async () => {
    await api('POST', '/api/team/invite', { email: 'edsger@example.com' });
    const token =
      linkIn(await firstMailTo(app, 'edsger@example.com'))
        .split('/')
        .at(-1) ?? '';
    expect(token.length).toBeGreaterThan(40);
    const rows = await withSystem(app.pools, (db) =>
      db.any(sql.type(z.unknown())`
      select i::text "row" from invitations i union all select m::text from mails m`),
    );
    expect(JSON.stringify(rows)).not.toContain(token);
  });
});

test('emails are not lost while the mail server is down, refuses recipients or is busy', async () => {
  const port = await freePort();
  const own = await startTestApp({ environment: { SMTP_URL: `smtp://127.0.0.1:${port}` } });
  try {
    const { id, key } = await createWorkspace(own);
    const ownApi = apiClient(own.url, key);
    // Retries at once instead of after some seconds.
    const tryNow = async (): Promise<void> => {
      await withSystem(own.pools, (db) =>
        db.query(sql.type(z.unknown())`update mails set next_attempt_at = now() where status = 'pending'`),
      );
      await signalWorkflow(own.temporal, mailSenderId(id), id, 'mailsDue');
    };
    await ownApi('POST', '/api/team/invite', { email: 'first@example.com' });
    const tries = (): Promise<{ attempts: number; error: string | null }> =>
      withSystem(own.pools, (db) =>
        db.one(sql.type(z.object({ attempts: z.int(), error: z.string().nullable() }))`
        select attempt_count attempts, error from mails order by id limit 1`),
      );
    await eventually(async () => (await tries()).attempts >= 1);
    expect((await tries()).error).toMatch(/ECONNREFUSED|connect/i);
    expect((await ownApi('POST', '/api/team/invite', { email: 'second@example.com' })).status).toBe(201);

    const received: { to: string; messageId: string }[] = [];
    let busy = true;
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      onRcptTo({ address }, _session, callback) {
        if (address.startsWith('refused'))
          return callback(Object.assign(new Error('no such mailbox'), { responseCode: 550 }));
        callback(busy ? Object.assign(new Error('busy'), { responseCode: 450 }) : null);
      },
      onData(stream, session, callback) {
        void text(stream).then((raw) => {
          const messageId = /^Message-ID: (.*)$/im.exec(raw)?.[1]?.trim() ?? '';
          received.push({ to: session.envelope.rcptTo[0]?.address ?? '', messageId });
          callback();
        });
      },
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    await ownApi('POST', '/api/team/invite', { email: 'refused@example.com' });
    const status = (to: string) =>
      withSystem(own.pools, (db) =>
        db.oneFirst(sql.type(z.object({ status: z.string() }))`
      select status from mails where recipient = ${to}`),
      );
    await eventually(async () => (await status('refused@example.com')) === 'failed');
    await tryNow();
    await eventually(async () => (await tries()).attempts >= 2);
    expect(received).toEqual([]);
    busy = false;
    await tryNow();
    for (const to of ['first@example.com', 'second@example.com'])
      await eventually(async () => (await status(to)) === 'sent');
    const ofFirst = received.filter(({ to }) => to === 'first@example.com');
    expect(ofFirst).toHaveLength(1);
    expect(ofFirst[0]?.messageId).toMatch(/^<[0-9a-f]{24}@[\w.-]+>$/);
    await new Promise<void>((resolve) => server.close(resolve));
  } finally {
    await own.stop();
  }
});
