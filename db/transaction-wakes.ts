import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import { isFact, type SignalName } from '#workflows/messages/signals.ts';
import { NoRows } from './rows.ts';
import { formatTimestamp, NEVER } from './timestamp.ts';

/** Signals long-lived workflows. It returns at once and never throws. */
export interface WakeSignals {
  wake(workflowId: string, workspaceId: string, signal: SignalName): void;
}

/** What a workflow knew of the requests for it when it began to look; opaque. */
export interface Seen {
  requestedBy: string;
  wakeAt: Date | null;
}

/** When a workflow looks next, by its own decision. */
export interface OwnWake {
  /** After the commit: what is stored, which is earlier than decided if somebody asked for a look meanwhile. */
  at: Date;
  /** Nothing is kept of it, unless somebody asked for a look meanwhile. */
  readonly ended: boolean;
  /** It is to be confirmed (`confirmRest`): until then the sweep wakes the workflow soon, whenever it looks next. */
  readonly unconfirmed?: boolean;
}

/** A workflow to signal once the transaction is committed. */
interface Signal {
  workflowId: string;
  workspaceId: string;
  signal: SignalName;
}

interface Entry {
  workspaceId: string;
  at: Date;
  /** What it is asked to look for; none where only its row moves along with a line. */
  signals: Set<SignalName>;
  /** Nothing is written when the row says that the workflow looks by then. */
  unlessDue: boolean;
  /** Of a workflow that decides about itself. */
  own?: { seen: Seen; wake: OwnWake };
}

/**
 * What a transaction changes in `workflow_wakes`. Nothing is written before the transaction's end: rows that many
 * transactions need are locked for the time of one statement, in one order, when all other locks are held already.
 */
export class Wakes {
  readonly #entries = new Map<string, Entry>();
  readonly #removed = new Set<string>();
  readonly #signals: Signal[] = [];

  request(workspaceId: string, workflowId: string, at: Date, ...signals: SignalName[]): void {
    this.#merge(workflowId, { workspaceId, at, signals: new Set(signals), unlessDue: false });
  }

  requestUnlessDue(workspaceId: string, workflowId: string, at: Date, signal: SignalName): void {
    this.#merge(workflowId, { workspaceId, at, signals: new Set([signal]), unlessDue: true });
  }

