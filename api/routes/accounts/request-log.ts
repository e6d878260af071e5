import type { Logger } from 'pino';
import type { Counter } from 'prom-client';
import type { NewRequestRow } from '#db/queries/accounts/request-log.ts';
import type { Caller } from '#domain/accounts/caller.ts';
import { realTime } from '#domain/base/clock.ts';
import { newId } from '#domain/base/ids.ts';
import type { ErrorCode } from '#api/http/errors.ts';

/** A completed request. */
export interface AnsweredRequest {
  caller: Caller;
  /** `path` is the declared template, without values. */
  route: { method: string; path: string };
  /** A request to bulk intake. */
  isBulk: boolean;
  status: number;
  /** The code of the error; null: it succeeded. */
  code: ErrorCode | null;
  requestId: string;
  ms: number;
}

/**
 * Records the requests of workspaces, for `GET /api/requests`. Rows are written in the background every few seconds, and a
 * process that crashes loses its waiting rows. Successful requests to bulk intake with the same key share a row for that
 * time, so that intake costs no row of its own.
 */
export interface RequestLog {
  /** Returns immediately. */
  record(request: AnsweredRequest): void;
  /** Writes the waiting rows. */
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 2000;
/** Rows per statement. */
const BATCH = 500;
/** If more rows wait, the database is too slow or unavailable, and requests are dropped from the log. */
const MAX_WAITING = 10_000;

/** @param dropped counts requests that are missing in the log. */
export function createRequestLog(
  write: (rows: readonly NewRequestRow[]) => Promise<void>,
  logger: Pick<Logger, 'warn'>,
  dropped: Pick<Counter, 'inc'>,
): RequestLog {
  let waiting: NewRequestRow[] = [];
  /** The row that further requests of bulk intake join. */
  let shared = new Map<string, NewRequestRow>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  const add = (row: NewRequestRow): void => {
    waiting.push(row);
    timer ??= setTimeout(() => void flush(), WRITE_EVERY_MS).unref();
  };

  /** Writes the rows that wait now. Those that are added meanwhile have their own time, in which they are shared. */
  async function writeAll(): Promise<void> {
    // Rows that are being written no longer change.
    shared = new Map();
    for (let due = waiting.length; due > 0;) {
      const rows = waiting.slice(0, Math.min(BATCH, due));
      await write(rows);
      waiting = waiting.slice(rows.length);
      due -= rows.length;
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll()
      .catch((error: unknown) => {
        logger.warn({ error, waiting: waiting.length }, 'the request log was not written');
      })
      .finally(() => {
        writing = undefined;
        if (waiting.length > 0) timer ??= setTimeout(() => void flush(), WRITE_EVERY_MS).unref();
      });
    return writing;
  }

  return {
    record(request) {
      const { caller, route, status, isBulk } = request;
      if (caller.kind !== 'workspace') return;
      const isShared = isBulk && status < 400;
      const key = isShared ? `${caller.workspace.id} ${caller.actor.id} ${route.path} ${status}` : '';
      const joined = isShared ? shared.get(key) : undefined;
      if (joined) {
        joined.count += 1;
        joined.durationMs = Math.max(joined.durationMs, Math.round(request.ms));
        return;
      }
      if (waiting.length >= MAX_WAITING) {
        dropped.inc();
        return;
      }
      const row = rowOf(request, caller.workspace.id);
      if (isShared) shared.set(key, row);
      add(row);
    },
    async close() {
      await writing;
      await flush();
    },
  };
}

function rowOf({ caller, route, status, code, requestId, ms }: AnsweredRequest, workspaceId: string) {
  const { type: actorType, id: actorId, name: actorName } = caller.actor;
  const at = realTime();
  return {
    workspaceId,
    id: newId(at),
    at,
    method: route.method,
    path: route.path,
    status,
    code,
    requestId,
    actorType,
    actorId,
    actorName,
    durationMs: Math.round(ms),
    count: 1,
  };
}
