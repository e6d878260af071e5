import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertAuditEntry } from '#db/queries/audit-log.ts';
import { NoRows, withSystem, withTenant } from '#db/pool.ts';
import { byOperator, type NewAuditEntry } from '#domain/audit.ts';
import { newId } from '#domain/ids.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const paused = (): NewAuditEntry => ({
  ...byOperator({ by: 'Ada', reason: 'The carrier asked for it' }),
  action: 'line.paused',
  target: { type: 'line', id: newId() },
});

describe('the audit log', () => {
  it('is changed by nobody, and a tenant deletes nothing of it', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    await withTenant(app.pools, workspaceId, (db) => insertAuditEntry({ db, workspaceId }, paused()));
    const statements = {
      update: sql.type(NoRows)`update audit_log set actor_name = 'Eve'`,
      delete: sql.type(NoRows)`delete from audit_log`,
    };
    const asTenant = (name: keyof typeof statements) =>
      withTenant(app.pools, workspaceId, (db) => db.query(statements[name]));
    await expect(asTenant('update')).rejects.toThrow('permission denied');
    await expect(asTenant('delete')).rejects.toThrow('permission denied');
    await expect(withSystem(app.pools, (db) => db.query(statements.update))).rejects.toThrow(
      'permission denied',
    );
    const other = await createWorkspace(app);
    await expect(
      withTenant(app.pools, other.id, (db) => insertAuditEntry({ db, workspaceId }, paused())),
    ).rejects.toThrow('row-level security');
  });

  it('of an agency is changed by nobody either', async () => {
    const { id: agencyId } = await createAgency(app);
    await withSystem(app.pools, (db) => insertAuditEntry({ db, agencyId }, paused()));
    await expect(
      withSystem(app.pools, (db) =>
        db.query(sql.type(NoRows)`update agency_audit_log set actor_name = 'Eve'`),
      ),
    ).rejects.toThrow('permission denied');
  });
});
