import { beforeAll, describe, expect, it } from 'vitest';
import { sealWorkspace } from '#db/commands/contacts/seal-records.ts';
import { connected } from '#db/connection/connected.ts';
import { createAddressHashes } from '#db/connection/address-hashes.ts';
import { Evidence } from '#domain/contacts/evidence.ts';
import { createKeySeal } from '#providers/key-seal.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspace, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent, writeIn } from '#test/support/inbound.ts';
import { deliverMessage } from '#test/support/messages.ts';
import { auditLogOf } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => void (app = await sharedApp()));

/** What housekeeping does every ten minutes. */
async function seal({ id }: Pick<WorkspaceWithLine, 'id'>): Promise<void> {
  const { encryptionKeys } = app.config;
  const keySeal = createKeySeal(createSecretBox(encryptionKeys));
  const pools = { ...app.pools, addressHashes: createAddressHashes(app.pools.autocommit, keySeal) };
  await sealWorkspace(pools, id, () => true);
}

/** Changes rows without the product, as somebody can who owns the database. */
const behindItsBack = (command: string, values: unknown[]): Promise<void> =>
  connected(app.ownerUrl, async (owner) => {
    await owner.query("set app.migrating = 'on'");
    expect((await owner.query(command, values)).rowCount).toBeGreaterThan(0);
  });

/** A contact with a consent and a message that was delivered. */
async function contacted(): Promise<{
  workspace: WorkspaceWithLine;
  leadId: string;
  messageId: string;
  to: string;
  evidence: () => Promise<Evidence>;
}> {
  const workspace = await createWorkspaceWithLine(app);
  const to = phone();
  const leads = [{ firstName: 'Ada', lastName: 'Byron', phone: to }];
  const [leadId] = (await workspace.api('POST', '/api/leads', { leads })).body.leadIds;
  await workspace.api('POST', '/api/consents', {
    address: to,
    status: 'granted',
    source: 'form',
    evidence: 'I agree to get texts from Acme.',
  });
  const messageId = await deliverMessage(workspace.api, {
    recipientPhone: to,
    leadId,
    message: 'Hello 👋 Ada',
  });
  const evidence = async () => {
    const { status, body } = await workspace.api('GET', `/api/leads/${leadId}/evidence`);
    expect(status).toBe(200);
    return Evidence.parse(body);
  };
  return { workspace, leadId, messageId, to, evidence };
}

