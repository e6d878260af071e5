import { sql } from 'slonik';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { CRM_FAILURES_TO_SET_ASIDE } from '#domain/crm/crm.ts';
import { type HighLevelStandIn, startHighLevel } from '#simulator/highlevel.ts';
import { type HubSpotStandIn, startHubSpot } from '#simulator/hubspot.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { crmHelpers } from '#test/support/crms.ts';
import { writeIn } from '#test/support/inbound.ts';

let app: OwnApp;
let highlevel: HighLevelStandIn;
let hubspot: HubSpotStandIn;
let workspace: WorkspaceWithLine;
const { newCampaign } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));
const { get, leadWith, isOptedOut, connectionOf, logOf, connectCrm, disconnectAll } = crmHelpers(
  () => workspace,
);

beforeAll(async () => {
  highlevel = await startHighLevel();
  hubspot = await startHubSpot();
  const { clientId, clientSecret, smsProviderId, callProviderId } = highlevel.app;
  app = await startTestApp({
    environment: {
      HIGHLEVEL_API_URL: highlevel.url,
      HIGHLEVEL_CLIENT_ID: clientId,
      HIGHLEVEL_CLIENT_SECRET: clientSecret,
      HIGHLEVEL_SMS_PROVIDER_ID: smsProviderId,
      HIGHLEVEL_CALL_PROVIDER_ID: callProviderId,
      HIGHLEVEL_WEBHOOK_KEY: highlevel.publicKey,
      HUBSPOT_API_URL: hubspot.url,
      CRM_POLL_SECONDS: '0.4',
    },
  });
});
afterAll(async () => {
  await app.stop();
  await highlevel.stop();
  await hubspot.stop();
});
afterEach(() => disconnectAll());

/** Connects the location to the workspace with a private integration token, or with a code of the app. */
async function connect(fields: object = {}): Promise<string> {
  const { token, locationId: accountId } = highlevel;
  return connectCrm({ provider: 'highlevel', token, accountId, ...fields });
}
/** What a CRM is to be told next has failed so often. */
const setFailures = (connectionId: string, failures: number): Promise<unknown> =>
  withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      update crm_outbox set failures = ${failures}
      where event_id = (select min(event_id) from crm_outbox where connection_id = ${connectionId})`),
  );
/** The request to the delivery URL of the app. @returns the status of the response. */
const deliver = async (body: string, headers: Record<string, string>): Promise<number> =>
  (await fetch(`${app.url}/callbacks/crms/highlevel`, { method: 'POST', body, headers })).status;
/** A call of a minute, which the contact makes unless the other number is named. */
const callIn = async (lineId: string, from: string, to = '+14155550199'): Promise<void> => {
  const call = { lineId, from, to, seconds: 60, answered: true };
  const { ok } = await fetch(`${app.url}/simulated/carrier/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  expect(ok).toBe(true);
};
const told = (contactId: string) =>
  highlevel.timeline(contactId).map(({ type, direction, message }) => `${type} ${direction}: ${message}`);
const dndOf = (contactId: string) =>
  (highlevel.contact(contactId)['dndSettings'] ?? {}) as Record<string, { status: string }>;

