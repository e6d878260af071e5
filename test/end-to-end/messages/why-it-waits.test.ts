import fc from 'fast-check';
import { sql } from 'slonik';
import { beforeAll, expect, test } from 'vitest';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { lineState, storeUsedUp } from '#db/commands/sending/line-state.ts';
import { findLine, isUsable, type LineRow, lockLine, pacedLine } from '#db/queries/lines/lines.ts';
import { campaignWaits } from '#db/queries/campaigns/campaign-waits.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { listShownMessages, presentFound, showMessage } from '#db/queries/messages/shown-messages.ts';
import { findTimeline } from '#db/queries/messages/timeline.ts';
import { NoRows } from '#db/connection/rows.ts';
import { type TenantDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { CampaignStatus } from '#domain/campaigns/campaign.ts';
import { newId } from '#domain/base/ids.ts';
import { ProvisioningStatus } from '#domain/lines/line.ts';
import { LineStop } from '#domain/lines/line-stop.ts';
import { reasonToRecord } from '#domain/sending/why-it-waits.ts';
import type { WaitReason } from '#domain/sending/wait-reasons.ts';
import { waitingFor } from '#domain/sending/waiting.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createLine, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';

const WORKSPACES = {
  usual: sql.fragment`name = 'Usual'`,
  unpaid: sql.fragment`subscription_status = 'past_due'`,
  suspended: sql.fragment`suspended_at = now()`,
};

let app: TestApp;
const workspaces = new Map<string, { workspace: TestWorkspace; campaigns: Map<string, string> }>();

beforeAll(async () => {
  app = await sharedApp();
  for (const [name, change] of Object.entries(WORKSPACES)) {
    const workspace = await createWorkspace(app);
    const campaigns = new Map<string, string>();
    for (const status of CampaignStatus.options) {
      const { body } = await workspace.api('POST', '/api/campaigns', {
        name: status,
        steps: [{ message: 'Hi' }],
      });
      const { _id: id } = body.campaign;
      await withSystem(app.pools, (db) =>
        db.query(sql.type(NoRows)`
          update campaigns set status = ${status} where workspace_id = ${workspace.id} and id = ${id}`),
      );
      campaigns.set(status, id);
    }
    await withSystem(app.pools, (db) =>
      db.query(sql.type(NoRows)`update workspaces set ${change} where id = ${workspace.id}`),
    );
    workspaces.set(name, { workspace, campaigns });
  }
});

const MINUTE = 60_000;
/** Before the moment of the look. A cap of the current hour or day depends on what was sent in it. */
const minutes = fc.integer({ min: -120, max: -1 });
const mostly = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const situation = fc.record({
  workspace: mostly('usual', 'unpaid', 'suspended'),
  line: fc.record({
    is_active: mostly(true, false),
    provisioning_status: mostly('active', ...ProvisioningStatus.options),
    carrier: mostly('simulated', 'none'),
    health_status: mostly('healthy', 'down'),
    daily_total_limit: mostly(1000, 0),
    min_gap_seconds: mostly(0, 600),
    reputation_policy: mostly<string | null>(null, 'protect', 'observe'),
  }),
  isResting: mostly(false, true),
  /** Until when a user has lifted what its reputation does. */
  override: mostly<number | null>(null, -1, 1),
  isPaused: mostly(false, true),
  /** Until when the line is changed. */
  changing: mostly<number | null>(null, -1, 1),
  usedUp: fc.record({ daily_new_used_up: fc.option(minutes), hourly_new_used_up: fc.option(minutes) }),
  /** Calls of the line that failed, or succeeded, some minutes ago. */
  calls: mostly<{ outcome: string; reason: string | null }[]>(
    [],
    [{ outcome: 'accepted', reason: null }],
    Array.from({ length: 6 }, () => ({ outcome: 'transient', reason: '503' })),
    Array.from({ length: 6 }, () => ({ outcome: 'transient', reason: 'credentials refused: 20003' })),
  ),
  lastCallMinutesAgo: fc.constantFrom(0, 1, 30),
  message: fc.record({
    status: mostly('pending', 'scheduled', 'sending', 'fallback', 'sent', 'canceled'),
    scheduled_at: mostly(-1, 60, 0),
    hold_reason: mostly<string | null>(null, 'contact_gap', 'carrier_retry', 'send_window'),
    is_new: fc.boolean(),
    force_fallback: mostly(false, true),
    window: mostly<string | null>(null, '00:00', '12:00'),
  }),
  unqueued: mostly<string | null>(null, 'previous_step', 'personalization', 'opt_out_suspected'),
  optedOut: mostly(false, true),
  campaign: mostly<CampaignStatus | null>(null, ...CampaignStatus.options),
  answerIn: mostly<number | null>(1, -1, null),
  hasLine: mostly(true, false),
});
type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never;

const sendable: Situation = {
  workspace: 'usual',
  line: {
    is_active: true,
    provisioning_status: 'active',
    carrier: 'simulated',
    health_status: 'healthy',
    daily_total_limit: 1000,
    min_gap_seconds: 0,
    reputation_policy: null,
  },
  isResting: false,
  override: null,
  isPaused: false,
  changing: null,
  usedUp: { daily_new_used_up: null, hourly_new_used_up: null },
  calls: [],
  lastCallMinutesAgo: 0,
  message: {
    status: 'pending',
    scheduled_at: -1,
    hold_reason: null,
    is_new: true,
    force_fallback: false,
    window: null,
  },
  unqueued: null,
  optedOut: false,
  campaign: null,
  answerIn: 1,
  hasLine: true,
};
const onLine = (line: Partial<Situation['line']>): Situation => ({
  ...sendable,
  line: { ...sendable.line, ...line },
});
const ofMessage = (message: Partial<Situation['message']>): Situation => ({
  ...sendable,
  message: { ...sendable.message, ...message },
});

/** One difference from what is sent at once, and what a message then waits for. */
const EXAMPLES: [WaitReason, Situation][] = [
  ['workspace_suspended', { ...sendable, workspace: 'suspended' }],
  ['subscription_past_due', { ...sendable, workspace: 'unpaid' }],
  ['recipient_opted_out', { ...sendable, optedOut: true }],
  ['campaign_paused', { ...sendable, campaign: 'paused' }],
  ['campaign_inactive', { ...sendable, campaign: 'completed' }],
  ['personalization', { ...sendable, unqueued: 'personalization' }],
  ['no_line', { ...sendable, hasLine: false }],
  ['payment_missing', onLine({ provisioning_status: 'awaiting_payment' })],
  ['line_provisioning', onLine({ provisioning_status: 'provisioning' })],
  ['line_failed', onLine({ provisioning_status: 'failed' })],
  ['line_not_connected', onLine({ carrier: 'none' })],
  ['line_inactive', onLine({ is_active: false })],
  ['line_down', onLine({ health_status: 'down' })],
  ['daily_total_cap', onLine({ daily_total_limit: 0 })],
  ['line_paused', { ...sendable, isPaused: true }],
  ['line_resting', { ...sendable, isResting: true }],
  ['line_changing', { ...sendable, changing: 1 }],
  ['carrier_answer', ofMessage({ status: 'sending' })],
  ['fallback_sms', ofMessage({ status: 'fallback' })],
  ['contact_busy', ofMessage({ scheduled_at: 60, hold_reason: 'contact_busy' })],
  ['frequency_cap', ofMessage({ scheduled_at: 60, hold_reason: 'frequency_cap' })],
  ['contact_gap', ofMessage({ scheduled_at: 60, hold_reason: 'contact_gap' })],
];

/** Writes the rows of a situation. */
async function make(given: Situation, now: Date) {
  const { workspace, campaigns } = workspaces.get(given.workspace) ?? { workspace: null, campaigns: null };
  if (!workspace) throw new Error('no such workspace');
  const at = (offset: number): Date => new Date(now.getTime() + offset * MINUTE);
  const time = (offset: number | null): Date | null => (offset === null ? null : at(offset));
  const lineId = await createLine(app, workspace.id, 'imessage', {
    ...given.line,
    paused_at: given.isPaused ? at(-5) : null,
    held_until: time(given.changing),
    reputation_checked_at: now,
    ...(given.isResting && { reputation_state: 'critical', reputation_rests_until: at(60) }),
    reputation_override_until: time(given.override),
    daily_new_used_up: time(given.usedUp.daily_new_used_up),
    hourly_new_used_up: time(given.usedUp.hourly_new_used_up),
    updated_at: at(-600),
  });
  const [id, to] = [newId(), phone()];
  const { window, status, scheduled_at, ...fields } = given.message;
  const unsent = status === 'pending' || status === 'scheduled';
  const campaignId = given.campaign === null ? null : (campaigns.get(given.campaign) ?? null);
  await insertRow(app, 'messages', {
    workspace_id: workspace.id,
    id,
    channel: 'imessage',
    address: to,
    recipient_phone: to,
    body: 'Hello',
    source: campaignId === null ? 'api' : 'campaign',
    line_id: given.hasLine ? lineId : null,
    campaign_id: campaignId,
    ...(campaignId !== null && { lead_id: newId(), step_index: 0 }),
    status,
    scheduled_at: at(scheduled_at),
    created_at: at(-60),
    ...fields,
    held: unsent && given.unqueued !== null,
    hold_reason: unsent ? (given.unqueued ?? fields.hold_reason) : null,
    // A step of a campaign has no window of its own.
    ...(window !== null &&
      campaignId === null && { window_timezone: 'UTC', window_start: window, window_end: '18:00' }),
    ...(status === 'fallback' && { fallback_sms: 'due', fallback_at: at(scheduled_at) }),
  });
  const attempt = (offset: number, fields: Parameters<typeof insertRow>[2]) =>
    insertRow(app, 'attempts', {
      workspace_id: workspace.id,
      id: newId(),
      message_id: newId(),
      line_id: lineId,
      kind: 'primary',
      channel: 'imessage',
      carrier: 'simulated',
      address: phone(),
      is_new: false,
      started_at: at(offset),
      answer_by: at(offset + 0.5),
      ...fields,
    });
  for (const [index, { outcome, reason }] of given.calls.entries()) {
    const offset = -given.lastCallMinutesAgo - index / 60;
    await attempt(offset, { outcome, reason, finished_at: at(offset) });
  }
  if (status === 'sending' && given.answerIn !== null)
    await attempt(-0.9, { message_id: id, answer_by: at(given.answerIn) });
  if (given.optedOut)
    await insertRow(app, 'opt_outs', { workspace_id: workspace.id, address: to, source: 'manual' });
  // The line remembers which caps are used up since its last round.
  await withTenant(app.pools, workspace.id, async (db) => {
    const row = await lockLine(db, lineId);
    if (!row) throw new Error('the line is gone');
    const { stored, line } = await lineState(db, row, now);
    await storeUsedUp(db, lineId, stored, line.usedUp);
  });
  return { workspace, lineId, id, campaignId };
}

/** What the trigger stores of a line, by the rules of the plan. It knows no more than the row, and asks first whether the line is in use. */
function stopOfRow(row: LineRow, now: Date): string | null {
  const known = { ...row, carrier: 'simulated', pausedAt: isUsable(row) ? row.pausedAt : null };
  const reason = reasonToRecord(pacedLine(known, { timezone: 'UTC', reputationPolicy: 'protect' }, now), now);
  return LineStop.options.find((stop) => stop === reason) ?? (reason && 'line_inactive');
}

class Undo extends Error {}

/** Runs work and undoes it. */
async function undone<T>(workspaceId: string, work: (db: TenantDb) => Promise<T>): Promise<T> {
  const results: T[] = [];
  const run = withTenant(app.pools, workspaceId, async (db) => {
    results.push(await work(db));
    throw new Undo();
  });
  await expect(run).rejects.toThrow(Undo);
  return results[0] as T;
}

test('a message, its timeline, its list, its campaign, the row and the plan of its line give one reason', async () => {
  const reasons = new Set<string | null>();
  await fc.assert(
    fc.asyncProperty(situation, async (given) => {
      const now = new Date();
      const { workspace, lineId, id, campaignId } = await make(given, now);
      await withTenant(app.pools, workspace.id, async (db) => {
        const row = await findMessage(db, id);
        const told = await findTimeline(db, id, now);
        const campaign = campaignId === null ? null : await findCampaign(db, campaignId);
        if (!row || !told) throw new Error('the message is gone');
        const record = await showMessage(db, row, now);
        const waits = told.found.facts && waitingFor(told.found.facts, told.said, now);
        const reason = waits === null || waits.reason === 'scheduled' ? null : waits.reason;
        const isWaiting = waits !== null;
        if (isWaiting) expect(record.holdReason).toBe(reason);
        if (
          waits &&
          waits.until !== null &&
          given.message.status !== 'sending' &&
          record.status === 'scheduled' &&
          reason !== 'line_changing' &&
          reason !== 'line_gap'
        )
          expect([waits.until, null]).toContain(record.scheduledDate);
        const { messages } = await listShownMessages(
          db,
          { lineId: row.lineId ?? undefined },
          { limit: 10 },
          now,
        );
        const listed = messages.find((one) => one.row.id === id);
        expect(listed && presentFound(listed, now)).toEqual(record);
        if (
          campaign &&
          isWaiting &&
          !given.optedOut &&
          row.status !== 'sending' &&
          row.fallbackSms === null &&
          !row.forceFallback &&
          (!row.held || row.holdReason === 'personalization')
        )
          expect((await campaignWaits(db, campaign, now)).waits).toMatchObject([
            { reason: waits.reason, leads: 1 },
          ]);
        const line = await findLine(db, lineId);
        if (!line) throw new Error('the line is gone');
        expect(line.stopReason).toBe(stopOfRow(line, now));
        reasons.add(waits?.reason ?? null);
      });
      const record = await withTenant(app.pools, workspace.id, async (db) => {
        const row = await findMessage(db, id);
        return row && (await showMessage(db, row, now));
      });
      const planned = await undone(workspace.id, (db) => planSends(db, lineId, 20_000, () => now));
      const isSent =
        planned?.claims.some(({ message }) => message.id === id) ||
        planned?.smsOnly.includes(id) ||
        planned?.fallbacksDue.includes(id);
      const isDue = given.message.scheduled_at <= 0 && given.hasLine;
      const unsent = given.message.status === 'pending' || given.message.status === 'scheduled';
      // An SMS to a contact who has opted out is taken from the queue to fail.
      if (unsent && isSent && !(given.message.force_fallback && given.optedOut))
        expect([null, 'carrier_pause', 'credentials_refused']).toContain(record?.holdReason);
      if (unsent && isDue && record?.holdReason === null) expect(isSent).toBe(true);
      if (given.message.status === 'fallback' && given.hasLine)
        expect(isSent).toBe(record?.holdReason === 'fallback_sms' && isDue);
      await withSystem(app.pools, (db) =>
        db.query(sql.type(NoRows)`delete from messages where workspace_id = ${workspace.id} and id = ${id}`),
      );
      // A workspace has one line at a time that awaits its payment.
      await withSystem(app.pools, (db) =>
        db.query(sql.type(NoRows)`
          update lines set provisioning_status = 'canceled'
          where workspace_id = ${workspace.id} and id = ${lineId} and provisioning_status = 'awaiting_payment'`),
      );
    }),
    { numRuns: 150, examples: EXAMPLES.map(([, given]) => [given]) },
  );
  expect([...reasons]).toEqual(expect.arrayContaining(EXAMPLES.map(([reason]) => reason)));
});
