import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { type AuditLog, insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import type { SystemTransaction, TenantDb } from '#db/connection/transactions.ts';
import type { AuditAction, AuditChanges, AuditTarget, NewAuditEntry } from '#domain/accounts/audit.ts';
import type { Caller } from '#domain/accounts/caller.ts';
import { MASK } from '#providers/carriers/secret-config.ts';

/** An object that a request changed. */
export interface AuditedTarget {
  id: string;
  /** For requests of an agency: the workspace whose log records the change. Default: the agency's own log. */
  workspaceId?: string;
  /** Default: the changes that the route declares. */
  action?: AuditAction;
  changes?: AuditChanges;
}

/** What the audit log records about the requests of a route. */
export interface Audit<P, B, A> {
  action: AuditAction;
  target: AuditTarget['type'];
  /**
   * Default: the `id` of the path, or else the workspace or agency itself. `handler`: the handler records it with
   * `audit(db, targets)`, because it opens the transaction, or because only it knows what changed.
   */
  targets?: 'handler' | ((exchange: { params: P; body: B; answer: A }) => readonly AuditedTarget[]);
  /**
   * The body fields whose new values are recorded, `reason` as that of the entry. For other fields, the log records only
   * that they were sent.
   */
  changes?: readonly (keyof B & string)[];
}

// The types are checked where a route is declared.
// oxlint-disable-next-line no-explicit-any
type AnyAudit = Audit<any, any, any>;

export type RecordAudit = (
  db: TenantDb | SystemTransaction,
  targets: readonly AuditedTarget[],
) => Promise<void>;

/** Who makes the changes of a request, and how. */
export const authorOf = ({ actor, via }: Caller): Pick<NewAuditEntry, 'actor' | 'channel'> => ({
  actor,
  channel: via === 'key' ? 'api' : 'session',
});

/** Returns a function that records the changes of a request. */
export function auditRecorder(audit: AnyAudit | undefined, caller: Caller, body: unknown): RecordAudit {
  return async (db, targets) => {
    if (!audit) throw new Error('a route that declares no `audit` records nothing');
    const content = contentOf(body, audit.changes ?? []);
    for (const { id, workspaceId, action = audit.action, changes = content.changes } of targets) {
      await insertAuditEntry(logOf(db, caller, workspaceId), {
        ...authorOf(caller),
        action,
        target: { type: audit.target, id },
        reason: content.reason,
        changes,
      });
    }
  };
}

/** The changed objects, by the route's declaration. */
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

function contentOf(
  body: unknown,
  shown: readonly string[],
): { reason: string | null; changes: AuditChanges } {
  const sent = Object.entries((body ?? {}) as AuditChanges).filter(([, value]) => value !== undefined);
  const changes = Object.fromEntries(
    sent.map(([name, value]) => [name, shown.includes(name) ? value : MASK]),
  );
  if (!shown.includes('reason')) return { reason: null, changes };
  const { reason, ...others } = changes;
  return { reason: typeof reason === 'string' ? reason : null, changes: others };
}
