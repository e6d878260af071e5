import { sql } from 'slonik';
import { beforeAll, expect, test } from 'vitest';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { settlePrimary } from '#db/commands/sending/outcomes.ts';
import { NoRows } from '#db/connection/rows.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
// No worker: the test makes the attempts.
beforeAll(async () => void (app = await sharedApp({ worker: false })));

test.each([
  ['is new to the line again', false],
  ['stays known to the line if they wrote meanwhile', true],
])('a contact whose first message was not sent %s', async (_, writes) => {
  const { id, lineId, api } = await createWorkspaceWithLine(app);
  const inTenant = <T>(work: (db: TenantDb) => Promise<T>) => withTenant(app.pools, id, work);
  const address = phone();
  await api('POST', '/api/messages', { message: 'Hello', recipientPhone: address });
  const plan = await inTenant((db) => planSends(db, lineId, 1000, () => new Date()));
  const attempt = plan?.claims[0]?.attempt;
  if (!attempt) throw new Error('nothing was claimed');
  expect(attempt.isNew).toBe(true);
  if (writes) expect(await callBack(app, lineId, replyEvent(address, 'Hello?'))).toBe(200);
  await inTenant((db) => settlePrimary(db, attempt, { kind: 'not_sent', reason: 'not sent' }, new Date()));
  const isKnown = inTenant((db) =>
    db.exists(sql.type(NoRows)`
      select from line_contacts where workspace_id = ${id} and line_id = ${lineId} and address = ${address}`),
  );
  expect(await isKnown).toBe(writes);
});
