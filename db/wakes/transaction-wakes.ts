import type { CommonQueryMethods } from 'slonik';
import { isFact, type SignalName } from '#workflows/protocol/signals.ts';
import { deleteWakes, type Wake, writeWakes } from './workflow-wakes.ts';
import { NEVER } from '../connection/timestamp.ts';

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
  /** Set if only messages request the look, which then waits for the end of their hold. */
  messages?: DueMessages | undefined;
  /** Set for the decision of the workflow itself. */
  own?: { seen: Seen; wake: OwnWake };
  /** The row is deleted. */
  leaves?: boolean;
}

/**
 * Collects a transaction's changes to `workflow_wakes` and writes them at its end. So the rows, which many transactions
 * need, are locked for one statement only, in one order, and after all other locks. `writeWakes` has the statement, and says why
 * no wake is lost.
 */
export class Wakes {
  /** How far the clock of the workspace is ahead, in milliseconds. The rows have the real time, in which workflows wait. */
  aheadMs = 0;
  /** The workspaces that have new events. */
  readonly withEvents = new Set<string>();
  /** By workspace and workflow. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #signals: Signal[] = [];
  readonly #afterCommit: (() => void)[] = [];

  get hasEntries(): boolean {
    return this.#entries.size > 0;
  }

  request(workspaceId: string, workflowId: string, at: Date, ...signals: SignalName[]): void {
    this.#merge(workspaceId, workflowId, { at, signals: new Set(signals) });
  }

  /** Wakes a pacer when a message is due, or when the hold on such messages ends. */
  requestForMessage(workspaceId: string, workflowId: string, at: Date, isNew: boolean): void {
    const messages = { known: isNew ? NEVER : at, new: isNew ? at : NEVER };
    const signals = new Set<SignalName>(['messagesDue']);
    this.#merge(workspaceId, workflowId, { at, signals, messages });
  }

  #entriesOf(workspaceId: string): Map<string, Entry> {
    const known = this.#entries.get(workspaceId);
    if (known) return known;
    const entries = new Map<string, Entry>();
    this.#entries.set(workspaceId, entries);
    return entries;
  }

  #merge(workspaceId: string, workflowId: string, { at, signals, messages, leaves = false }: Entry): void {
    const entries = this.#entriesOf(workspaceId);
    const entry = entries.get(workflowId);
    if (!entry) {
      entries.set(workflowId, { at, signals, messages, leaves });
      return;
    }
    entry.leaves ||= leaves;
    if (at < entry.at) entry.at = at;
    for (const signal of signals) entry.signals.add(signal);
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

  /** @param work must not throw. */
  afterCommit(work: () => void): void {
    this.#afterCommit.push(work);
  }

  /** To be called after the commit. */
  runAfterCommit(): void {
    for (const work of this.#afterCommit) work();
  }

  /** Adds the wakes of a savepoint. */
  add(part: Wakes): void {
    for (const [workspaceId, entries] of part.#entries)
      for (const [workflowId, entry] of entries) this.#merge(workspaceId, workflowId, entry);
    this.#signals.push(...part.#signals);
    this.#afterCommit.push(...part.#afterCommit);
    for (const workspaceId of part.withEvents) this.withEvents.add(workspaceId);
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
    const wakes = [...entries].map(([workflowId, entry]) => wakeOf(workflowId, entry, this.aheadMs));
    const stored = await writeWakes(db, workspaceId, wakes);
    for (const { workflowId, wakeAt, lowered: isLowered, carrier } of stored) {
      const entry = entries.get(workflowId);
      const own = entry?.own?.wake;
      if (own) own.at = moved(wakeAt, this.aheadMs);
      else if (entry)
        for (const signal of toSend(entry, isLowered))
          signals.push({ workflowId, workspaceId, signal, carrier });
      if (entry?.leaves || (own?.ended && wakeAt >= NEVER)) removed.push(workflowId);
    }
    await deleteWakes(db, workspaceId, removed);
    return signals;
  }
}

/** What is to be stored for an entry. @param aheadMs how far the clock of its workspace is ahead. */
function wakeOf(workflowId: string, { at, signals, messages, own }: Entry, aheadMs: number): Wake {
  const real = (time: Date | undefined): Date | null => (time ? moved(time, -aheadMs) : null);
  const { all, newContacts } = own?.wake.hold ?? {};
  return {
    workflowId,
    at: moved(at, -aheadMs),
    seen: own?.seen.requestedBy ?? null,
    signal: [...signals].at(-1) ?? null,
    notBefore: real(messages?.known ?? all),
    newNotBefore: real(messages?.new ?? newContacts),
  };
}

const moved = (at: Date, ms: number): Date => (at >= NEVER ? NEVER : new Date(at.getTime() + ms));
const min = (a: Date, b: Date): Date => (b < a ? b : a);

/** All facts; if there are none, one signal for work that is due, if the workflow would look too late. */
function toSend({ signals }: Entry, isLowered: boolean): SignalName[] {
  const facts = [...signals].filter(isFact);
  return facts.length > 0 || !isLowered ? facts : [...signals].slice(0, 1);
}
