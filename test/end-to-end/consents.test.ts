import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NoRows } from '#db/rows.ts';
import { withTenant } from '#db/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';

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

describe('the ledger of consents', () => {
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
    expect([added.status, JSON.stringify(added.body)]).toEqual([400, expect.stringContaining('consented')]);

    // The next step does not go to somebody who withdraws.
    await consent({ address: yes, status: 'revoked' });
    expect((await stepsOf(id, leadIds[0]!))[1]).toMatchObject({
      status: 'canceled',
      holdReason: 'no_consent',
    });
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
