import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { claimFallback } from '#db/commands/sending/send-claim.ts';
import { receiveReceipts } from '#db/commands/inbox/carrier-events.ts';
import { settleAction } from '#db/commands/messages/message-actions.ts';
import { forceFallback } from '#db/commands/sending/failures.ts';
import type { Settled } from '#db/commands/sending/outcomes.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { renderMessage } from '#activities/sending/outbound-message.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { actionsOf, openActions } from '#db/queries/messages/message-actions.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { attemptHelpers } from '#test/support/attempts.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
// No worker: the test makes the attempts.
beforeAll(async () => void (app = await sharedApp({ worker: false })));
beforeEach(async () => {
  workspace = await createWorkspaceWithLine(app, { line: { min_gap_seconds: 0, contact_gap_seconds: 0 } });
});

const { newCampaign } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));
const { inTenant, planAt, claim, settle } = attemptHelpers(() => ({ app, workspace }));

const notSent = { kind: 'not_sent', reason: 'the carrier did not take it' } as const;
const accepted = { kind: 'accepted', carrierMessageId: 'CM1' } as const;
const later = (seconds: number): Date => new Date(Date.now() + seconds * 1000);

const send = async (fields: object = {}): Promise<string> => {
  const request = { message: 'Once', recipientPhone: phone(), ...fields };
  return (await workspace.api('POST', '/api/messages', request)).body._id;
};
const get = async (id: string) => (await workspace.api('GET', `/api/messages/${id}`)).body;
const eventsOf = (id: string) =>
  systemDb(app.pools).anyFirst(sql.type(z.object({ event: z.string() }))`
    select event from events where workspace_id = ${workspace.id} and message_id = ${id}`);
const enableFallback = () =>
  workspace.api('PATCH', '/api/workspace/fallback-config', {
    enabled: true,
    provider: 'simulated',
    fromNumber: '+14155550100',
  });

describe('a message that the carrier did not take while the contact wrote', () => {
  it.each([
    ['is canceled if it was to be sent only before', ['Still there?', 'No hurry.'], 'canceled', 'reply'],
    ['is sent again otherwise', 'Still there?', 'scheduled', 'carrier_retry'],
  ])('%s', async (_, message, status, holdReason) => {
    const recipientPhone = phone();
    const id = await send({ message, recipientPhone });
    const attempt = await claim();
    await callBack(app, workspace.lineId, replyEvent(recipientPhone, 'I am here'));
    await settle(attempt, notSent);
    expect(await get(id)).toMatchObject({ status, holdReason });
    expect((await planAt(later(3600)))?.claims).toHaveLength(status === 'canceled' ? 0 : 1);
  });
});

test('a message of which a part was sent has failed, and its text does not follow as an SMS', async () => {
  await enableFallback();
  const id = await send({ sendFallbackSmsOnFailed: true });
  const reason = 'only a part was sent: the file is too large';
  await settle(await claim(), { kind: 'refused', reason, sentPart: 'CM1' });
  expect(await get(id)).toMatchObject({ status: 'failed', errorMessage: reason });
  expect((await planAt(later(3600)))?.fallbacksDue).toEqual([]);
});

