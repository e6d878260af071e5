import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import { NO_CARRIER } from '#domain/line.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import { isFact, type SignalName } from '#workflows/messages/signals.ts';
import { NoRows } from './rows.ts';
import { formatTimestamp, NEVER } from './timestamp.ts';

/** Signals long-lived workflows. It returns at once and never throws. */
export interface WakeSignals {
  /** @param carrier of the line of a pacer; null: unknown, or the workflow is not a pacer. */
  wake(workflowId: string, workspaceId: string, signal: SignalName, carrier?: string | null): void;
}

/** The wakes of a workflow that were visible when its look began. Opaque. */
export interface Seen {
  requestedBy: string;
  wakeAt: Date | null;
}

/**
 * Until when no message of a line is sent, and none to a new contact; absent or past: such messages are not held. Ends by
 * itself only at that time: whatever ends it earlier must wake the pacer with `wake` in the same transaction.
 */
export interface MessageHold {
  all?: Date | undefined;
  newContacts?: Date | undefined;
}

/** When the first message of a request is due, by its lane. */
interface DueMessages {
  known: Date;
  new: Date;
}

/** The next look of a workflow, by its own decision. */
export interface OwnWake {
  /** After `write`: the stored time, which is earlier than decided if somebody woke the workflow in between. */
  at: Date;
  /** The row is deleted, unless somebody woke the workflow in between. */
  readonly ended: boolean;
  /** Until `confirmRest`, the sweep soon wakes the workflow, whatever its next look is. */
  readonly unconfirmed?: boolean;
  readonly hold?: MessageHold | undefined;
}

/** A workflow to signal after the commit. */
interface Signal {
  workflowId: string;
  workspaceId: string;
  signal: SignalName;
  carrier: string | null;
}

interface Entry {
  at: Date;
  signals: Set<SignalName>;
  /** Nothing is written if the workflow looks by then anyway. */
  unlessDue: boolean;
  /** Set if only messages request the look, which then waits for the end of their hold. */
  messages?: DueMessages | undefined;
  /** Set for the decision of the workflow itself. */
  own?: { seen: Seen; wake: OwnWake };
  /** The row is deleted. */
  leaves?: boolean;
}

/**
 * Collects a transaction's changes to `workflow_wakes` and writes them at its end. So the rows, which many transactions
 * need, are locked for one statement only, in one order, and after all other locks.
 */
export class Wakes {
  /** How far the clock of the workspace is ahead, in milliseconds. The rows have the real time, in which workflows wait. */
  aheadMs = 0;
  /** By workspace and workflow. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #signals: Signal[] = [];
  readonly #afterCommit: (() => void)[] = [];

  get hasEntries(): boolean {
    return this.#entries.size > 0;
  }

  request(workspaceId: string, workflowId: string, at: Date, ...signals: SignalName[]): void {
    this.#merge(workspaceId, workflowId, { at, signals: new Set(signals), unlessDue: false });
  }

  requestUnlessDue(workspaceId: string, workflowId: string, at: Date, signal: SignalName): void {
    this.#merge(workspaceId, workflowId, { at, signals: new Set([signal]), unlessDue: true });
  }

  /** Wakes a pacer when a message is due, or when the hold on such messages ends. */
  requestForMessage(workspaceId: string, workflowId: string, at: Date, isNew: boolean): void {
    const messages = { known: isNew ? NEVER : at, new: isNew ? at : NEVER };
    const signals = new Set<SignalName>(['messagesDue']);
    this.#merge(workspaceId, workflowId, { at, signals, unlessDue: false, messages });
  }