  #merge(workflowId: string, { workspaceId, at, signals, unlessDue }: Entry): void {
    const entry = this.#entries.get(workflowId);
    if (!entry) {
      this.#entries.set(workflowId, { workspaceId, at, signals, unlessDue });
      return;
    }
    if (at < entry.at) entry.at = at;
    for (const signal of signals) entry.signals.add(signal);
    entry.unlessDue &&= unlessDue;
  }

  /** Keeps the row of a workflow that follows its line to a workspace. */
  follow(workspaceId: string, workflowId: string): void {
    this.request(workspaceId, workflowId, NEVER);
  }

  /** The workflow itself has looked, and looks again at `at` unless somebody asks for it. */
  decide(workspaceId: string, workflowId: string, seen: Seen, { at, ...rest }: OwnWake): OwnWake {
    const requested = this.#entries.get(workflowId)?.at ?? at;
    const wake = { at: requested < at ? requested : at, ...rest };
    this.#entries.set(workflowId, {
      workspaceId,
      at: wake.at,
      signals: new Set(),
      unlessDue: false,
      own: { seen, wake },
    });
    return wake;
  }

  /** Signals a workflow without a row of its own after the commit: it is found by other means if that is lost. */
  signal(workflowId: string, ownerId: string, signal: SignalName): void {
    this.#signals.push({ workflowId, workspaceId: ownerId, signal });
  }

  /** Takes over what a part of the transaction requested. */
  add(part: Wakes): void {
    for (const [workflowId, entry] of part.#entries) this.#merge(workflowId, entry);
    for (const workflowId of part.#removed) this.#removed.add(workflowId);
    this.#signals.push(...part.#signals);
  }

  /** Deletes the row of a workflow whose subject is gone. */
  remove(workspaceId: string, workflowId: string): void {
    this.request(workspaceId, workflowId, new Date());
    this.#removed.add(workflowId);
  }

  /** The transaction's last statements. @returns the workflows to signal after the commit. */
  async write(db: CommonQueryMethods): Promise<readonly Signal[]> {
    if (this.#entries.size === 0) return this.#signals;
    const signals = [...this.#signals];
    const removed = [...this.#removed];
    for (const { workflowId, workspaceId, wakeAt, lowered: isLowered } of await this.#upsert(db)) {
      const entry = this.#entries.get(workflowId);
      const own = entry?.own?.wake;
      if (own) own.at = wakeAt;
      else if (entry && !this.#removed.has(workflowId))
        for (const signal of toSend(entry, isLowered)) signals.push({ workflowId, workspaceId, signal });
      if (own?.ended && wakeAt >= NEVER) removed.push(workflowId);
    }
    if (removed.length > 0) {
      await db.query(sql.type(NoRows)`
        delete from workflow_wakes where workflow_id = any(${sql.array(removed, 'text')})`);
    }
    return signals;
  }

  /**
   * A request leaves its transaction's id, also if the workflow looks early enough: the workflow finds it when it
   * writes down its own decision, which was made without that transaction, and then only lowers the time.
   */
  #upsert(db: CommonQueryMethods) {
    const rows = [...this.#entries].map(([workflowId, { workspaceId, at, signals, unlessDue, own }]) => [
      workspaceId,
      workflowId,
      formatTimestamp(at),
      own?.seen.requestedBy ?? null,
      [...signals].at(-1) ?? null,
      unlessDue,
      own?.wake.unconfirmed ?? false,
    ]);
    const decides = sql.fragment`excluded.lowered_by = '0'`;
    const replaces = sql.fragment`(${decides} and w.requested_by = excluded.requested_by)`;
    const lowers = sql.fragment`excluded.wake_at < w.wake_at`;
    return orMoved(
      db.any(sql.type(StoredRow)`
      insert into workflow_wakes as w (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal)
      select r.workspace_id, r.workflow_id, r.at, case when r.unconfirmed then least(r.at, now()) else r.at end + ${GRACE},
        coalesce(r.seen, pg_current_xact_id()), case when r.seen is null then pg_current_xact_id() else '0' end, r.signal
      from ${sql.unnest(rows, ['text', 'text', 'timestamptz', 'xid8', 'text', 'bool', 'bool'])}
        as r (workspace_id, workflow_id, at, seen, signal, unless_due, unconfirmed)
      where not r.unless_due or not exists (
        select from workflow_wakes due where due.workflow_id = r.workflow_id and due.wake_at <= r.at)
      order by r.workflow_id
      on conflict (workflow_id) do update set
        workspace_id = excluded.workspace_id,
        wake_at = case when ${replaces} or ${lowers} then excluded.wake_at else w.wake_at end,
        sweep_at = case when ${replaces} or ${lowers} then excluded.sweep_at else w.sweep_at end,
        lowered_by = case when ${lowers} and not ${decides} then excluded.lowered_by else w.lowered_by end,
        signal = case when ${replaces} then null else coalesce(excluded.signal, w.signal) end,
        requested_by = case when ${decides} then w.requested_by else excluded.requested_by end
      returning workspace_id, workflow_id, wake_at, lowered_by = requested_by lowered`),
    );
  }
}

/** Facts; without any, what makes the workflow look earlier than it would. */
function toSend({ signals }: Entry, isLowered: boolean): SignalName[] {
  const facts = [...signals].filter(isFact);
  return facts.length > 0 || !isLowered ? facts : [...signals].slice(0, 1);
}

const StoredRow = z.object({
  workspaceId: z.string(),
  workflowId: z.string(),
  wakeAt: z.date(),
  lowered: z.boolean(),
});

/** Longer than a healthy workflow takes to look at work that is due. */
export const GRACE = sql.fragment`interval '30 seconds'`;

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * A line that moved to another workspace a moment ago took its row along, which is out of sight from here. Reported as
 * a serialization failure: the transaction is repeated, and finds the line gone.
 */
async function orMoved<T>(query: Promise<T>): Promise<T> {
  return query.catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw Object.assign(new Error('the line has moved to another workspace', { cause: error }), {
      code: '40001',
    });
  });
}