describe('a message that the carrier accepts after its attempt was given up', () => {
  it('leaves the queue as sent, and gets its receipts', async () => {
    const id = await send();
    const attempt = await claim();
    await settle(attempt, notSent);
    expect(await get(id)).toMatchObject({ status: 'scheduled', holdReason: 'carrier_retry' });
    await settle(attempt, accepted);
    expect(await get(id)).toMatchObject({ status: 'sent', holdReason: null });
    expect(await eventsOf(id)).toEqual(['message.sent']);
    expect((await planAt(later(3600)))?.claims).toEqual([]);
    const { conversations } = (await workspace.api('GET', '/api/conversations')).body;
    expect(conversations).toMatchObject([{ address: attempt.address, lastOutboundAt: expect.any(String) }]);

    const receipt = { kind: 'receipt', eventId: 'E1', carrierMessageId: 'CM1', status: 'delivered' } as const;
    await inTenant((db) =>
      receiveReceipts(db, [{ lineId: workspace.lineId, event: { ...receipt, at: new Date() } }]),
    );
    expect((await get(id)).status).toBe('delivered');
  });

  it('leaves the queue although its campaign was paused meanwhile, and its next step is queued', async () => {
    const campaign = await newCampaign({
      start: true,
      steps: [{ message: 'First' }, { message: 'Second', delay: { hours: 1 } }],
    });
    const { leadId } = (
      await workspace.api('POST', `/api/campaigns/${campaign}/leads`, { lead: { phone: phone() } })
    ).body;
    const attempt = await claim();
    await settle(attempt, notSent);
    await workspace.api('POST', `/api/campaigns/${campaign}/pause`, {});
    await settle(attempt, accepted);
    expect((await get(attempt.messageId)).status).toBe('sent');
    const { messages } = (await workspace.api('GET', `/api/messages?leadId=${leadId}`)).body;
    const next = messages.find(({ stepIndex }: { stepIndex: number }) => stepIndex === 1);
    expect(Date.parse(next.scheduledDate)).toBeGreaterThan(later(3500).getTime());
    await workspace.api('POST', `/api/campaigns/${campaign}/resume`, {});
    expect((await planAt(later(60)))?.claims).toEqual([]);
  });

  it.each<Settled>([
    notSent,
    { kind: 'refused', reason: 'spam' },
    { kind: 'unavailable', reason: 'no iMessage' },
    { kind: 'unknown', reason: 'outcome_unknown' },
    { kind: 'accepted', carrierMessageId: 'CM2' },
  ])('stays sent whatever becomes of the attempt that was made meanwhile: $kind', async (outcome) => {
    await enableFallback();
    const id = await send({ sendFallbackSmsOnFailed: true, smsFallbackEnabled: true });
    const first = await claim();
    await settle(first, notSent);
    const second = await claim(later(10));
    await settle(first, accepted);
    await settle(second, outcome);
    expect((await get(id)).status).toBe('sent');
    expect(await eventsOf(id)).toEqual(['message.sent']);
    expect(await planAt(later(3600))).toMatchObject({ claims: [], fallbacksDue: [] });
  });

  it('stays canceled if it was canceled meanwhile', async () => {
    const id = await send();
    const attempt = await claim();
    await settle(attempt, notSent);
    await workspace.api('POST', `/api/messages/${id}/cancel`, {});
    await settle(attempt, accepted);
    expect((await get(id)).status).toBe('canceled');
    expect(await eventsOf(id)).toEqual(['message.canceled']);
  });

  it('is not sent as an SMS either', async () => {
    await enableFallback();
    const id = await send({ sendFallbackSmsOnFailed: true });
    // It fails at its next attempt.
    await systemDb(app.pools).query(sql.type(NoRows)`
      update messages set transient_failures = 7 where workspace_id = ${workspace.id} and id = ${id}`);
    const attempt = await claim();
    await settle(attempt, notSent);
    expect(await get(id)).toMatchObject({ status: 'fallback', fallbackSmsDispatched: false });
    expect(await planAt(later(60))).toMatchObject({ fallbacksDue: [id] });
    await settle(attempt, accepted);
    expect(await planAt(later(60))).toMatchObject({ claims: [], fallbacksDue: [] });
  });
});

test('a fallback SMS that its account accepts after its attempt was given up is not sent again', async () => {
  await enableFallback();
  const id = await send({ forceFallback: true });
  await inTenant((db) => forceFallback(db, id, new Date()));
  const claimed = await inTenant((db) => claimFallback(db, workspace.lineId, id, () => 1000));
  if (!claimed) throw new Error('nothing was claimed');
  await settle(claimed.attempt, notSent);
  expect(await planAt(later(60))).toMatchObject({ fallbacksDue: [id] });
  await settle(claimed.attempt, accepted);
  expect(await get(id)).toMatchObject({ status: 'fallback', fallbackSmsDispatched: true });
  expect(await planAt(later(60))).toMatchObject({ fallbacksDue: [] });
});

