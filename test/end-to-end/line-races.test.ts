import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemDb } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { lock, waitingForLocks } from '#test/support/locks.ts';
import { signIn } from '#test/support/sessions.ts';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

/** Unsent messages of a workspace whose line is not in it. */
const stranded = (workspaceId: string) =>
  systemDb(app.pools).anyFirst(sql.type(z.object({ id: z.string() }))`
    select m.id from messages m
    where m.workspace_id = ${workspaceId} and m.line_id is not null and m.status in ('pending', 'scheduled')
      and not exists (select from lines l where l.workspace_id = m.workspace_id and l.id = m.line_id)`);

describe('a message that is accepted while its line leaves', () => {
  it.each(['delete', 'transfer'])(
    'is never left with a line that is gone (%s)',
    async (action) => {
      const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
      for (let round = 0; round < 25; round += 1) {
        const agency = await createAgency(app);
        const [from, to] = [
          await createWorkspace(app, { agency_id: agency.id }),
          await createWorkspace(app, { agency_id: agency.id }),
        ];
        const lineId = await createLine(app, from.id);
        const owner = apiClient(app.url, await signIn(app, { userId: agency.ownerId }));
        const order = { action, lineId, ...(action === 'transfer' && { targetWorkspaceId: to.id }) };
        const send = (fields: object) =>
          apiClient(app.url, from.key)('POST', '/api/messages', {
            message: 'Hello',
            recipientPhone: phone(),
            scheduledDate,
            ...fields,
          });
        const [left, ...sends] = await Promise.all([
          owner('POST', '/api/agency/lines', order),
          ...[{}, { fromLineId: lineId }, {}, { fromLineId: lineId }].map(send),
        ]);
        expect(left.status).toBe(200);
        // Accepted before it left, or told that there is no such line; never an internal error.
        for (const { status } of sends) expect([201, 400, 404, 409]).toContain(status);
        expect(await stranded(from.id)).toEqual([]);
      }
    },
    120_000,
  );
});

describe('a contact who writes while the line moves', () => {
  it('is heard by one workspace, and the line moves back with all whom it knows', async () => {
    const agency = await createAgency(app);
    const [from, to] = [
      await createWorkspace(app, { agency_id: agency.id }),
      await createWorkspace(app, { agency_id: agency.id }),
    ];
    const lineId = await createLine(app, from.id);
    const contact = phone();
    const move = (targetWorkspaceId: string) =>
      apiClient(app.url, agency.key)('POST', '/api/agency/lines', {
        action: 'transfer',
        lineId,
        targetWorkspaceId,
      });
    const heard = async ({ key }: { key: string }): Promise<string[]> => {
      const { body } = await apiClient(app.url, key)('GET', '/api/replies');
      return body.replies.flatMap(({ recentReplies }: { recentReplies: { message: string }[] }) =>
        recentReplies.map(({ message }) => message),
      );
    };
    await insertRow(app, 'conversations', { workspace_id: from.id, address: contact });
    const held = await lock(app, 'conversations', contact, 'address');
    const first = callBack(app, lineId, replyEvent(contact, 'One'));
    await waitingForLocks(app, 1);
    const moved = move(to.id);
    await Promise.race([moved, waitingForLocks(app, 2)]);
    await held.release();
    expect([await first, (await moved).status]).toEqual([200, 200]);
    expect(await callBack(app, lineId, replyEvent(contact, 'Two'))).toBe(200);
    expect([await heard(from), await heard(to)]).toEqual([['One'], ['Two']]);
    expect((await move(from.id)).status).toBe(200);
  });

  it('can be answered meanwhile: the answer and the move wait for each other in one order', async () => {
    const agency = await createAgency(app);
    const [from, to] = [
      await createWorkspace(app, { agency_id: agency.id }),
      await createWorkspace(app, { agency_id: agency.id }),
    ];
    const lineId = await createLine(app, from.id);
    const contact = phone();
    expect(await callBack(app, lineId, replyEvent(contact, 'Hello'))).toBe(200);
    const held = await lock(app, 'conversations', contact, 'address');
    const answered = apiClient(app.url, from.key)('POST', '/api/inbox/send-reply', {
      phone: contact,
      message: 'Hi',
    });
    await waitingForLocks(app, 1);
    const moved = apiClient(app.url, agency.key)('POST', '/api/agency/lines', {
      action: 'transfer',
      lineId,
      targetWorkspaceId: to.id,
    });
    await Promise.race([moved, waitingForLocks(app, 2)]);
    await held.release();
    expect([(await answered).status, (await moved).status]).toEqual([201, 200]);
    expect(
      await systemDb(app.pools).oneFirst(sql.type(z.object({ deadlocks: z.int() }))`
        select deadlocks from pg_stat_database where datname = current_database()`),
    ).toBe(0);
  });

  it('moves along when both workspaces know the contact', async () => {
    const agency = await createAgency(app);
    const [from, to] = [
      await createWorkspace(app, { agency_id: agency.id }),
      await createWorkspace(app, { agency_id: agency.id }),
    ];
    const lineId = await createLine(app, from.id);
    for (const { id } of [from, to])
      await insertRow(app, 'line_contacts', {
        workspace_id: id,
        line_id: lineId,
        address: '+14155550123',
        since: new Date(),
      });
    const { status } = await apiClient(app.url, agency.key)('POST', '/api/agency/lines', {
      action: 'transfer',
      lineId,
      targetWorkspaceId: to.id,
    });
    expect(status).toBe(200);
  });
});

describe('the sweep', () => {
  it('gives messages whose line is gone to another line', async () => {
    const workspace = await createWorkspace(app);
    const lineId = await createLine(app, workspace.id);
    const recipients = [phone(), phone()];
    const goneId = newId();
    const noLine = await createWorkspace(app);
    for (const [workspaceId, to, lineOfIt] of [
      ...recipients.map((to) => [workspace.id, to, goneId] as const),
      // This one waits until its workspace has a line at all.
      [noLine.id, phone(), null] as const,
    ])
      await insertRow(app, 'messages', {
        workspace_id: workspaceId,
        id: newId(),
        channel: 'imessage',
        status: 'pending',
        line_id: lineOfIt,
        line_pinned: true,
        address: to,
        recipient_phone: to,
        body: 'Stranded',
        source: 'api',
        scheduled_at: new Date(),
      });
    expect(await stranded(workspace.id)).toHaveLength(2);
    await app.temporal.workflow.execute('sweep', { taskQueue: MAIN_QUEUE, workflowId: `sweep-${newId()}` });
    for (const to of recipients) await eventually(async () => (await sentTo(app, to)).length === 1, 30_000);
    expect(await sentTo(app, recipients[0] ?? '')).toMatchObject([{ lineId }]);
  });
});
