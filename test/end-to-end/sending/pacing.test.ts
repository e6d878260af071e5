import { sql } from 'slonik';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { lineGapMs } from '#domain/sending/line-limits.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';

/** Checks the pacing rules against the clock and the carrier's log, with lower bounds only, which hold on slow machines. */

let app: TestApp;
let api: ApiClient;
let workspaceId: string;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => {
  const workspace = await createWorkspace(app);
  workspaceId = workspace.id;
  api = apiClient(app.url, workspace.key);
});

const Sent = z.object({ to: z.string(), lineId: z.string(), acceptedAt: z.coerce.date() });

/** The messages that the carrier accepted for these addresses, in order. */
async function carrierLog(addresses: readonly string[]): Promise<z.infer<typeof Sent>[]> {
  const response = await fetch(`${app.url}/simulated/carrier/sent`);
  const { messages } = z.object({ messages: z.array(Sent) }).parse(await response.json());
  return messages
    .filter(({ to }) => addresses.includes(to))
    .toSorted((a, b) => a.acceptedAt.getTime() - b.acceptedAt.getTime());
}

const allSent = (addresses: readonly string[], count = addresses.length) =>
  eventually(async () => {
    const log = await carrierLog(addresses);
    return log.length === count && log;
  });

async function send(fromLineId: string, recipientPhone: string, message = 'Hello'): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', { message, recipientPhone, fromLineId });
  expect(status).toBe(201);
  return body._id;
}

/** When the messages to an address were claimed, which is when their gaps begin. */
async function claimedAt(address: string): Promise<Date[]> {
  const times = await systemDb(app.pools).anyFirst(sql.type(z.object({ startedAt: z.date() }))`
    select started_at from attempts where workspace_id = ${workspaceId} and address = ${address} order by started_at`);
  return [...times];
}