  #entriesOf(workspaceId: string): Map<string, Entry> {
    const known = this.#entries.get(workspaceId);
    if (known) return known;
    const entries = new Map<string, Entry>();
    this.#entries.set(workspaceId, entries);
    return entries;
  }

  #merge(
    workspaceId: string,
    workflowId: string,
    { at, signals, unlessDue, messages, leaves = false }: Entry,
  ): void {
    const entries = this.#entriesOf(workspaceId);
    const entry = entries.get(workflowId);
    if (!entry) {
      entries.set(workflowId, { at, signals, unlessDue, messages, leaves });
      return;
    }
    entry.leaves ||= leaves;
    if (at < entry.at) entry.at = at;
    for (const signal of signals) entry.signals.add(signal);
    entry.unlessDue &&= unlessDue;
    entry.messages = entry.messages &&
      messages && {
        known: min(entry.messages.known, messages.known),
        new: min(entry.messages.new, messages.new),
      };
  }

  /** Deletes the row of a workflow whose line leaves the workspace. */
  leave(workspaceId: string, workflowId: string): void {
    this.#merge(workspaceId, workflowId, {
      at: NEVER,
      signals: new Set(),
      unlessDue: false,
      leaves: true,
    });
  }

  /** Records the workflow's own decision to look again at `at`. */
  decide(workspaceId: string, workflowId: string, seen: Seen, { at, ...rest }: OwnWake): OwnWake {
    const entries = this.#entriesOf(workspaceId);
    const requested = entries.get(workflowId)?.at ?? at;
    const wake = { at: requested < at ? requested : at, ...rest };
    entries.set(workflowId, {
      at: wake.at,
      signals: new Set(),
      unlessDue: false,
      own: { seen, wake },
    });
    return wake;
  }

  /**
   * Signals a workflow after the commit whose row a statement of the transaction has written (`buffer_drips`), or that has none:
   * if the signal is lost, the sweep finds its work otherwise.
   */
  signal(workflowId: string, ownerId: string, signal: SignalName): void {
    this.#signals.push({ workflowId, workspaceId: ownerId, signal, carrier: null });
  }

  /** @param tell announces the change; it must not throw. */
  afterCommit(tell: () => void): void {
    this.#afterCommit.push(tell);
  }

  /** To be called after the commit. */
  tell(): void {
    for (const tell of this.#afterCommit) tell();
  }

  /** Adds the wakes of a savepoint. */
  add(part: Wakes): void {
    for (const [workspaceId, entries] of part.#entries)
      for (const [workflowId, entry] of entries) this.#merge(workspaceId, workflowId, entry);
    this.#signals.push(...part.#signals);
    this.#afterCommit.push(...part.#afterCommit);
  }

  /** Runs the transaction's last statements. @returns the workflows to signal after the commit. */
  async write(db: CommonQueryMethods): Promise<readonly Signal[]> {
    const signals = [...this.#signals];
    for (const workspaceId of [...this.#entries.keys()].toSorted())
      signals.push(...(await this.#writeOf(db, workspaceId, this.#entriesOf(workspaceId))));
    return signals;
  }

  async #writeOf(
    db: CommonQueryMethods,
    workspaceId: string,
    entries: ReadonlyMap<string, Entry>,
  ): Promise<Signal[]> {
    const signals: Signal[] = [];
    const removed: string[] = [];
    for (const { workflowId, wakeAt, lowered: isLowered, carrier } of await this.#upsert(
      db,
      workspaceId,
      entries,
    )) {
      const entry = entries.get(workflowId);
      const own = entry?.own?.wake;
      if (own) own.at = moved(wakeAt, this.aheadMs);
      else if (entry)
        for (const signal of toSend(entry, isLowered))
          signals.push({ workflowId, workspaceId, signal, carrier });
      if (entry?.leaves || (own?.ended && wakeAt >= NEVER)) removed.push(workflowId);
    }
    if (removed.length > 0) {
      await db.query(sql.type(NoRows)`
        delete from workflow_wakes
        where workspace_id = ${workspaceId} and workflow_id = any(${sql.array(removed, 'text')})`);
    }
    return signals;
  }

  /**
   * A wake always stores its transaction's id, even if the workflow looks early enough. A workflow that writes its
   * decision finds the id of a transaction that its look did not see, and then only lowers the time.
   *
   * `unlessDue` is for work that an earlier statement of this transaction wrote. Then the transaction had its id before
   * this statement took its snapshot. A workflow that decides to rest waits for all transactions with an id
   * (`decideToRest`): either this statement sees that decision, or the workflow's second look sees the work. Neither is
   * so if the check and the insert of the work are one statement, or in the other order: the wake is lost. The function
   * `buffer_drips` (db/migrations/0010_messages.sql) does the same within one call, by later statements.
   *
   * A message that its line holds brings the next look forward to the end of the hold only, which is mostly not before it,
   * so nobody is signaled. A request for messages has their due times in `held_until` and `held_new_until`. No wake is lost:
   * - A hold is stored by a decision that saw all requests (`replaces`), hence all changes of the line that they report.
   * - It counts until the next request that is not for messages (`held_for`). Whatever ends a hold before its time makes one.
   * - So a message finds a hold only if nothing has ended it since. If something does later, its request comes after the
   *   message's, and the row's lock puts their commits in that order: the look that follows sees both.
   * - A look that did not see a message finds its id in `requested_by` and puts nothing off, nor stores a hold.
   */
  #upsert(db: CommonQueryMethods, workspaceId: string, entries: ReadonlyMap<string, Entry>) {
    const rows = [...entries].map(([workflowId, { at, signals, unlessDue, messages, own }]) => {
      const { all = null, newContacts = null } = own?.wake.hold ?? {};
      return [
        workflowId,
        formatTimestamp(moved(at, -this.aheadMs)),
        own?.seen.requestedBy ?? null,
        [...signals].at(-1) ?? null,
        unlessDue,
        own?.wake.unconfirmed ?? false,
        ...[messages?.known ?? all, messages?.new ?? newContacts].map(
          (time) => time && formatTimestamp(moved(time, -this.aheadMs)),
        ),
      ];
    });
    const decides = sql.fragment`excluded.lowered_by = '0'`;
    const replaces = sql.fragment`(${decides} and w.requested_by = excluded.requested_by)`;
    const isHeld = sql.fragment`
      (not ${decides} and excluded.held_until is not null and w.held_for = w.requested_by)`;
    const at = sql.fragment`case when ${isHeld} then least(
      greatest(excluded.held_until, w.held_until),
      greatest(excluded.held_new_until, w.held_until, w.held_new_until)) else excluded.wake_at end`;
    const lowers = sql.fragment`${at} < w.wake_at`;
    // The insert is within a with clause, because a distributed database resolves the parameters of a conflict only there. `mine` is
    // of its select, so that it is read on the node that has the workspace, and no other node takes part.
    return db.any(sql.type(StoredRow)`
      with written as (
        insert into workflow_wakes as w (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by, signal,
          held_until, held_new_until, held_for)
        with mine as materialized (select pg_current_xact_id_if_assigned() is not null has_written)
        select ${workspaceId}, r.workflow_id, r.at, case when r.unconfirmed then least(r.at, now()) else r.at end + ${GRACE},
          coalesce(r.seen, pg_current_xact_id()), case when r.seen is null then pg_current_xact_id() else '0' end, r.signal,
          r.held_until, r.held_new_until, coalesce(r.seen, '0')
        from ${sql.unnest(rows, ['text', 'timestamptz', 'xid8', 'text', 'bool', 'bool', 'timestamptz', 'timestamptz'])}
          as r (workflow_id, at, seen, signal, unless_due, unconfirmed, held_until, held_new_until), mine
        where not (r.unless_due and mine.has_written) or not exists (
          select from workflow_wakes due
          where due.workspace_id = ${workspaceId} and due.workflow_id = r.workflow_id and due.wake_at <= r.at)
        order by r.workflow_id
        on conflict (workspace_id, workflow_id) do update set
          wake_at = case when ${replaces} or ${lowers} then ${at} else w.wake_at end,
          sweep_at = case when ${isHeld} and ${lowers} then after_grace(${at})
            when ${replaces} or ${lowers} then excluded.sweep_at else w.sweep_at end,
          lowered_by = case when ${lowers} and not ${decides} then excluded.lowered_by else w.lowered_by end,
          signal = case when ${replaces} then null else coalesce(excluded.signal, w.signal) end,
          requested_by = case when ${decides} then w.requested_by else excluded.requested_by end,
          held_until = case when ${replaces} then excluded.held_until else w.held_until end,
          held_new_until = case when ${replaces} then excluded.held_new_until else w.held_new_until end,
          held_for = case when ${replaces} or ${isHeld} then excluded.requested_by else w.held_for end
        returning w.workflow_id, w.wake_at, w.lowered_by = w.requested_by lowered
      )
      select workflow_id, wake_at, lowered, case
        when lowered and starts_with(workflow_id, ${linePacerId('')}) then (
          select nullif(l.carrier, ${NO_CARRIER}) from lines l
          where l.workspace_id = ${workspaceId} and l.id = split_part(written.workflow_id, ':', 2)
        ) end carrier
      from written`);
  }
}

const moved = (at: Date, ms: number): Date => (at >= NEVER ? NEVER : new Date(at.getTime() + ms));
const min = (a: Date, b: Date): Date => (b < a ? b : a);

/** All facts; if there are none, one signal for work that is due, if the workflow would look too late. */
function toSend({ signals }: Entry, isLowered: boolean): SignalName[] {
  const facts = [...signals].filter(isFact);
  return facts.length > 0 || !isLowered ? facts : [...signals].slice(0, 1);
}

const StoredRow = z.object({
  workflowId: z.string(),
  wakeAt: z.date(),
  lowered: z.boolean(),
  /** So that a pacer need not look it up when it starts. */
  carrier: z.string().nullable(),
});

/** Longer than a healthy workflow takes to look at due work. */
const GRACE = sql.fragment`interval '30 seconds'`;
