import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
const { newCampaign, statusOf } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const INPUT = { name: 'Poster', text: 'I want offers', consent: 'Offers by text, at most four a month' };

async function createLink(fields: object = {}) {
  const input = { ...INPUT, lineId: workspace.lineId, ...fields };
  const { status, body } = await workspace.api('POST', '/api/opt-in-links', input);
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}
const funnelOf = async (id: string) => (await workspace.api('GET', `/api/opt-in-links/${id}`)).body.funnel;
const leadsWith = async (address: string) =>
  (await workspace.api('GET', `/api/leads?search=${encodeURIComponent(address)}`)).body.leads;
/** The reply is stored when this returns. */
const write = async (lineId: string, from: string, text: string) =>
  expect(await callBack(app, lineId, replyEvent(from, text))).toBe(200);
const get = (path: string) => workspace.api('GET', path);

describe('an opt-in link', () => {
  it('makes who writes with its code a lead who has consented, with its tags, in its list and campaign', async () => {
    const listId = (await workspace.api('POST', '/api/lists', { name: 'Joined' })).body.list._id;
    const campaignId = await newCampaign({
      steps: [{ message: 'Welcome', delay: {} }],
      requireConsent: true,
      start: true,
    });
    const link = await createLink({ listId, campaignId, tags: ['poster'] });
    expect(link.sms).toContain(encodeURIComponent(`I want offers ${link.code}`));
    const contact = phone();
    await write(workspace.lineId, contact, `i want offers ${link.code.toLowerCase()}`);
    await eventually(async () => (await sentTo(app, contact)).length === 1);
    const [lead] = await leadsWith(contact);
    expect(lead).toMatchObject({ listId, tags: ['poster'], source: 'opt-in link' });
    const { consents } = (await get(`/api/consents?address=${encodeURIComponent(contact)}`)).body;
    expect(consents).toEqual([
      expect.objectContaining({
        status: 'granted',
        channel: 'any',
        evidence: expect.stringMatching(/at most four a month[^]*i want offers/),
      }),
    ]);
    expect(await funnelOf(link._id)).toEqual({ visits: 0, messages: 1, leads: 1 });
  });

  it('has a completed campaign continue for the contact, also if it begins with a wait', async () => {
    const steps = [
      { kind: 'wait', for: { days: 1 } },
      { message: 'Welcome', delay: {} },
    ];
    const campaignId = await newCampaign({ steps, start: true });
    const first = phone();
    await workspace.api('POST', `/api/campaigns/${campaignId}/leads`, { lead: { phone: first } });
    await write(workspace.lineId, first, 'STOP');
    await eventually(async () => (await statusOf(campaignId)) === 'completed');
    const link = await createLink({ campaignId });
    await write(workspace.lineId, phone(), link.code);
    await eventually(async () => (await funnelOf(link._id)).leads === 1);
    expect(await statusOf(campaignId)).toBe('active');
  });

  it('opts a contact in who had opted out, but not one who asks to stop', async () => {
    const link = await createLink();
    const [back, away, beside, asking] = [phone(), phone(), phone(), phone()];
    await workspace.api('POST', '/api/opt-outs', { address: back });
    await write(workspace.lineId, away, `STOP\n\n${link.code}`);
    await write(workspace.lineId, beside, `Stop ${link.code.toLowerCase()}!`);
    await write(workspace.lineId, asking, `Please stop texting me ${link.code}`);
    await write(workspace.lineId, back, `Join ${link.code}`);
    await eventually(async () => (await funnelOf(link._id)).messages === 1);
    const isOut = async (address: string) =>
      (await get(`/api/opt-outs/${encodeURIComponent(address)}`)).body.optedOut;
    expect(await isOut(back)).toBe(false);
    expect(await isOut(away)).toBe(true);
    expect(await isOut(beside)).toBe(true);
    for (const address of [beside, asking]) {
      const { consents } = (await get(`/api/consents?address=${encodeURIComponent(address)}`)).body;
      expect(consents.map(({ status }: { status: string }) => status)).not.toContain('granted');
    }
    const { suspicions } = (await get('/api/opt-outs/suspected')).body;
    expect(suspicions.map(({ address }: { address: string }) => address)).toContain(asking);
  });

  it('opts nobody in who has asked to stop since, if that arrives first', async () => {
    const link = await createLink();
    const contact = phone();
    const aMinuteAgo = new Date(Date.now() - 60_000);
    await write(workspace.lineId, contact, 'STOP');
    const late = replyEvent(contact, link.code, { at: aMinuteAgo });
    expect(await callBack(app, workspace.lineId, late)).toBe(200);
    await eventually(async () => (await funnelOf(link._id)).messages === 1);
    expect((await get('/api/opt-outs')).body.optOuts).toMatchObject([{ address: contact }]);
  });

  it('believes no email, which anybody can send in the name of a contact', async () => {
    const link = await createLink();
    const emailLine = await createLine(app, workspace.id, 'email');
    const [contact, writer] = [`${phone().slice(1)}@example.com`, phone()];
    await workspace.api('POST', '/api/opt-outs', { address: contact });
    await write(emailLine, contact, `I want offers ${link.code}`);
    await write(workspace.lineId, writer, link.code);
    await eventually(async () => (await funnelOf(link._id)).messages > 0);
    expect((await get(`/api/opt-outs/${encodeURIComponent(contact)}`)).body.optedOut).toBe(true);
    const { consents } = (await get(`/api/consents?address=${encodeURIComponent(contact)}`)).body;
    expect(consents.map(({ status }: { status: string }) => status)).not.toContain('granted');
    expect((await funnelOf(link._id)).messages).toBe(1);
  });

  it('adds a known lead to its list, and counts no new one', async () => {
    const contact = phone();
    await workspace.api('POST', '/api/leads', { leads: [{ firstName: 'Ada', phone: contact }] });
    const listId = (await workspace.api('POST', '/api/lists', { name: 'Joined' })).body.list._id;
    const link = await createLink({ listId, tags: ['poster'] });
    await write(workspace.lineId, contact, link.code);
    await eventually(async () => (await funnelOf(link._id)).messages === 1);
    expect(await leadsWith(contact)).toEqual([
      expect.objectContaining({ firstName: 'Ada', tags: ['poster'] }),
    ]);
    expect((await get(`/api/leads?listId=${listId}`)).body.leads).toHaveLength(1);
    expect((await funnelOf(link._id)).leads).toBe(0);
  });

  it('has a page with the wording, the message and a QR code', async () => {
    const link = await createLink({ name: 'Offers <b>' });
    const page = await fetch(new URL(new URL(link.url).pathname, app.url));
    const text = await page.text();
    expect(page.status).toBe(200);
    expect(text).toContain('Offers &lt;b&gt;');
    expect(text).toContain(INPUT.consent);
    expect(text).toContain(link.code);
    expect(text).toContain(link.sms.replaceAll('&', '&amp;'));
    const image = await fetch(new URL(new URL(link.qr).pathname, app.url));
    expect(image.headers.get('content-type')).toContain('image/svg+xml');
    expect(await image.text()).toMatch(/^<svg/);
    expect(await funnelOf(link._id)).toMatchObject({ visits: 1 });
    expect((await fetch(new URL('/join/2222222', app.url))).status).toBe(404);
  });

  it('counts few of the visits of one client in a minute, and shows the page all the same', async () => {
    const link = await createLink();
    const path = new URL(new URL(link.url).pathname, app.url);
    const pages = await Promise.all(Array.from({ length: 30 }, () => fetch(path)));
    expect(pages.filter(({ status }) => status === 200)).toHaveLength(30);
    expect(await funnelOf(link._id)).toMatchObject({ visits: 10 });
  });

  it.each(['語'.repeat(300), '😀'.repeat(150)])(
    'has a page for a text that no QR code holds (%.3s…)',
    async (text) => {
      const link = await createLink({ text });
      const page = await fetch(new URL(new URL(link.url).pathname, app.url));
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<svg')]);
    },
  );

  it('ends when it is deleted, and other workspaces do not know its code', async () => {
    const link = await createLink();
    const other = await createWorkspaceWithLine(app);
    const contact = phone();
    await write(other.lineId, contact, link.code);
    expect((await other.api('GET', '/api/consents')).body.consents).toEqual([]);
    expect((await workspace.api('DELETE', `/api/opt-in-links/${link._id}`)).status).toBe(200);
    await write(workspace.lineId, contact, link.code);
    expect((await get('/api/consents')).body.consents).toEqual([]);
    expect((await get('/api/opt-in-links')).body.optInLinks).toEqual([]);
  });

  it.each<[{ lineId?: string }, string]>([
    [{}, 'lineId'],
    [{ lineId: 'f'.repeat(24) }, 'lineId'],
    [{ poolId: 'f'.repeat(24) } as object, 'poolId'],
    [{ lineId: 'own', listId: 'f'.repeat(24) }, 'listId'],
    [{ lineId: 'own', campaignId: 'f'.repeat(24) }, 'campaignId'],
    [{ lineId: 'own', text: ' ' }, 'text'],
    [{ lineId: 'own', consent: '' }, 'consent'],
    [{ lineId: 'email' }, 'lineId'],
  ])('%j is refused for %s', async (fields, field) => {
    const lineId =
      fields.lineId === 'own'
        ? workspace.lineId
        : fields.lineId === 'email'
          ? await createLine(app, workspace.id, 'email')
          : fields.lineId;
    const { status, body } = await workspace.api('POST', '/api/opt-in-links', {
      ...INPUT,
      ...fields,
      lineId,
    });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(field);
  });
});

