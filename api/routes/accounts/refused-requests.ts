import type { Logger } from 'pino';
import { type AuditLog, insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import type { ApiPools } from '#db/connection/pools.ts';
import { withSystemShare } from '#db/connection/transactions.ts';
import type { Caller } from '#domain/accounts/caller.ts';
import type { ErrorCode } from '#api/http/errors.ts';

/** Records in the audit log which requests of known callers were refused, as forbidden or too frequent. */
export interface RefusedRequests {
  /** Returns at once; the entry is written in the background. */
  record(caller: Caller, routeId: string, code: ErrorCode): void;
}

/** Each process records the same refusal of the same caller once in this time. */
const REPEATED_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

export function createRefusedRequests(
  pools: ApiPools,
  logger: Logger,
  clock: () => number = () => performance.now(),
): RefusedRequests {
  const recorded = new Map<string, number>();

  return {
    record(caller, routeId, code) {
      const owner = caller.kind === 'agency' ? caller.agency.id : caller.workspace.id;
      const refusal = [owner, caller.actor.id, routeId, code].join(' ');
      const last = recorded.get(refusal);
      if (last !== undefined && clock() - last < REPEATED_MS) return;
      if (recorded.size >= MAX_REMEMBERED) recorded.clear();
      recorded.set(refusal, clock());
      void withSystemShare(pools, owner, async (db) => {
        const log: AuditLog = caller.kind === 'agency' ? { db, agencyId: owner } : { db, workspaceId: owner };
        await insertAuditEntry(log, {
          actor: caller.actor,
          channel: caller.via === 'key' ? 'api' : 'session',
          action: 'request.refused',
          target: { type: caller.kind, id: owner },
          changes: { route: routeId, code },
        });
      }).catch((error: unknown) => {
        recorded.delete(refusal);
        logger.warn({ route: routeId, code, error }, 'a refused request was not recorded');
      });
    },
  };
}
