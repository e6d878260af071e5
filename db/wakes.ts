import { NoRows } from '#db/rows.ts';
import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import { isFact, type SignalName } from '#workflows/messages/signals.ts';
import type { SystemDb, TenantDb } from './transactions.ts';
import { formatTimestamp, NEVER } from './timestamp.ts';

/** Signals long-lived workflows. It returns at once and never throws. */
export interface WakeSignals {
  wake(workflowId: string, workspaceId: string, signal: SignalName): void;
}

/**
 * Has a workflow look at its tables at `at`, or earlier. Written at the end of this transaction, with the signal's name;
 * once that is committed the workflow gets the signal: a fact always, work that is due only when the workflow does not
 * look in time by itself.
 */
export function wake(db: TenantDb, workflowId: string, at: Date, signal: SignalName): void {
  db.wakes.request(db.workspaceId, workflowId, at, signal);
}

/**
 * As `wake`, for a workflow that many transactions wake at once: none of them waits for another. While the row says that
 * the workflow looks by then anyway, nothing is written and no row is locked. Only for workflows that rest by
 * `decideToRest`, which finds what such a transaction adds.
 */
export function wakeUnlessDue(db: TenantDb, workflowId: string, at: Date, signal: SignalName): void {
  db.wakes.requestUnlessDue(db.workspaceId, workflowId, at, signal);
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
const GRACE = sql.fragment`interval '30 seconds'`;

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

const SeenRow = z.object({ requestedBy: z.string(), wakeAt: z.date() });

/** Read before a workflow looks at anything else; without a lock. */
export async function seenWake(db: TenantDb, workflowId: string): Promise<Seen> {
  const row = await db.maybeOne(sql.type(SeenRow)`
    select requested_by::text requested_by, wake_at from workflow_wakes
    where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId}`);
  return row ?? { requestedBy: '0', wakeAt: null };
}

/** A workflow rests as it decided: the sweep leaves it alone until then. */
export async function confirmRest(db: TenantDb, workflowId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workflow_wakes set sweep_at = wake_at + ${GRACE}
    where workspace_id = ${db.workspaceId} and workflow_id = ${workflowId} and wake_at > now()`);
}

const WorkflowIdRow = z.object({ workflowId: z.string() });

/** Those of a line's workflows that have a row. */
export async function knownWakes(db: TenantDb, workflowIds: readonly string[]): Promise<string[]> {
  const known = await db.anyFirst(sql.type(WorkflowIdRow)`
    select workflow_id from workflow_wakes
    where workspace_id = ${db.workspaceId} and workflow_id = any(${sql.array([...workflowIds], 'text')})`);
  return [...known];
}

/** A workflow that is only queued is not signalled every minute: the time between its signals doubles up to this. */
const LONGEST_PAUSE = sql.fragment`interval '15 minutes'`;

const OverdueRow = StoredRow.pick({ workspaceId: true, workflowId: true }).extend({
  signal: z.string().nullable(),
});

/**
 * Claims workflows whose time has passed without their having looked: a crash came between a commit and its signal.
 * Each goes to the end of the queue, so that those which cannot be woken do not keep others waiting.
 * @returns `signal`: the last one that it was to get; null: its own time has come.
 */
export async function claimOverdue(
  db: SystemDb,
  limit: number,
): Promise<{ workspaceId: string; workflowId: string; signal: string | null }[]> {
  const rows = await db.any(sql.type(OverdueRow)`
    with overdue as materialized (
      select workflow_id from workflow_wakes where sweep_at < now() and sweep_at < 'infinity'
      order by sweep_at limit ${limit} for update skip locked
    )
    update workflow_wakes w set sweep_at = now() + case
        when wake_at < now() then least(now() - wake_at, ${LONGEST_PAUSE}) else ${LONGEST_PAUSE} end
    from overdue where w.workflow_id = overdue.workflow_id
    returning w.workspace_id, w.workflow_id, w.signal`);
  return [...rows];
}