describe('the evidence about a contact', () => {
  it('says what was consented to, sent, by which rule and with which receipts', async () => {
    const { workspace, to, leadId, messageId, evidence } = await contacted();
    const before = await evidence();
    expect(before.messages.map((message) => message.seal?.state)).toEqual(['pending']);
    expect(before.verification.result).toBe('intact');
    await seal(workspace);
    const found = await evidence();
    expect(found).toMatchObject({ name: 'Ada Byron', addresses: [to], leadId, workspaceId: workspace.id });
    expect(found.consents).toMatchObject([
      { status: 'granted', evidence: 'I agree to get texts from Acme.', seal: { state: 'intact' } },
    ]);
    expect(found.messages).toMatchObject([
      {
        messageId,
        text: 'Hello 👋 Ada',
        status: 'delivered',
        wrote: { source: 'api', draftSource: null },
        approved: null,
        released: { rule: 'none', carrier: 'simulated', rulesChangedAt: null },
        deliveredAt: expect.any(String),
        seal: { state: 'intact' },
      },
    ]);
    const { at, local } = found.messages[0]?.released ?? { at: '', local: [] };
    expect(local.length).toBeGreaterThan(0);
    for (const { timezone, time } of local)
      expect(time).toBe(
        new Date(at).toLocaleString('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' }),
      );
    expect(found.audit.map(({ action }) => action)).toContain('consent.recorded');
    expect(found.verification).toMatchObject({ result: 'intact', counts: { changed: 0, unsealed: 0 } });
  });

  it('names the hours that allowed a message, and that they were changed since', async () => {
    const { workspace, evidence } = await contacted();
    const hours = { enabled: true, start: '00:00', end: '00:00', appliesTo: ['message'] };
    await workspace.api('PUT', '/api/workspace/quiet-hours', hours);
    const [message] = (await evidence()).messages;
    expect(message?.released).toMatchObject({
      rule: 'quiet_hours',
      quietHours: { start: '00:00', end: '00:00', law: null },
      rulesChangedAt: expect.any(String),
    });
  });

  it('says how long after an opt-out nothing left any more', async () => {
    const { workspace, to, evidence } = await contacted();
    const [sent] = (await evidence()).messages;
    const left = new Date(sent?.released?.at ?? '');
    // The contact wrote half a minute before, but the carrier tells of it only now.
    const at = new Date(left.getTime() - 30_000);
    await callBack(app, workspace.lineId, replyEvent(to, 'STOP', { at }));
    const found = await eventually(async () => {
      const latest = await evidence();
      return latest.optOuts.length > 0 ? latest : null;
    });
    expect(found?.optOuts).toMatchObject([
      {
        address: to,
        source: 'reply',
        text: 'STOP',
        messagesAfter: 1,
        secondsUntilNothingLeft: 30,
        endedAt: null,
      },
    ]);
    expect(found?.audit.map(({ action }) => action)).toContain('contact.opted_out');
  });

  it('shows a text, a consent and an audit entry that were changed in the database', async () => {
    const { workspace, messageId, leadId, evidence } = await contacted();
    await evidence();
    await seal(workspace);
    const change = (command: string, ...values: string[]) =>
      behindItsBack(command, [workspace.id, ...values]);
    await change("update messages set body = 'Hello' where workspace_id = $1 and id = $2", messageId);
    const changed = await evidence();
    expect(changed.messages[0]?.seal?.state).toBe('changed');
    expect(changed.verification).toMatchObject({ result: 'changed', counts: { changed: 1 } });
    expect(changed.consents[0]?.seal.state).toBe('intact');
    // It is no excuse that the row says that it was edited: the audit log knows of no edit.
    await change('update messages set edited_at = now() where workspace_id = $1 and id = $2', messageId);
    expect((await evidence()).messages[0]?.seal?.state).toBe('changed');
    await change(
      'update messages set body = $3, edited_at = null where workspace_id = $1 and id = $2',
      messageId,
      'Hello 👋 Ada',
    );
    expect((await evidence()).verification.result).toBe('intact');

    await change("update consents set evidence = 'I agree to everything.' where workspace_id = $1");
    await change(
      "update audit_log set actor_name = 'Somebody' where workspace_id = $1 and target_id = $2 and action = 'contact.exported'",
      leadId,
    );
    const others = await evidence();
    expect(others.consents[0]?.seal.state).toBe('changed');
    expect(others.audit.map(({ action, seal: { state } }) => [action, state])).toContainEqual([
      'contact.exported',
      'changed',
    ]);
  });

  it('shows a chain that was broken', async () => {
    const { workspace, evidence } = await contacted();
    await seal(workspace);
    const [consent] = (await evidence()).consents;
    await behindItsBack('delete from record_seals where workspace_id = $1 and position = $2', [
      workspace.id,
      consent?.seal.position,
    ]);
    const broken = await evidence();
    expect(broken.consents[0]?.seal.state).toBe('pending');
    expect(broken.messages[0]?.seal?.state).toBe('changed');
    expect(broken.verification.result).toBe('changed');
  });

  it('misses the seals of old records, which somebody may have added', async () => {
    const { workspace, evidence } = await contacted();
    await seal(workspace);
    await age(app.pools, 'attempts', ['started_at'], '2 hours', `workspace_id = '${workspace.id}'`);
    expect((await evidence()).verification.result).toBe('changed');
    await behindItsBack('delete from record_seals where workspace_id = $1', [workspace.id]);
    const found = await evidence();
    expect(found.messages[0]?.seal?.state).toBe('unsealed');
    expect(found.verification.result).toBe('incomplete');
  });

  it('does not take an edit for a forgery', async () => {
    const { workspace, messageId, evidence } = await contacted();
    await seal(workspace);
    await workspace.api('PATCH', `/api/messages/${messageId}`, { message: 'Hello again' });
    await eventually(async () => (await evidence()).messages[0]?.text === 'Hello again');
    await seal(workspace);
    const found = await evidence();
    expect(found.messages[0]).toMatchObject({ seal: { state: 'edited' }, editedAt: expect.any(String) });
    expect(found.verification.result).toBe('intact');
  });

  it('is a PDF that contains the data, for who asks for one', async () => {
    const { workspace, leadId } = await contacted();
    const url = `${app.url}/api/leads/${leadId}/evidence`;
    const authorization = `Bearer ${workspace.key}`;
    const asked = await fetch(url, { headers: { authorization, accept: 'application/pdf' } });
    const named = await fetch(`${url}?format=pdf`, { headers: { authorization } });
    for (const response of [asked, named]) {
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
      expect(bytes.subarray(-6).toString()).toBe('%%EOF\n');
      expect(bytes.includes('evidence.json')).toBe(true);
    }
  });

  it('is of its own workspace, on the audit log, and gone with the contact, whose seals stay', async () => {
    const { workspace, leadId, to, evidence } = await contacted();
    await writeIn(app, { lineId: workspace.lineId, from: to, text: 'Thanks' });
    await seal(workspace);
    expect((await evidence()).verification.result).toBe('intact');
    const stranger = await createWorkspace(app);
    expect((await stranger.api('GET', `/api/leads/${leadId}/evidence`)).status).toBe(404);
    const audited = await auditLogOf(app, workspace, { action: 'contact.exported' });
    expect(audited.map(({ changes }) => changes)).toEqual([{ document: 'evidence', format: 'json' }]);

    const other = phone();
    const leads = [{ firstName: 'Other', phone: other }];
    const [otherId] = (await workspace.api('POST', '/api/leads', { leads })).body.leadIds;
    await deliverMessage(workspace.api, { recipientPhone: other, message: 'Hi' });
    await seal(workspace);
    expect((await workspace.api('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    expect((await workspace.api('GET', `/api/leads/${leadId}/evidence`)).status).toBe(404);
    await seal(workspace);
    const left = Evidence.parse((await workspace.api('GET', `/api/leads/${otherId}/evidence`)).body);
    expect(left.verification).toMatchObject({ result: 'intact', counts: { changed: 0 } });
  });
});