describe('a connected HighLevel', () => {
  it('has its contacts become leads, which get a sequence and reply, and sees all of it', async () => {
    workspace = await createWorkspaceWithLine(app);
    const listId = (await workspace.api('POST', '/api/lists', { name: 'HighLevel' })).body.list._id;
    const campaignId = await newCampaign({
      steps: [{ message: 'Hi {{ firstName }}', delay: {} }],
      start: true,
    });
    const id = await connect({ listId, campaignId });
    expect((await connectionOf(id)).accountId).toBe(highlevel.locationId);
    const [contact, mail, second] = [phone(), `${newId()}@example.test`, `${newId()}@example.test`];
    const contactId = highlevel.addContact({
      firstName: 'Ada',
      lastName: 'Lovelace',
      companyName: 'Analytical',
      phone: contact,
      email: mail,
      additionalEmails: [{ email: second }],
      assignedTo: highlevel.addUser(`${workspace.ownerId}@example.test`),
    });
    await eventually(async () => (await sentTo(app, contact))[0]?.text === 'Hi Ada');
    const lead = await leadWith(contact);
    expect(lead).toMatchObject({
      listId,
      firstName: 'Ada',
      lastName: 'Lovelace',
      companyName: 'Analytical',
      emails: [mail, second],
      source: 'highlevel',
      contactOwnerEmail: `${workspace.ownerId}@example.test`,
    });
    await eventually(async () => told(contactId).length === 1);
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Tell me more' });
    await eventually(async () => told(contactId).length === 2);
    expect(told(contactId)).toEqual(['SMS outbound: Hi Ada', 'SMS inbound: Tell me more']);
    const { messages } = (await get(`/api/messages?leadId=${lead._id}`)).body;
    expect(messages[0]).toMatchObject({ crmBContactId: contactId, crmBLocationId: highlevel.locationId });
    const synced = await logOf(id, 'synced');
    expect(
      synced.map(({ direction, subject }: Record<string, string>) => `${direction} ${subject}`).toSorted(),
    ).toEqual(['in contact', 'out message', 'out reply']);
  });

  it('opts out by channel here who may not be disturbed there, and there who opted out here', async () => {
    workspace = await createWorkspaceWithLine(app);
    const id = await connect();
    const [first, second, third] = [phone(), phone(), phone()];
    const [mail, other] = [`${newId()}@example.test`, `${newId()}@example.test`];
    const away = highlevel.addContact({ phone: first, email: mail });
    const asking = highlevel.addContact({
      phone: second,
      email: other,
      dndSettings: { Call: { status: 'active', message: 'at work', code: '103' } },
    });
    const gone = highlevel.addContact({ phone: third });
    for (const address of [first, second, third]) await eventually(() => leadWith(address));
    highlevel.change(away, { dndSettings: { SMS: { status: 'permanent' }, Email: { status: 'inactive' } } });
    highlevel.change(gone, { dnd: true });
    await writeIn(app, { lineId: workspace.lineId, from: second, text: 'STOP' });
    await workspace.api('POST', '/api/opt-outs', { address: other });
    await eventually(() => isOptedOut(first));
    await eventually(() => isOptedOut(third));
    expect(await isOptedOut(mail)).toBe(false);
    await eventually(async () => dndOf(asking)['SMS']?.status === 'active');
    await eventually(async () => dndOf(asking)['Email']?.status === 'active');
    expect(dndOf(asking)['Call']).toMatchObject({ status: 'active', message: 'at work' });
    // The contact opts in again by writing.
    await writeIn(app, { lineId: workspace.lineId, from: second, text: 'START' });
    await eventually(async () => dndOf(asking)['SMS']?.status === 'inactive');
    expect(await isOptedOut(second)).toBe(false);
    // What HighLevel has turned off for good stays off.
    await writeIn(app, { lineId: workspace.lineId, from: first, text: 'START' });
    await eventually(async () => (await logOf(id, 'refused')).length === 1);
    expect((await logOf(id, 'refused'))[0]).toMatchObject({
      subject: 'opt_in',
      reason: 'do_not_disturb_stays',
    });
    // Nor does it opt out again who has opted in since.
    highlevel.change(away, { firstName: 'Ada' });
    await eventually(async () => (await leadWith(first)).firstName === 'Ada');
    expect(await isOptedOut(first)).toBe(false);
  });

  it('is left alone as long as it asks, and is not told of a contact that it has deleted', async () => {
    workspace = await createWorkspaceWithLine(app);
    const id = await connect();
    const contact = phone();
    await eventually(async () => (await connectionOf(id)).syncedAt !== null);
    const from = highlevel.requests.length;
    highlevel.fault('/contacts/search', {
      status: 429,
      body: { statusCode: 429, message: 'Too Many Requests' },
      headers: { 'x-ratelimit-interval-milliseconds': '2000', 'x-ratelimit-daily-remaining': '199000' },
    });
    const contactId = highlevel.addContact({ phone: contact });
    await eventually(async () => (await connectionOf(id)).pausedUntil !== null);
    await eventually(() => leadWith(contact));
    const [limited, next] = highlevel.requests
      .slice(from)
      .filter(({ path }) => path === '/contacts/search')
      .filter(({ status }, index, all) => status === 429 || all[index - 1]?.status === 429);
    expect((next?.at ?? 0) - (limited?.at ?? 0)).toBeGreaterThanOrEqual(1900);
    highlevel.archive(contactId);
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Anybody?' });
    await eventually(async () => (await logOf(id, 'refused')).length === 1);
    expect((await logOf(id, 'refused'))[0]).toMatchObject({ subject: 'reply', reason: 'contact_not_found' });
  });

  it('is told what comes after a message that it always fails to take, and of that one when it is asked to', async () => {
    workspace = await createWorkspaceWithLine(app);
    const id = await connect();
    const [poison, contact] = [phone(), phone()];
    const [poisonId, contactId] = [
      highlevel.addContact({ phone: poison }),
      highlevel.addContact({ phone: contact }),
    ];
    for (const address of [poison, contact]) await eventually(() => leadWith(address));
    const check = async () => {
      const { status, body } = await workspace.api('POST', `/api/crm-connections/${id}/check`);
      expect(status, JSON.stringify(body)).toBe(200);
    };
    highlevel.failOn('Poison');
    try {
      // Two callbacks at once may be stored in either order.
      await writeIn(app, { lineId: workspace.lineId, from: poison, text: 'Poison' });
      await eventually(async () => (await connectionOf(id)).pausedUntil !== null);
      await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Fine' });
      await eventually(async () => (await connectionOf(id)).waiting === 2);
      expect(told(contactId)).toEqual([]);
      await setFailures(id, CRM_FAILURES_TO_SET_ASIDE - 1);
      await check();
      await eventually(async () => told(contactId).includes('SMS inbound: Fine'));
      await eventually(async () => {
        const { error, waiting, setAside } = await connectionOf(id);
        return error === null && waiting === 0 && setAside === 1;
      });
      expect(await logOf(id, 'set_aside')).toEqual([
        expect.objectContaining({
          direction: 'out',
          subject: 'reply',
          contactId: poisonId,
          reason: 'HighLevel responded 500',
        }),
      ]);
      expect(told(poisonId)).toEqual([]);
    } finally {
      highlevel.failOn(null);
    }
    await check();
    await eventually(async () => told(poisonId).includes('SMS inbound: Poison'));
    await eventually(async () => (await connectionOf(id)).setAside === 0);
  });

  it('sends what people write there with the app, once, and says what became of it', async () => {
    workspace = await createWorkspaceWithLine(app);
    const id = await connect({ token: highlevel.install(), accountId: undefined });
    const [contact, other] = [phone(), phone()];
    const contactId = highlevel.addContact({ phone: contact });
    await eventually(() => leadWith(contact));
    const { messageId, body, headers } = highlevel.write(contactId, 'Are {{ you }} there?');
    expect(await deliver(body, { ...headers, 'x-ghl-signature': 'AAAA' })).toBe(401);
    expect(await deliver(`${body} `, headers)).toBe(401);
    expect(await deliver(body, headers)).toBe(200);
    expect(await deliver(body, headers)).toBe(200);
    await eventually(async () => (await sentTo(app, contact)).length === 1);
    expect((await sentTo(app, contact))[0]?.text).toBe('Are {{ you }} there?');
    await eventually(async () => highlevel.message(messageId)?.status === 'delivered');
    // It is there already.
    expect(told(contactId)).toEqual(['SMS outbound: Are {{ you }} there?']);
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'STOP' });
    await eventually(() => isOptedOut(contact));
    const refused = highlevel.write(contactId, 'Still there?');
    expect(await deliver(refused.body, refused.headers)).toBe(200);
    await eventually(async () => highlevel.message(refused.messageId)?.status === 'failed');
    const nobody = highlevel.write(highlevel.addContact({ phone: other }), 'Hello', { phone: '12' });
    expect(await deliver(nobody.body, nobody.headers)).toBe(200);
    await eventually(async () => highlevel.message(nobody.messageId)?.status === 'failed');
    expect((await logOf(id, 'refused'))[0]).toMatchObject({ direction: 'in', subject: 'message' });
    for (const incomplete of [
      { phone: null },
      { message: null, attachments: ['https://files.test/1.png'] },
    ]) {
      const other = highlevel.write(contactId, 'Hello', incomplete);
      expect(await deliver(other.body, other.headers)).toBe(200);
      await eventually(async () => highlevel.message(other.messageId)?.status === 'failed');
    }
    expect(await sentTo(app, contact)).toHaveLength(1);
    // It is not sent at all: the number has no iMessage, or somebody cancels it.
    const unreachable = highlevel.write(highlevel.addContact({ phone: phone('0001') }), 'Hello');
    expect(await deliver(unreachable.body, unreachable.headers)).toBe(200);
    await eventually(async () => highlevel.message(unreachable.messageId)?.status === 'failed');
    const patient = phone();
    await workspace.api('POST', `/api/lines/${workspace.lineId}/pause`);
    const waiting = highlevel.write(highlevel.addContact({ phone: patient }), 'Hello');
    expect(await deliver(waiting.body, waiting.headers)).toBe(200);
    const lead = await eventually(() => leadWith(patient));
    const { messages } = (await get(`/api/messages?leadId=${lead._id}`)).body;
    expect((await workspace.api('POST', `/api/messages/${messages[0]._id}/cancel`)).status).toBe(200);
    await eventually(async () => highlevel.message(waiting.messageId)?.status === 'failed');
    await workspace.api('POST', `/api/lines/${workspace.lineId}/resume`);
    // The workspace may not send.
    const setStatus = (status: string) =>
      withSystem(app.pools, (db) =>
        db.query(sql.type(NoRows)`
          update workspaces set subscription_status = ${status} where id = ${workspace.id}`),
      );
    const unpaid = phone();
    await setStatus('past_due');
    const unsent = highlevel.write(highlevel.addContact({ phone: unpaid }), 'Hello');
    expect(await deliver(unsent.body, unsent.headers)).toBe(200);
    await eventually(async () => highlevel.message(unsent.messageId)?.status === 'failed');
    await setStatus('active');
    // Calls are in the conversation.
    await callIn(workspace.lineId, contact);
    await eventually(async () => highlevel.timeline(contactId).some(({ type }) => type === 'Call'));
    expect(highlevel.timeline(contactId).at(-1)).toMatchObject({
      direction: 'inbound',
      providerId: highlevel.app.callProviderId,
      call: { from: contact, status: 'completed' },
    });
  });

  it('gets a lead of HubSpot, if it is to know of leads, who gets a sequence and replies, and both see it', async () => {
    workspace = await createWorkspaceWithLine(app);
    const campaignId = await newCampaign({
      steps: [{ message: 'Hi {{ firstName }}', delay: {} }],
      start: true,
    });
    const mail = `${newId()}@example.test`;
    const id = await connect({ createContacts: true });
    await connect({
      provider: 'hubspot',
      token: hubspot.token,
      accountId: undefined,
      campaignId,
      createContacts: true,
    });
    const [contact, stranger] = [phone(), phone()];
    const there = hubspot.addContact({ firstname: 'Ada', phone: contact, email: mail });
    await eventually(async () => (await sentTo(app, contact))[0]?.text === 'Hi Ada');
    await eventually(async () => hubspot.timeline(there).length === 1);
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Tell me more' });
    const here = await eventually(async () => highlevel.contactWith(contact));
    expect(highlevel.contact(here)).toMatchObject({ firstName: 'Ada', email: mail, source: 'Linepace' });
    await eventually(async () => told(here).length === 2);
    expect(told(here)).toEqual(['SMS outbound: Hi Ada', 'SMS inbound: Tell me more']);
    await eventually(async () => hubspot.timeline(there).length === 2);
    // Whoever writes first is a contact of both, and of no campaign.
    await writeIn(app, { lineId: workspace.lineId, from: stranger, text: 'Who is this?' });
    const made = await eventually(async () => hubspot.contactWith(stranger));
    await eventually(async () => hubspot.timeline(made).length === 1);
    const also = await eventually(async () => highlevel.contactWith(stranger));
    await eventually(async () => told(also).length === 1);
    await eventually(() => leadWith(stranger));
    // A call and an email are told as well.
    await callIn(workspace.lineId, contact);
    await eventually(async () => hubspot.timeline(there).some(({ object }) => object === 'calls'));
    await eventually(async () => highlevel.notes(here).length === 1);
    expect(highlevel.notes(here)[0]).toContain(`Call from ${contact}`);
    expect(hubspot.timeline(there).at(-1)?.properties).toMatchObject({
      hs_call_direction: 'INBOUND',
      hs_call_status: 'COMPLETED',
      hs_call_from_number: contact,
    });
    const mailbox = await createLine(app, workspace.id, 'email');
    await writeIn(app, { lineId: mailbox, from: mail, text: 'By mail' });
    await eventually(async () => hubspot.timeline(there).some(({ object }) => object === 'emails'));
    await eventually(async () => told(here).includes('Email inbound: By mail'));
    // Those that leave, too.
    await callIn(workspace.lineId, '+14155550199', contact);
    const answer = {
      recipientEmail: mail,
      subject: 'Your question',
      message: 'Here it is',
      messageType: 'email',
    };
    expect((await workspace.api('POST', '/api/messages', answer)).status).toBe(201);
    await eventually(async () => told(here).includes('Email outbound: Here it is'));
    await eventually(async () => highlevel.notes(here).some((note) => note.includes(`to ${contact}`)));
    const logged = (object: string) =>
      hubspot
        .timeline(there)
        .filter((one) => one.object === object)
        .map(({ properties }) => properties);
    await eventually(async () => logged('emails').length === 2 && logged('calls').length === 2);
    expect(logged('emails')).toContainEqual(
      expect.objectContaining({
        hs_email_direction: 'EMAIL',
        hs_email_subject: 'Your question',
        hs_email_text: 'Here it is',
      }),
    );
    expect(logged('calls')).toContainEqual(
      expect.objectContaining({
        hs_call_direction: 'OUTBOUND',
        hs_call_status: 'COMPLETED',
        hs_call_to_number: contact,
      }),
    );
    expect(await sentTo(app, stranger)).toEqual([]);
    expect(
      (await logOf(id, 'synced')).some(
        ({ direction, subject }: Record<string, string>) => direction === 'out' && subject === 'contact',
      ),
    ).toBe(true);
  });

  it('takes a code of the app, and renews its tokens', async () => {
    workspace = await createWorkspaceWithLine(app);
    const refused = await workspace.api('POST', '/api/crm-connections', {
      provider: 'highlevel',
      token: 'code-of-somebody-else',
    });
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining('grants no token')]);
    const nowhere = await workspace.api('POST', '/api/crm-connections', {
      provider: 'highlevel',
      token: highlevel.token,
    });
    expect(nowhere).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'accountId', message: expect.stringContaining('id of the location') }] },
    });
    // For a moment only: they are renewed at once.
    highlevel.expireTokens(60);
    const id = await connect({ token: highlevel.install(), accountId: undefined });
    highlevel.expireTokens(86_399);
    const contact = phone();
    const contactId = highlevel.addContact({ phone: contact });
    await eventually(() => leadWith(contact));
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Hello' });
    await eventually(async () => told(contactId).length === 1);
    expect(highlevel.timeline(contactId)[0]).toMatchObject({ providerId: highlevel.app.smsProviderId });
    expect(await connectionOf(id)).toMatchObject({ status: 'active', error: null });
    const renewals = highlevel.requests.filter(({ path }) => path === '/oauth/token');
    expect(renewals.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2);
  });
});
