import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { enterLeads } from '#db/commands/campaigns/campaign-entry.ts';
import { lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findLead } from '#db/queries/contacts/leads.ts';
import { lockSequencesOf } from '#db/queries/sending/message-locks.ts';
import { NoRows } from '#db/connection/rows.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createAgency,
  createKey,
  createWorkspaceWithLine,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { stayOpen, waitingForLocks } from '#test/support/locks.ts';
import { signIn } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
const { newList, newCampaign, progressOf, stepsOf, step } = campaignHelpers(() => ({
  app,
  workspace,
  api: workspace.api,
}));

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

async function consent(fields: object) {
  const { status, body } = await workspace.api('POST', '/api/consents', { status: 'granted', ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.consent;
}
const ledger = async (address: string) =>
  (await workspace.api('GET', `/api/consents?address=${encodeURIComponent(address)}`)).body.consents;
const statuses = async (address: string) =>
  (await ledger(address)).map(
    ({ status, source }: { status: string; source: string }) => `${status} ${source}`,
  );

/** Imports a CSV file, into a new list by default. @returns the import when it has ended. */
async function importFile(api: ApiClient, csv: string, listId?: string) {
  const path = `/api/lists/${listId ?? (await api('POST', '/api/lists', { name: 'Imported' })).body.list._id}`;
  const { status, body } = await api('POST', `${path}/import`, csv, { 'content-type': 'text/csv' });
  expect(status, JSON.stringify(body)).toBe(202);
  return eventually(async () => {
    const found = (await api('GET', `${path}/imports/${body.importId}`)).body;
    return found.status !== 'running' && found;
  });
}

describe('the ledger of consents', () => {
  it('says who recorded an entry and when, and takes what was before today from keys with manage only', async () => {
    const yesterday = new Date(Date.now() - 2 * 86_400_000).toISOString();
    const recorded = await consent({ address: phone(), at: yesterday });
    expect(recorded).toMatchObject({ at: yesterday, recordedBy: 'Test' });
    expect(Date.now() - Date.parse(recorded.recordedAt)).toBeLessThan(60_000);
    const sender = apiClient(
      app.url,
      await createKey(app, 'workspace', workspace.id, { scopes: ['read', 'send'] }),
    );
    const input = { address: phone(), status: 'granted' };
    expect(await sender('POST', '/api/consents', { ...input, at: yesterday })).toMatchObject({
      status: 403,
      body: { code: 'INSUFFICIENT_SCOPE', required: 'manage' },
    });
    expect((await sender('POST', '/api/consents', input)).status).toBe(201);
  });

  it('takes what was before today from the files of keys with manage only, and says who has imported it', async () => {
    const [old, today] = [phone(), phone()];
    const file = ['phone,consentSource,consentAt', `${old},form,2026-01-02`, `${today},form,`].join('\n');
    const scopes = ['read', 'send'];
    const key = await createKey(app, 'workspace', workspace.id, { scopes, name: 'Forms' });
    expect(await importFile(apiClient(app.url, key), file)).toMatchObject({ saved: 1, rejected: 1 });
    expect(await ledger(old)).toEqual([]);
    expect(await ledger(today)).toMatchObject([{ status: 'granted', recordedBy: 'Forms' }]);
    expect(await importFile(workspace.api, file)).toMatchObject({ saved: 2, rejected: 0 });
    expect(await ledger(old)).toMatchObject([{ at: '2026-01-02T00:00:00.000Z', recordedBy: 'Test' }]);
  });

  it('takes the day of the import from the files of every key, wherever it begins', async () => {
    const timezone = 'America/Los_Angeles';
    workspace = await createWorkspaceWithLine(app, { workspace: { timezone } });
    const key = await createKey(app, 'workspace', workspace.id, { scopes: ['read', 'send'], name: 'Forms' });
    const rows = [0, 1].map((days) => {
      const day = new Date(Date.now() - days * 86_400_000).toLocaleDateString('en-CA', {
        timeZone: timezone,
      });
      return `${phone()},form,${day}`;
    });
    const file = ['phone,consentSource,consentAt', ...rows].join('\n');
    expect(await importFile(apiClient(app.url, key), file)).toMatchObject({ saved: 1, rejected: 1 });
  });

  it('keeps each entry with its evidence, newest first', async () => {
    const address = phone();
    const first = {
      address,
      channel: 'sms',
      source: 'form',
      evidence: 'Checkbox on /join',
      at: '2026-01-02T03:04:05.000Z',
    };
    expect(await consent(first)).toMatchObject({ ...first, status: 'granted' });
    await consent({ address, status: 'revoked', source: 'verbal' });
    expect(await ledger(address)).toMatchObject([
      { status: 'revoked', channel: 'any', evidence: null },
      { status: 'granted', channel: 'sms' },
    ]);
    const { body } = await workspace.api('GET', '/api/consents?status=granted');
    expect(body.consents).toHaveLength(1);
  });

  it('refuses entries of the future and unknown values, naming the field', async () => {
    const post = async (fields: object) => {
      const { status, body } = await workspace.api('POST', '/api/consents', {
        address: phone(),
        status: 'granted',
        ...fields,
      });
      return [status, JSON.stringify(body)];
    };
    const future = new Date(Date.now() + 3_600_000).toISOString();
    expect(await post({ at: future })).toEqual([400, expect.stringContaining('at')]);
    expect(await post({ source: 'telepathy' })).toEqual([400, expect.stringContaining('source')]);
    expect(await post({ address: 'nobody' })).toEqual([400, expect.stringContaining('address')]);
  });

  it('cannot be changed, not even by the login of the processes', async () => {
    const address = phone();
    await consent({ address });
    const change = (statement: ReturnType<typeof sql.fragment>) =>
      withTenant(app.pools, workspace.id, (db) => db.query(sql.type(NoRows)`${statement}`));
    await expect(change(sql.fragment`update consents set status = 'revoked'`)).rejects.toThrow(
      'permission denied',
    );
    await expect(change(sql.fragment`delete from consents`)).rejects.toThrow('permission denied');
    expect(await statuses(address)).toEqual(['granted api']);
  });

  it('records each opt-out and opt-in once', async () => {
    const address = phone();
    await writeIn(app, { lineId: workspace.lineId, from: address, text: 'STOP' });
    await eventually(async () => (await ledger(address)).length === 1);
    await workspace.api('POST', '/api/opt-outs', { address });
    await writeIn(app, { lineId: workspace.lineId, from: address, text: 'START' });
    await eventually(async () => (await ledger(address)).length === 2);
    expect(await statuses(address)).toEqual(['granted keyword', 'revoked keyword']);
    await workspace.api('POST', '/api/opt-outs', { address });
    await workspace.api('DELETE', `/api/opt-outs/${encodeURIComponent(address)}`);
    expect(await statuses(address)).toEqual([
      'granted api',
      'revoked api',
      'granted keyword',
      'revoked keyword',
    ]);
  });

  it('makes no conversation of a contact whom nothing has reached', async () => {
    const address = phone();
    await consent({ address, status: 'revoked' });
    expect((await workspace.api('GET', `/api/conversations/${encodeURIComponent(address)}`)).status).toBe(
      404,
    );
  });

  it('is exported and erased with its contact, whose refusal stays in force', async () => {
    const address = phone();
    const { leadIds } = await newList([{ phone: address }]);
    await consent({ address, evidence: 'plugh form' });
    await consent({ address, status: 'revoked' });
    const document = (await workspace.api('GET', `/api/leads/${leadIds[0]}/export`)).body;
    expect(document.consents).toMatchObject([
      { status: 'granted', evidence: 'plugh form' },
      { status: 'revoked' },
    ]);

    await workspace.api('DELETE', `/api/leads/${leadIds[0]}?erase=true`);
    expect((await workspace.api('GET', '/api/consents')).body.consents).toEqual([]);
    const { body } = await workspace.api('POST', '/api/messages', { recipientPhone: address, message: 'Hi' });
    const message = await eventually(async () => {
      const found = (await workspace.api('GET', `/api/messages/${body._id}`)).body;
      return found.status === 'failed' && found;
    });
    expect(message.errorMessage).toBe('recipient_opted_out');
  });
});

describe('a campaign that requires consent', () => {
  it('skips leads without, counts them, and says so in its preview', async () => {
    const [yes, no, withdrawn, other] = [phone(), phone(), phone(), phone()];
    const { listId, leadIds } = await newList([
      { phone: yes },
      { phone: no },
      { phone: withdrawn },
      { phone: other },
    ]);
    await consent({ address: yes, channel: 'imessage' });
    await consent({ address: withdrawn });
    await consent({ address: withdrawn, status: 'revoked', channel: 'imessage' });
    await consent({ address: other, channel: 'email' });
    const id = await newCampaign({ listId, requireConsent: true, start: true });
    await step(id, leadIds[0]!, 0, 'sent', 'delivered');
    await eventually(async () => (await progressOf(id)).enteredAll);
    expect(await progressOf(id)).toMatchObject({ entered: 4, running: 1, stopped: 3, noConsent: 3 });
    for (const lead of leadIds.slice(1)) expect(await stepsOf(id, lead)).toEqual([]);

    const hasConsent = async (leadId: string | undefined) => {
      const { body } = await workspace.api('POST', `/api/campaigns/${id}/preview`, { leadId });
      return body.steps.map((planned: { hasConsent: boolean }) => planned.hasConsent);
    };
    expect([await hasConsent(leadIds[0]), await hasConsent(leadIds[1])]).toEqual([
      [true, true],
      [false, false],
    ]);

    const added = await workspace.api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
    expect(added).toMatchObject({ status: 201, body: { success: true, messageCount: 0 } });
    expect(await progressOf(id)).toMatchObject({ entered: 5, running: 1, stopped: 4, noConsent: 4 });

    // A withdrawal for another channel, or from before the consent, stops nothing.
    await consent({ address: yes, status: 'revoked', channel: 'sms' });
    await consent({ address: yes, status: 'revoked', at: '2020-01-01T00:00:00Z' });
    expect((await stepsOf(id, leadIds[0]!))[1]).toMatchObject({ status: 'scheduled' });

    // The next step does not go to somebody who withdraws.
    await consent({ address: yes, status: 'revoked' });
    expect((await stepsOf(id, leadIds[0]!))[1]).toMatchObject({
      status: 'canceled',
      holdReason: 'no_consent',
    });
  });

  it('cancels the steps of somebody whose withdrawal comes with a file', async () => {
    const [withdraws, stays] = [phone(), phone()];
    const { listId, leadIds } = await newList([{ phone: withdraws }, { phone: stays }]);
    for (const address of [withdraws, stays]) await consent({ address });
    const id = await newCampaign({ listId, requireConsent: true, start: true });
    for (const leadId of leadIds) await step(id, leadId, 0, 'sent', 'delivered');
    const rows = [`${withdraws},unsubscribed,`, `${stays},unsubscribed,2020-01-01`];
    await importFile(workspace.api, ['phone,consentSource,consentAt', ...rows].join('\n'));
    const nextSteps = await Promise.all(leadIds.map(async (leadId) => (await stepsOf(id, leadId))[1]));
    expect(nextSteps).toMatchObject([
      { status: 'canceled', holdReason: 'no_consent' },
      { status: 'scheduled' },
    ]);
    expect(await progressOf(id)).toMatchObject({ running: 1, stopped: 1 });
  });

  it('locks the sequences of all leads of a file in one order', async () => {
    const [consents, withdraws] = [phone(), phone()];
    const { listId, leadIds } = await newList([{ phone: consents }, { phone: withdraws }]);
    const [first = '', second = ''] = leadIds.toSorted();
    const stopWhen = [{ field: 'tag', op: 'eq', value: 'hot' }];
    const id = await newCampaign({ listId, stopWhen, start: true });
    for (const leadId of leadIds) await step(id, leadId, 0, 'sent', 'delivered');
    expect((await workspace.api('POST', `/api/campaigns/${id}/pause`)).status).toBe(200);
    const file = ['phone,consentSource', `${consents},form`, `${withdraws},unsubscribed`].join('\n');
    const locking = await stayOpen<TenantDb>(
      (work) =>
        withTenant(app.pools, workspace.id, async (db) => {
          await work(db);
          // Before a deadlock is detected, which would only be seen as a retry.
          await db.query(sql.type(NoRows)`set local lock_timeout = '500ms'`);
          await lockSequencesOf(db, second);
        }),
      (db) => lockSequencesOf(db, first),
    );
    const importing = importFile(workspace.api, file, listId);
    await waitingForLocks(app, 1);
    await locking.release();
    expect(await importing).toMatchObject({ status: 'completed' });
  });

  it.each([
    ['a line', { message: 'Hi' }, { phone: phone() }],
    ['no line', { messageType: 'email', subject: 'Hi', message: 'Hi' }, { email: 'late@example.com' }],
  ])('sends nothing to somebody who withdraws while it enters them (%s)', async (_, only, lead) => {
    const [address = ''] = Object.values(lead);
    const [leadId = ''] = (await newList([lead])).leadIds;
    await consent({ address });
    const id = await newCampaign({ steps: [only], requireConsent: true });
    const entering = await stayOpen<TenantDb>(
      (work) => withTenant(app.pools, workspace.id, work),
      async (db) => {
        const [campaign, entered] = [await lockCampaign(db, id), await findLead(db, leadId)];
        if (!campaign || !entered) throw new Error('the campaign or the lead is missing');
        await enterLeads(db, campaign, [entered], new Date());
      },
    );
    const withdrawal = consent({ address, status: 'revoked' });
    await Promise.race([withdrawal, waitingForLocks(app, 1)]);
    await entering.release();
    await withdrawal;
    expect(await stepsOf(id, leadId)).toMatchObject([{ status: 'canceled', holdReason: 'no_consent' }]);
  });

  it('counts the consents of an import', async () => {
    const listId = (await workspace.api('POST', '/api/lists', { name: 'Signed up' })).body.list._id;
    const [form, late, broken] = [phone(), phone(), phone()];
    const csv = [
      'Phone,Consent Source,Consent At',
      `${form},form,2026-02-03T04:05:06Z`,
      `${late},Booth at the fair,2026-02-04`,
      `${broken},form,never`,
    ].join('\n');
    const { importId } = (
      await workspace.api('POST', `/api/lists/${listId}/import`, csv, { 'content-type': 'text/csv' })
    ).body;
    await eventually(
      async () =>
        (await workspace.api('GET', `/api/lists/${listId}/imports/${importId}`)).body.status === 'completed',
    );
    expect(await ledger(form)).toMatchObject([
      { source: 'form', at: '2026-02-03T04:05:06.000Z', status: 'granted' },
    ]);
    expect(await ledger(late)).toMatchObject([{ source: 'import', evidence: 'Booth at the fair' }]);
    expect(await ledger(broken)).toEqual([]);
    const { body } = await workspace.api('GET', `/api/lists/${listId}/imports/${importId}`);
    expect(body).toMatchObject({ saved: 2, rejected: 1 });
  });
});

describe('the coverage of a list', () => {
  const coverage = async (listId: string, channel: string) =>
    (await workspace.api('GET', `/api/lists/${listId}/consent?channel=${channel}`)).body;

  it('counts each lead once, by its address on the channel', async () => {
    const agency = await createAgency(app);
    workspace = await createWorkspaceWithLine(app, { workspace: { agency_id: agency.id } });
    const [yes, no, withdrawn, optedOut, suppressed, erased] = Array.from({ length: 6 }, () => phone());
    const email = `${newId()}@example.test`;
    const first = await newList([{ phone: erased }]);
    await workspace.api('POST', '/api/opt-outs', { address: erased });
    await workspace.api('DELETE', `/api/leads/${first.leadIds[0]}?erase=true`);
    const { listId } = await newList(
      [yes, no, withdrawn, optedOut, suppressed, erased].map((number) => ({ phone: number })),
    );
    await workspace.api('POST', '/api/leads', { listId, leads: [{ email }] });
    for (const address of [yes!, withdrawn!, optedOut!, suppressed!])
      await consent({ address, channel: 'sms' });
    await consent({ address: withdrawn!, status: 'revoked' });
    await workspace.api('POST', '/api/opt-outs', { address: optedOut });
    const owner = apiClient(app.url, await signIn(app, { userId: agency.ownerId }));
    expect((await owner('POST', '/api/agency/suppressions', { address: suppressed })).status).toBe(201);

    const blocked = { total: 7, optedOut: 2, suppressed: 1 };
    expect(await coverage(listId, 'sms')).toEqual({
      success: true,
      channel: 'sms',
      ...blocked,
      unreachable: 1,
      granted: 1,
      revoked: 1,
      unknown: 1,
    });
    // Nobody consented to iMessage; an email address is reached by it, too.
    expect(await coverage(listId, 'imessage')).toMatchObject({
      ...blocked,
      unreachable: 0,
      granted: 0,
      revoked: 1,
      unknown: 3,
    });
    expect(await coverage(listId, 'email')).toMatchObject({ total: 7, unreachable: 6, unknown: 1 });
    const { body } = await workspace.api('GET', '/api/compliance');
    expect(body).toMatchObject({
      suppressions: 1,
      suspectedOptOuts: 0,
      campaigns: { running: 0, requireConsent: 0 },
      keywords: { optOut: expect.arrayContaining(['STOP']), optIn: expect.arrayContaining(['START']) },
    });
  });

  it('is told for the recipients of the last month, and for each step of a preview', async () => {
    const [yes, no] = [phone(), phone()];
    const { listId, leadIds } = await newList([{ phone: yes }, { phone: no }]);
    await consent({ address: yes });
    const id = await newCampaign({ listId, start: true });
    for (const leadId of leadIds) await step(id, leadId, 0, 'sent', 'delivered');
    // Who withdraws later had consented.
    await consent({ address: yes, status: 'revoked' });
    const { body } = await workspace.api('GET', '/api/compliance/campaign-consents');
    expect(body).toMatchObject({
      complete: true,
      recipients: 2,
      withoutConsent: 1,
      campaigns: [
        { campaignId: id, name: 'Spring', requireConsent: false, granted: 1, revoked: 0, unknown: 1 },
      ],
    });

    const skipReasons = async (campaignId: string) => {
      const preview = await workspace.api('POST', `/api/campaigns/${campaignId}/preview`, {
        leadId: leadIds[1],
      });
      return preview.body.steps.map(({ skipReason }: { skipReason: string | null }) => skipReason);
    };
    expect(await skipReasons(id)).toEqual([null, null]);
    expect(await skipReasons(await newCampaign({ listId, requireConsent: true }))).toEqual([
      'no_consent',
      'no_consent',
    ]);
    await workspace.api('POST', '/api/opt-outs', { address: no });
    expect(await skipReasons(id)).toEqual(['recipient_opted_out', 'recipient_opted_out']);
  });
});