describe('a verification', () => {
  const statusOf = async (id: string) => (await get(`/api/verifications/${id}`)).body.verification.status;

  it('succeeds with a message from the number, and not with one from another', async () => {
    const number = phone();
    const { status, body } = await workspace.api('POST', '/api/verifications', { phone: number });
    expect(status).toBe(201);
    const { _id, code, lineId } = body.verification;
    expect(body.verification).toMatchObject({ status: 'pending', phone: number, verifiedAt: null });
    await write(lineId, phone(), code);
    await write(lineId, number, '000000000');
    expect(await statusOf(_id)).toBe('pending');
    await write(lineId, number, `My code is ${code}`);
    expect(await statusOf(_id)).toBe('verified');
  });

  it('ends after ten messages with wrong codes, so that nobody guesses it', async () => {
    const number = phone();
    const create = async () => (await workspace.api('POST', '/api/verifications', { phone: number })).body;
    const { _id, code, lineId } = (await create()).verification;
    const wrong = code === '123456' ? '654321' : '123456';
    for (let time = 0; time < 9; time += 1) await write(lineId, number, `Order ${wrong}?`);
    expect(await statusOf(_id)).toBe('pending');
    await write(lineId, number, wrong);
    expect(await statusOf(_id)).toBe('expired');
    await write(lineId, number, code);
    expect(await statusOf(_id)).toBe('expired');
    const next = (await create()).verification;
    await write(lineId, number, next.code);
    expect(await statusOf(next._id)).toBe('verified');
  });

  it('is one of at most five that are open for a number', async () => {
    const number = phone();
    const create = () => workspace.api('POST', '/api/verifications', { phone: number });
    const created = await Promise.all(Array.from({ length: 12 }, create));
    expect(created.filter(({ status }) => status === 201)).toHaveLength(5);
    const { status, body, headers } = await create();
    expect([status, body]).toEqual([
      409,
      expect.objectContaining({ code: 'LIMIT_REACHED', limit: 'verifications', max: 5 }),
    ]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    const other = await workspace.api('POST', '/api/verifications', { phone: phone() });
    expect(other.status).toBe(201);
  });

  it.each([
    [{}, 'phone'],
    [{ phone: 'nobody' }, 'phone'],
    [{ phone: '+14155550100', fromLineId: 'f'.repeat(24) }, 'fromLineId'],
  ])('%j is refused for %s', async (fields, field) => {
    const { status, body } = await workspace.api('POST', '/api/verifications', fields);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(field);
  });
});
