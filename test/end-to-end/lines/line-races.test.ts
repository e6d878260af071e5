import { sql } from 'slonik';
import { z } from 'zod';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { removeLine, transferLine } from '#test/support/agency-lines.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { deadlockCount, lock, race } from '#test/support/locks.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { runSweep } from '#test/support/workflows.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

/** The unsent messages of a workspace whose line is not in the workspace. */
const strandedMessages = (workspaceId: string) =>
  systemDb(app.pools).anyFirst(sql.type(z.object({ id: z.string() }))`
    select m.id from messages m
    where m.workspace_id = ${workspaceId} and m.line_id is not null and m.status in ('pending', 'scheduled')
      and not exists (select from lines l where l.workspace_id = m.workspace_id and l.id = m.line_id)`);

describe('a message accepted while its line is removed', () => {
  it.each(['delete', 'transfer'] as const)(
    'never stays with the removed line (%s)',
    async (action) => {
      const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
      for (let round = 0; round < 25; round += 1) {
        const { agency, first: from, second: to } = await createAgencyWithTwoWorkspaces(app);
        const lineId = await createLine(app, from.id);
        const owner = await sessionClient(app, { userId: agency.ownerId });
        const send = (fields: object) =>
          from.api('POST', '/api/messages', {
            message: 'Hello',
            recipientPhone: phone(),
            scheduledDate,
            ...fields,
          });
        const [removed, ...sends] = await Promise.all([
          removeLine(owner, lineId, action, to),
          ...[{}, { fromLineId: lineId }, {}, { fromLineId: lineId }].map(send),
        ]);
        expect(removed.status).toBe(200);
        // A message is accepted before the line leaves or refused for want of a line; it never gets an internal error.
        for (const { status } of sends) expect([201, 400, 404, 409]).toContain(status);
        expect(await strandedMessages(from.id)).toEqual([]);
      }
    },
    120_000,
  );
});

describe('a line that is transferred while a contact writes', () => {
  it('stores each reply in one workspace, and can be transferred back', async () => {
    const { agency, first: from, second: to } = await createAgencyWithTwoWorkspaces(app);
    const lineId = await createLine(app, from.id);
    const contact = phone();
    const repliesTo = async ({ api }: TestWorkspace): Promise<string[]> => {
      const { body } = await api('GET', '/api/replies');
      return body.replies.flatMap(({ recentReplies }: { recentReplies: { message: string }[] }) =>
        recentReplies.map(({ message }) => message),
      );
    };
    await insertRow(app, 'conversations', { workspace_id: from.id, address: contact });
    const [first, transferred] = await race(
      app,
      await lock(app, 'conversations', contact, 'address'),
      () => callBack(app, lineId, replyEvent(contact, 'One')),
      () => transferLine(agency.api, lineId, to),
    );
    expect([first, transferred.status]).toEqual([200, 200]);
    expect(await callBack(app, lineId, replyEvent(contact, 'Two'))).toBe(200);
    expect([await repliesTo(from), await repliesTo(to)]).toEqual([['One'], ['Two']]);
    expect((await transferLine(agency.api, lineId, from)).status).toBe(200);
  });

  it('causes no deadlock with a reply that is sent from the inbox', async () => {
    const { agency, first: from, second: to } = await createAgencyWithTwoWorkspaces(app);
    const lineId = await createLine(app, from.id);
    const contact = phone();
    expect(await callBack(app, lineId, replyEvent(contact, 'Hello'))).toBe(200);
    const [sent, transferred] = await race(
      app,
      await lock(app, 'conversations', contact, 'address'),
      () => from.api('POST', '/api/inbox/send-reply', { phone: contact, message: 'Hi' }),
      () => transferLine(agency.api, lineId, to),
    );
    expect([sent.status, transferred.status]).toEqual([201, 200]);
    expect(await deadlockCount(app)).toBe(0);
  });

  it('can be transferred to a workspace that already knows the contact', async () => {
    const { agency, first: from, second: to } = await createAgencyWithTwoWorkspaces(app);
    const lineId = await createLine(app, from.id);
    for (const { id } of [from, to])
      await insertRow(app, 'line_contacts', {
        workspace_id: id,
        line_id: lineId,
        address: '+14155550123',
        since: new Date(),
      });
    expect((await transferLine(agency.api, lineId, to)).status).toBe(200);
  });
});

test('an agency sees a line that is being transferred exactly once', async () => {
  const { agency, first } = await createAgencyWithTwoWorkspaces(app);
  // Between the two, so that there is much to list between where the line leaves and where it arrives.
  const others = [];
  for (let number = 0; number < 12; number += 1)
    others.push(await createWorkspace(app, { agency_id: agency.id }));
  const last = others.at(-1) ?? first;
  const lineId = await createLine(app, first.id);
  const shown: number[] = [];
  const list = async (): Promise<void> => {
    const { body } = await agency.api('GET', '/api/agency/lines');
    shown.push(body.lines.filter(({ _id }: { _id: string }) => _id === lineId).length);
  };
  const listed = (async () => {
    while (shown.length < 60) await Promise.all([list(), list(), list()]);
  })();
  for (let moves = 0; shown.length < 60; moves += 1)
    expect((await transferLine(agency.api, lineId, moves % 2 === 0 ? last : first)).status).toBe(200);
  await listed;
  expect(shown.filter((times) => times !== 1)).toEqual([]);
});

describe('the sweep', () => {
  it('assigns messages whose line no longer exists to another line', async () => {
    const workspace = await createWorkspace(app);
    const lineId = await createLine(app, workspace.id);
    const recipients = [phone(), phone()];
    const goneId = newId();
    const noLine = await createWorkspace(app);
    for (const [workspaceId, to, lineOfIt] of [
      ...recipients.map((to) => [workspace.id, to, goneId] as const),
      // This message waits until its workspace has a line.
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
    expect(await strandedMessages(workspace.id)).toHaveLength(2);
    await runSweep(app);
    for (const to of recipients) await eventually(async () => (await sentTo(app, to)).length === 1);
    expect(await sentTo(app, recipients[0] ?? '')).toMatchObject([{ lineId }]);
  });
});