test('a line keeps its gap and the order of arrival', async () => {
  const lineId = await createLine(app, workspaceId);
  await api('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 2 });
  const contacts = [phone(), phone(), phone()];
  for (const to of contacts) await send(lineId, to);

  const log = await allSent(contacts);
  expect(log.map(({ to }) => to)).toEqual(contacts);
  for (const [index, { acceptedAt }] of log.entries()) {
    const [before] = index === 0 ? [] : await claimedAt(contacts[index - 1] ?? '');
    if (!before) continue;
    const gap = lineGapMs({ id: lineId, minGapSeconds: 2 }, before);
    expect(gap).toBeGreaterThanOrEqual(1000);
    expect(acceptedAt.getTime() - before.getTime()).toBeGreaterThanOrEqual(gap);
  }
});

test('a second message to a contact is moved past the contact gap, even on another line', async () => {
  const lines = [await createLine(app, workspaceId), await createLine(app, workspaceId)];
  for (const id of lines) await api('PATCH', `/api/lines/${id}`, { contactGapSeconds: 2 });
  const contact = phone();
  await send(lines[0] ?? '', contact);
  await allSent([contact]);
  const second = await send(lines[1] ?? '', contact, 'Hello again');

  const log = await allSent([contact], 2);
  expect(log.map(({ lineId }) => lineId)).toEqual(lines);
  const [first] = await claimedAt(contact);
  const gapEnd = new Date((first?.getTime() ?? Number.NaN) + 2000);
  expect(log[1]?.acceptedAt.getTime()).toBeGreaterThanOrEqual(gapEnd.getTime());
  const { body } = await api('GET', `/api/messages/${second}`);
  expect(Date.parse(body.scheduledDate)).toBeGreaterThanOrEqual(gapEnd.getTime());
});

test('messages beyond the hourly cap are moved to the next hour with the reason', async () => {
  const lineId = await createLine(app, workspaceId);
  await api('PATCH', `/api/lines/${lineId}`, { hourlyNewConversationsLimit: 2 });
  const contacts = [phone(), phone(), phone(), phone()];
  const ids: string[] = [];
  for (const to of contacts) ids.push(await send(lineId, to));

  const moved = await eventually(async () => {
    const messages = await Promise.all(
      ids.slice(2).map(async (id) => (await api('GET', `/api/messages/${id}`)).body),
    );
    return messages.every(({ holdReason }) => holdReason === 'hourly_new_cap') && messages;
  });
  const log = await carrierLog(contacts);
  expect(log.map(({ to }) => to)).toEqual(contacts.slice(0, 2));
  const nextHour = new Date(
    Math.floor((log[1]?.acceptedAt.getTime() ?? 0) / 3_600_000) * 3_600_000 + 3_600_000,
  );
  for (const { status, scheduledDate } of moved) {
    expect({ status, scheduledDate }).toEqual({ status: 'scheduled', scheduledDate: nextHour.toISOString() });
  }
  const { body } = await api('GET', '/api/lines/by-user');
  expect(body.lines[0].usage).toMatchObject({ newMessages: 2, totalMessages: 2 });
});

test('replies are sent before messages to new contacts, however long those have waited', async () => {
  const lineId = await createLine(app, workspaceId);
  await api('PATCH', `/api/lines/${lineId}`, { isActive: false });
  const [strangers, writer] = [[phone(), phone()], phone()];
  for (const to of strangers) await send(lineId, to);
  await writeIn(app, { lineId, from: writer, text: 'Are you there?' });
  await eventually(async () => (await api('GET', '/api/replies')).body.replies.length === 1);
  await send(lineId, writer, 'Yes');

  await api('PATCH', `/api/lines/${lineId}`, { isActive: true, minGapSeconds: 1 });
  const log = await allSent([...strangers, writer]);
  expect(log.map(({ to }) => to)).toEqual([writer, ...strangers]);
});

test('a pacer continues as new before its history grows long, and keeps sending', async () => {
  const lineId = await createLine(app, workspaceId);
  const first = phone();
  await send(lineId, first);
  await allSent([first]);
  const pacer = app.temporal.workflow.getHandle(linePacerId(lineId));
  const { runId } = await pacer.describe();
  const length = await eventually(async () => {
    const { historyLength, ...description } = await app.temporal.workflow
      .getHandle(linePacerId(lineId))
      .describe();
    if (description.runId !== runId) return true;
    // Each look comes later than the one before.
    for (let signals = 0; signals < 10; signals += 1)
      await signalWorkflow(app.temporal, linePacerId(lineId), workspaceId, 'messagesDue');
    return historyLength > 1000 && historyLength;
  });
  expect(length).toBe(true);
  const second = phone();
  await send(lineId, second);
  await allSent([second]);
});

test('a new line may start 20 conversations on its first day, or its whole limit once one is set', async () => {
  const lineId = await createLine(app, workspaceId, 'imessage', {
    daily_new_limit: 50,
    warmup_started_at: new Date(),
  });
  const contacts = Array.from({ length: 21 }, () => phone());
  const ids: string[] = [];
  for (const to of contacts) ids.push(await send(lineId, to));
  const last = () => api('GET', `/api/messages/${ids.at(-1)}`).then(({ body }) => body);
  const held = await eventually(async () => {
    const message = await last();
    return message.holdReason !== null && message.holdReason !== 'scheduled' && message;
  });
  expect(held).toMatchObject({ status: 'scheduled', holdReason: 'daily_new_cap' });
  expect(held.scheduledDate).toMatch(/T09:00:00\.000Z$/);
  expect((await carrierLog(contacts)).length).toBe(20);

  await api('PATCH', `/api/lines/${lineId}`, { hourlyNewConversationsLimit: 50 });
  await allSent(contacts);
});

test('messages and drips rotate over the same lines, within the eligible ones', async () => {
  const lines = [
    await createLine(app, workspaceId),
    await createLine(app, workspaceId),
    await createLine(app, workspaceId),
  ];
  const taken: string[] = [];
  for (const path of [
    '/api/messages',
    '/api/drip',
    '/api/messages',
    '/api/drip',
    '/api/drip',
    '/api/messages',
  ]) {
    const to = phone();
    const { status } = await api('POST', path, { message: 'Hello', recipientPhone: to });
    expect([201, 202]).toContain(status);
    const message = await eventually(async () => {
      const { messages } = (await api('GET', '/api/messages')).body;
      return messages.find(({ recipientPhone }: { recipientPhone: string }) => recipientPhone === to);
    });
    taken.push(message.fromLineId);
  }
  expect(taken).toEqual([...lines, ...lines]);

  const [, second, third] = lines;
  const eligibleLineIds = [second, third];
  const chosen: string[] = [];
  for (let count = 0; count < 4; count++) {
    const { body } = await api('POST', '/api/messages', {
      message: 'Hi',
      recipientPhone: phone(),
      eligibleLineIds,
    });
    chosen.push(body.fromLineId);
  }
  expect(new Set(chosen)).toEqual(new Set(eligibleLineIds));
});

test('messages to one contact rotate, except that whoever wrote within a day is answered by the line they wrote to', async () => {
  const lines: string[] = [];
  for (let made = 0; made < 3; made += 1) lines.push(await createLine(app, workspaceId));
  const to = phone();
  const lineOf = async (path: string, input: object = {}): Promise<string> => {
    const message = phone();
    const { status } = await api('POST', path, { message, recipientPhone: to, ...input });
    expect([201, 202]).toContain(status);
    const stored = await eventually(async () => {
      const { messages } = (await api('GET', '/api/messages')).body;
      return messages.find((one: { message: string }) => one.message === message);
    });
    return stored.fromLineId;
  };
  const paths = ['/api/messages', '/api/drip', '/api/messages', '/api/drip'];
  const linesOf = async (): Promise<string[]> => {
    const taken: string[] = [];
    for (const path of paths) taken.push(await lineOf(path));
    return taken;
  };
  expect(await linesOf()).toEqual([lines[0], lines[1], lines[2], lines[0]]);
  expect(await lineOf('/api/messages', { stickinessPolicy: 'sticky' })).toBe(lines[0]);

  await writeIn(app, { lineId: lines[2] ?? '', from: to, text: 'Who is this?' });
  const hasWritten = () =>
    systemDb(app.pools).exists(sql.type(z.unknown())`
      select from inbound_messages where workspace_id = ${workspaceId} and address = ${to}`);
  await eventually(hasWritten);
  expect(new Set(await linesOf())).toEqual(new Set([lines[2]]));

  await writeIn(app, { lineId: lines[0] ?? '', from: to, text: 'I am out of office', autoReply: true });
  await eventually(async () =>
    systemDb(app.pools).exists(sql.type(z.unknown())`
      select from inbound_messages where workspace_id = ${workspaceId} and address = ${to} and auto_reply`),
  );
  expect(new Set(await linesOf())).toEqual(new Set([lines[2]]));

  const ofContact = `workspace_id = '${workspaceId}' and address = '${to}'`;
  await age(app.pools, 'inbound_messages', ['received_at'], '25 hours', ofContact);
  await age(app.pools, 'conversations', ['last_inbound_at'], '25 hours', ofContact);
  expect(new Set(await linesOf())).toEqual(new Set(lines));
});

test('opt-outs are checked again before a send', async () => {
  const lineId = await createLine(app, workspaceId);
  await api('PATCH', `/api/lines/${lineId}`, { isActive: false });
  const [leaves, ends] = [phone(), phone()];
  const id = await send(lineId, ends);
  await send(lineId, leaves);
  // As if the opt-out was committed between the message's intake and its turn.
  await systemDb(app.pools).query(sql.type(z.unknown())`
    insert into opt_outs (workspace_id, address, source) values (${workspaceId}, ${ends}, 'api')`);
  await api('PATCH', `/api/lines/${lineId}`, { isActive: true });
  await allSent([leaves]);
  const failed = await eventually(async () => {
    const { body } = await api('GET', `/api/messages/${id}`);
    return body.status === 'failed' && body;
  });
  expect(failed.errorMessage).toBe('recipient_opted_out');
  expect((await carrierLog([ends])).length).toBe(0);
});