test('a message that is sent again has not arrived by the receipt of an attempt that the carrier said it did not send', async () => {
  const id = await send();
  await settle(await claim(), accepted);
  const receipt = { kind: 'receipt', carrierMessageId: 'CM1' } as const;
  const returned = { ...receipt, status: 'failed', reason: '404', ofLine: true } as const;
  await callBack(app, workspace.lineId, { ...returned, eventId: 'E1', at: new Date() });
  expect(await get(id)).toMatchObject({ status: 'scheduled' });
  await settle(await claim(later(3600)), { kind: 'accepted', carrierMessageId: 'CM2' });
  await callBack(app, workspace.lineId, { ...receipt, eventId: 'E2', status: 'delivered', at: new Date() });
  expect(await get(id)).toMatchObject({ status: 'sent' });
  expect(await eventsOf(id)).not.toContain('message.delivered');
  const arrived = { ...receipt, carrierMessageId: 'CM2', status: 'delivered' } as const;
  await callBack(app, workspace.lineId, { ...arrived, eventId: 'E3', at: new Date() });
  expect(await get(id)).toMatchObject({ status: 'delivered' });
});

describe('a message that its carrier returns after it was sent', () => {
  /** Sends a message, and lets the carrier say that it has not left, after `change`. */
  async function returnedAfter(change: (id: string) => Promise<unknown>): Promise<string> {
    const id = await send();
    await settle(await claim(), accepted);
    await change(id);
    const receipt = { kind: 'receipt', carrierMessageId: 'CM1', eventId: 'E1', at: new Date() } as const;
    await callBack(app, workspace.lineId, { ...receipt, status: 'failed', reason: '404', ofLine: true });
    return id;
  }
  const unsend = (id: string) => workspace.api('POST', `/api/messages/${id}/unsend`);
  const edit = (id: string, message: string) => workspace.api('PATCH', `/api/messages/${id}`, { message });
  const carryOut = async (id: string) => {
    const line = await inTenant((db) => findLine(db, workspace.lineId));
    const [action] = await inTenant((db) => actionsOf(db, id));
    if (line && action) await inTenant((db) => settleAction(db, action, line, { kind: 'accepted' }));
  };
  /** The text with which it is sent again; undefined: it is not. */
  const textSentAgain = async () => {
    const [claimed] = (await planAt(later(3600)))?.claims ?? [];
    return claimed && renderMessage(claimed.message, claimed.message.body, null);
  };

  it.each([
    ['is to be', async () => {}],
    ['was', carryOut],
  ])('is not sent again if it %s taken back', async (_, done) => {
    const id = await returnedAfter(async (of) => {
      expect((await unsend(of)).status).toBe(202);
      await done(of);
    });
    expect(await get(id)).toMatchObject({ status: 'canceled', unsentAt: expect.any(String) });
    expect(await textSentAgain()).toBeUndefined();
    expect(await eventsOf(id)).toEqual(expect.arrayContaining(['message.unsent', 'message.canceled']));
  });

  it.each([
    ['is to get', async () => {}],
    ['got', carryOut],
  ])('is sent again with the text that it %s', async (_, done) => {
    const id = await returnedAfter(async (of) => {
      expect((await edit(of, 'Twice {% raw %}{{ braces }}{% endraw %}')).status).toBe(202);
      await done(of);
    });
    expect(await get(id)).toMatchObject({ status: 'scheduled' });
    expect(await textSentAgain()).toEqual({ text: 'Twice {{ braces }}' });
    expect(await inTenant((db) => openActions(db, workspace.lineId))).toEqual([]);
  });
});
