import { inWorkspace } from '#db/queries/agency.ts';
import { type AuditLog, insertAuditEntry } from '#db/queries/audit-log.ts';
import type { SystemTransaction, TenantDb } from '#db/transactions.ts';
import type { AuditAction, AuditChanges, AuditTarget } from '#domain/audit.ts';
import type { Caller } from '#domain/caller.ts';
import { MASK } from '#providers/carriers/secret-config.ts';

/** What a request changed: by itself, or as one of several. */
export interface AuditedTarget {
  id: string;
  /** Of a request of an agency: in whose log it is recorded. Default: the agency's own. */
  workspaceId?: string;
  /** Default: those of the route. */
  action?: AuditAction;
  changes?: AuditChanges;
}

/** What the audit log records of the requests of a route. */
export interface Audit<P, B, A> {
  action: AuditAction;
  target: AuditTarget['type'];
  /**
   * Default: the `id` of the path, or else the workspace or agency itself. `handler`: the handler records it with
   * `audit(db, targets)`, because it opens the transaction, or because only it knows what changed.
   */
  targets?: 'handler' | ((exchange: { params: P; body: B; answer: A }) => readonly AuditedTarget[]);
  /** The fields of the body of which the new value is recorded. Of others the log says only that they were sent. */
  changes?: readonly (keyof B & string)[];
}

// Each route's own types were checked where it is declared.
// oxlint-disable-next-line no-explicit-any
type AnyAudit = Audit<any, any, any>;

export type RecordAudit = (
  db: TenantDb | SystemTransaction,
  targets: readonly AuditedTarget[],
) => Promise<void>;

/** Records what a request of a caller changes. */
export function auditRecorder(audit: AnyAudit | undefined, caller: Caller, body: unknown): RecordAudit {
  return async (db, targets) => {
    if (!audit) throw new Error('a route that declares no `audit` records nothing');
    for (const { id, workspaceId, action = audit.action, changes } of targets) {
      await insertAuditEntry(logOf(db, caller, workspaceId), {
        actor: caller.actor,
        channel: caller.via === 'key' ? 'api' : 'session',
        action,
        target: { type: audit.target, id },
        changes: changes ?? changesOf(body, audit.changes ?? []),
      });
    }
  };
}

/** What changed by the declaration alone. */
export function auditedTargets(
  { targets }: AnyAudit,
  caller: Caller,
  { params, body, answer }: { params: unknown; body: unknown; answer: unknown },
): readonly AuditedTarget[] {
  if (targets === 'handler') return [];
  if (targets) return targets({ params, body, answer });
  const { id } = (params ?? {}) as { id?: string };
  return [{ id: id ?? (caller.kind === 'agency' ? caller.agency.id : caller.workspace.id) }];
}

function logOf(db: TenantDb | SystemTransaction, caller: Caller, workspaceId?: string): AuditLog {
  if (caller.kind === 'workspace') return { db: db as TenantDb, workspaceId: caller.workspace.id };
  const system = db as SystemTransaction;
  if (workspaceId === undefined) return { db: system, agencyId: caller.agency.id };
  return { db: inWorkspace(system, { id: workspaceId }), workspaceId };
}

function changesOf(body: unknown, shown: readonly string[]): AuditChanges {
  const sent = Object.entries((body ?? {}) as AuditChanges).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent.map(([name, value]) => [name, shown.includes(name) ? value : MASK]));
}
