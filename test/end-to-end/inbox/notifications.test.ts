import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createLead,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { newUserId } from '#domain/base/ids.ts';
import { firstMailTo, mailsTo } from '#test/support/mails.ts';
import { campaignWorkflowId, notifierId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
let lineId: string;
let api: ApiClient;
let owner: string;

beforeAll(async () => {
  app = await sharedApp();
});

beforeEach(async () => {
  workspace = await createWorkspace(app, { name: 'Bits & Pieces' });
  lineId = await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
  owner = `${workspace.ownerId}@example.test`;
});

/** Adds a member to the workspace. @returns their address. */
async function addMember(role: 'org:admin' | 'org:member'): Promise<string> {
  const id = newUserId();
  const email = `${id}@example.test`;
  await insertRow(app, 'users', { id, email, name: 'Somebody' });
  await insertRow(app, 'workspace_members', {
    workspace_id: workspace.id,
    user_id: id,
    role,
    is_owner: false,
  });
  return email;
}

const setPreferences = async (preferences: object): Promise<void> => {
  expect((await api('POST', '/api/email-preferences', { preferences })).status).toBe(200);
};
const receiveReply = async (from: string, text: string, fields: object = {}): Promise<void> => {
  expect(await callBack(app, lineId, replyEvent(from, text, fields))).toBe(200);
};

/** When the alert about a contact's reply is due, or null. */
const dueAt = (address: string): Promise<Date | null> =>
  withSystem(app.pools, (db) =>
    db.maybeOneFirst(sql.type(z.object({ dueAt: z.date() }))`
      select due_at from notifications where workspace_id = ${workspace.id} and subject = ${address}`),
  );

/** Makes all notifications due. */
async function makeDue(): Promise<void> {
  await app.pools.system.query(sql.unsafe`
    update notifications set due_at = now() where workspace_id = ${workspace.id}`);
  await signalWorkflow(app.temporal, notifierId(workspace.id), workspace.id, 'notificationsDue');
}

const minutesFromNow = (at: Date | null): number => Math.round(((at?.getTime() ?? 0) - Date.now()) / 60_000);

describe('the alert about a suspected opt-out', () => {
  const alertsTo = async (address: string) =>
    (await mailsTo(app, address)).filter(({ subject }) => subject.includes('may want no more messages'));

  it('is sent at once, and once, to the admins', async () => {
    const from = phone();
    await receiveReply(from, 'Please take me off your list');
    const [mail] = await eventually(async () => {
      const sent = await alertsTo(owner);
      return sent.length > 0 && sent;
    });
    expect(mail?.text).toContain(`${from} wrote: “Please take me off your list”`);
    expect(mail?.text).toContain(`${app.config.publicUrl}/inbox/${encodeURIComponent(from)}`);
    expect(mail?.text).toContain('for replies to Bits & Pieces');
    await receiveReply(from, 'I said take me off your list');
    await makeDue();
    await eventually(async () =>
      (await mailsTo(app, owner)).some(({ text }) => text.includes('I said take me')),
    );
    expect(await alertsTo(owner)).toHaveLength(1);
  });

  it('is sent to the owner of the contact alone, if they are a member', async () => {
    const member = await addMember('org:member');
    const from = phone();
    const fields = { first_name: 'Grace', last_name: 'Hopper', phones: [from], contact_owner_email: member };
    await createLead(app, workspace.id, fields);
    await receiveReply(from, 'Please take me off your list');
    await eventually(async () => (await alertsTo(member)).length > 0);
    expect((await alertsTo(member))[0]?.subject).toBe(
      'Grace Hopper may want no more messages (Bits & Pieces)',
    );
    expect(await alertsTo(owner)).toEqual([]);
  });

  it('is not sent if reply emails are off', async () => {
    await setPreferences({ reply: { enabled: false } });
    await receiveReply(phone(), 'Please take me off your list');
    const { suspicions } = (await api('GET', '/api/opt-outs/suspected')).body;
    expect(suspicions).toHaveLength(1);
    expect(await dueAt(`suspicion:${suspicions[0]._id}`)).toBeNull();
    expect(await alertsTo(owner)).toEqual([]);
  });
});

describe('the alert about a reply', () => {
  it('is sent at once in the mode all, as text and HTML, with a link to the conversation', async () => {
    await setPreferences({ reply: { mode: 'all' } });
    const from = phone();
    await createLead(app, workspace.id, { first_name: 'Grace', last_name: '<Hopper>', phones: [from] });
    await receiveReply(from, 'Yes & <please>\ncall me');
    const mail = await firstMailTo(app, owner);
    expect(mail.subject).toBe('Grace <Hopper> replied (Bits & Pieces)');
    const link = `${app.config.publicUrl}/inbox/${encodeURIComponent(from)}`;
    expect(mail.text).toContain(`Grace <Hopper> (${from})`);
    expect(mail.text).toContain('Yes & <please>\ncall me');
    expect(mail.text).toContain(link);
    expect(mail.html).toContain('Yes &amp; &lt;please&gt;<br />call me');
    expect(mail.html).toContain(`href="${link}"`);
    expect(mail.html).not.toContain('<please>');
  });

  it('is sent once, five minutes after the last reply of a burst, by default', async () => {
    const from = phone();
    await receiveReply(from, 'First');
    const first = await dueAt(from);
    expect(minutesFromNow(first)).toBe(5);
    await receiveReply(from, 'Second');
    const second = await dueAt(from);
    expect(second?.getTime()).toBeGreaterThan(first?.getTime() ?? 0);
    expect(await mailsTo(app, owner)).toEqual([]);
    await makeDue();
    const mail = await firstMailTo(app, owner);
    expect(mail.text).toMatch(/First\n.*Second/);
    await receiveReply(from, 'Third');
    await makeDue();
    const mails = await eventually(async () => {
      const all = await mailsTo(app, owner);
      return all.length === 2 && all;
    });
    const third = mails.find(({ text }) => text.includes('Third'));
    expect(third?.text).not.toContain('Second');
  });

  it('is delayed for at most half an hour if a contact keeps writing', async () => {
    const from = phone();
    await receiveReply(from, 'On');
    await app.pools.system.query(sql.unsafe`
      update notifications set since = now() - interval '28 minutes' where workspace_id = ${workspace.id}`);
    await receiveReply(from, 'and on');
    expect(minutesFromNow(await dueAt(from))).toBe(2);
  });

  it('is sent in the mode positive_only only if the conversation has a positive tag', async () => {
    await setPreferences({ reply: { mode: 'positive_only' } });
    const [keen, cold] = [phone(), phone()];
    await receiveReply(keen, 'Tell me more');
    await receiveReply(cold, 'Not convinced');
    expect(minutesFromNow(await dueAt(keen))).toBe(60);
    const tag = (address: string, tags: string[]) =>
      api('POST', `/api/conversations/${encodeURIComponent(address)}/tags`, { tags });
    expect((await tag(cold, ['angry'])).status).toBe(200);
    expect((await tag(keen, ['Interested'])).status).toBe(200);
    expect((await firstMailTo(app, owner)).text).toContain('Tell me more');
    expect(await dueAt(cold)).not.toBeNull();
    await makeDue();
    await eventually(async () => (await dueAt(cold)) === null);
    await receiveReply(keen, 'And the price?');
    const mails = await eventually(async () => {
      const all = await mailsTo(app, owner);
      return all.length === 2 && all;
    });
    expect(mails.some(({ text }) => text.includes('And the price?'))).toBe(true);
    expect(mails.some(({ text }) => text.includes('alone'))).toBe(false);
  });

  it('is sent in the mode positive_only if the model finds the reply positive', async () => {
    await setPreferences({ reply: { mode: 'positive_only' } });
    const knowledge = { mode: 'copilot', instructions: '', documents: [], debounceSeconds: 0 };
    expect((await api('PUT', '/api/knowledge-base', knowledge)).status).toBe(200);
    await receiveReply(phone(), 'No thanks, never');
    await receiveReply(phone(), 'Sounds good');
    expect((await firstMailTo(app, owner)).text).toContain('Sounds good');
    expect(await mailsTo(app, owner)).toHaveLength(1);
  });

  it('is sent in the mode daily_digest at 09:00 local time, with all contacts in one email', async () => {
    await app.pools.system.query(sql.unsafe`
      update workspaces set timezone = 'Asia/Tokyo' where id = ${workspace.id}`);
    await setPreferences({ reply: { mode: 'daily_digest' } });
    const [ada, bob] = [phone(), phone()];
    await receiveReply(ada, 'From Ada');
    await receiveReply(bob, 'From Bob');
    await receiveReply(ada, 'Ada again');
    const due = await dueAt(ada);
    expect([due?.getUTCHours(), due?.getUTCMinutes()]).toEqual([0, 0]);
    expect(minutesFromNow(due)).toBeLessThanOrEqual(24 * 60);
    expect(minutesFromNow(due)).toBeGreaterThanOrEqual(0);
    await makeDue();
    const mail = await firstMailTo(app, owner);
    expect(mail.subject).toBe('2 contacts replied (Bits & Pieces)');
    for (const text of ['From Ada', 'From Bob', 'Ada again']) expect(mail.text).toContain(text);
    await eventually(async () => (await dueAt(ada)) === null);
    expect(await mailsTo(app, owner)).toHaveLength(1);
  });

  it('goes to the contact owner only, or else to the owner and the admins', async () => {
    await setPreferences({ reply: { mode: 'all' } });
    const [admin, plain] = [await addMember('org:admin'), await addMember('org:member')];
    const owned = phone();
    await createLead(app, workspace.id, {
      phones: [owned],
      contact_owner_email: plain.toUpperCase(),
    });
    await receiveReply(owned, 'For the owner of the contact');
    expect((await firstMailTo(app, plain)).text).toContain('For the owner of the contact');
    await receiveReply(phone(), 'For the admins');
    for (const to of [owner, admin]) {
      const mail = await firstMailTo(app, to);
      expect(mail.text).toContain('For the admins');
      expect(mail.text).not.toContain('For the owner');
    }
    expect(await mailsTo(app, plain)).toHaveLength(1);
  });

  it('is not sent for an automatic reply, nor when it is turned off', async () => {
    await setPreferences({ reply: { mode: 'all' } });
    const [machine, before, after] = [phone(), phone(), phone()];
    await receiveReply(machine, 'Out of office', { autoReply: true });
    expect(await dueAt(machine)).toBeNull();
    await setPreferences({ reply: { mode: 'debounce_5min' } });
    await receiveReply(before, 'Written before');
    await setPreferences({ reply: { enabled: false } });
    await receiveReply(after, 'Written after');
    expect(await dueAt(after)).toBeNull();
    await makeDue();
    await eventually(async () => (await dueAt(before)) === null);
    await setPreferences({ reply: { enabled: true, mode: 'all' } });
    await receiveReply(phone(), 'On again');
    expect((await firstMailTo(app, owner)).text).toContain('On again');
    expect(await mailsTo(app, owner)).toHaveLength(1);
  });
});

describe('the link to turn notifications off', () => {
  it('is in the headers, does nothing on GET, and affects only its recipient', async () => {
    await setPreferences({ reply: { mode: 'all' } });
    const admin = await addMember('org:admin');
    await receiveReply(phone(), 'One');
    const { headers, text, html } = await firstMailTo(app, owner);
    await firstMailTo(app, admin);
    const link = /^<(.*)>$/.exec(headers['list-unsubscribe'] ?? '')?.[1] ?? '';
    expect(headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
    expect(link.startsWith(`${app.config.publicUrl}/notifications/`)).toBe(true);
    expect(text).toContain(link);
    expect(html).toContain(`href="${link}"`);

    const page = await fetch(link);
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining('Turn reply alerts off?'),
    ]);
    await receiveReply(phone(), 'Two');
    await eventually(async () => (await mailsTo(app, owner)).length === 2);

    const oneClick = await fetch(link, {
      method: 'POST',
      body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
    });
    expect([oneClick.status, await oneClick.text()]).toEqual([
      200,
      expect.stringContaining('You no longer receive reply alerts'),
    ]);
    await receiveReply(phone(), 'Three');
    await eventually(async () => (await mailsTo(app, admin)).length === 3);
    expect(await mailsTo(app, owner)).toHaveLength(2);

    await fetch(link, { method: 'POST', body: new URLSearchParams({ state: 'on' }) });
    await receiveReply(phone(), 'Four');
    await eventually(async () => (await mailsTo(app, owner)).length === 3);
    expect((await fetch(`${link}x`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(link.replace('.reply.', '.billing.'), { method: 'POST' })).status).toBe(404);
  });
});

test('a completed campaign is reported once', async () => {
  const to = phone();
  const leadId = await createLead(app, workspace.id, { phones: [to] });
  const { body } = await api('POST', '/api/campaigns', {
    name: 'Spring',
    steps: [{ message: 'Hello', delay: {} }],
    start: true,
  });
  expect((await api('POST', `/api/campaigns/${body.campaign._id}/leads`, { leadId })).status).toBe(201);
  const mail = await firstMailTo(app, owner);
  expect(mail.subject).toBe('Campaign completed: Spring (Bits & Pieces)');
  expect(mail.text).toContain('1 lead entered. 1 went through all steps');
  expect(mail.text).toContain('1 message was sent, 0 failed.');
  expect(mail.headers['list-unsubscribe']).toContain('.campaign.');
});

describe('the daily report of running campaigns', () => {
  /** Starts a campaign whose second step is a week away. @returns its id once its first message was sent. */
  async function startCampaign(
    name: string,
    steps = [{ message: 'Hello' }, { message: 'Again', delay: { days: 7 } }],
  ) {
    const to = phone();
    const leadId = await createLead(app, workspace.id, { phones: [to] });
    const { body } = await api('POST', '/api/campaigns', { name, steps, start: true, stopOnReply: false });
    const id: string = body.campaign._id;
    expect((await api('POST', `/api/campaigns/${id}/leads`, { leadId })).status).toBe(201);
    await eventually(async () => {
      const { messages } = (await api('GET', `/api/messages?campaignId=${id}`)).body;
      return messages.some(({ status }: { status: string }) => status === 'delivered');
    });
    await eventually(() => dueAt(id));
    return { id, to };
  }

  it('covers all of them in one email at 09:00 local time', async () => {
    await app.pools.system.query(sql.unsafe`
      update workspaces set timezone = 'Asia/Kolkata' where id = ${workspace.id}`);
    const [spring, summer] = [await startCampaign('Spring'), await startCampaign('Summer')];
    const due = await dueAt(spring.id);
    expect([due?.getUTCHours(), due?.getUTCMinutes()]).toEqual([3, 30]);
    await receiveReply(summer.to, 'Tell me more');
    await setPreferences({ reply: { enabled: false } });
    await makeDue();
    const mail = await firstMailTo(app, owner);
    expect(mail.subject).toBe('2 campaigns under way (Bits & Pieces)');
    expect(mail.text).toContain('Spring\n1 lead entered: 1 under way, 0 went through all steps');
    expect(mail.text).toMatch(/Summer\n.*\n.*1 message was sent, 0 failed\. 1 contact replied\./);
    expect(mail.headers['list-unsubscribe']).toContain('.campaign.');
    expect(await mailsTo(app, owner)).toHaveLength(1);
  });

  it('omits paused and idle campaigns, and is not sent when it is turned off', async () => {
    const [news, paused, idle] = [
      await startCampaign('News'),
      await startCampaign('Paused'),
      await startCampaign('Idle'),
    ];
    expect((await api('POST', `/api/campaigns/${paused.id}/pause`)).status).toBe(200);
    await age(app.pools, 'messages', ['sent_at'], '25 hours', `campaign_id = '${idle.id}'`);
    await makeDue();
    const mail = await firstMailTo(app, owner);
    expect(mail.subject).toBe('Campaign progress: News (Bits & Pieces)');
    expect(mail.text).toContain('In the last 24 hours: 1 message was sent, 0 failed.');
    await eventually(async () => (await dueAt(news.id)) === null);

    await setPreferences({ campaign: { enabled: false } });
    await app.pools.system.query(sql.unsafe`
      update workflow_wakes set wake_at = now() where workflow_id = ${campaignWorkflowId(news.id)}`);
    await signalWorkflow(app.temporal, campaignWorkflowId(news.id), workspace.id, 'progressDue');
    const looked = async () => {
      const at = await app.pools.system.oneFirst(sql.type(z.object({ at: z.date() }))`
        select wake_at "at" from workflow_wakes where workflow_id = ${campaignWorkflowId(news.id)}`);
      return at.getTime() > Date.now();
    };
    await eventually(looked);
    expect(await dueAt(news.id)).toBeNull();
    expect(await mailsTo(app, owner)).toHaveLength(1);
  });

  it('is replaced by the email that a campaign is completed', async () => {
    const { id } = await startCampaign('Short');
    await app.pools.system.query(sql.unsafe`
      update campaign_leads set state = 'finished' where campaign_id = ${id}`);
    await signalWorkflow(app.temporal, campaignWorkflowId(id), workspace.id, 'progressDue');
    expect((await firstMailTo(app, owner)).subject).toBe('Campaign completed: Short (Bits & Pieces)');
    await eventually(async () => (await dueAt(id)) === null);
    expect(await mailsTo(app, owner)).toHaveLength(1);
  });
});
