import { type CommonQueryMethods, sql } from 'slonik';
import { LINE_SIGNALS, type LineSignal, type SignalCounts, signalDay } from '#domain/lines/line-signals.ts';
import { recordset } from './recordset.ts';
import { NoRows } from './rows.ts';

interface Counted {
  lineId: string;
  day: string;
  counts: Partial<SignalCounts>;
}

/**
 * Collects what a transaction adds to `line_signals` and writes it before its wakes, in one statement and in the order of
 * lines and days. So these rows, which transactions of a line share, are locked briefly, and after everything else but
 * `workflow_wakes`: two transactions never wait for each other.
 */
export class LineSignals {
  readonly #counted = new Map<string, Counted>();

  /** @param at the time whose UTC day counts. */
  add(lineId: string, at: Date, counts: Partial<SignalCounts>): void {
    this.addToDay(lineId, signalDay(at), counts);
  }

  addToDay(lineId: string, day: string, counts: Partial<SignalCounts>): void {
    const key = `${lineId} ${day}`;
    const sum = this.#counted.get(key) ?? { lineId, day, counts: {} };
    for (const [name, count] of Object.entries(counts) as [LineSignal, number][])
      sum.counts[name] = (sum.counts[name] ?? 0) + count;
    this.#counted.set(key, sum);
  }

  /** Adds the signals of a savepoint. */
  addAll(part: LineSignals): void {
    for (const { lineId, day, counts } of part.#counted.values()) this.addToDay(lineId, day, counts);
  }

  async write(db: CommonQueryMethods, workspaceId: string): Promise<void> {
    const rows = [...this.#counted]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { lineId, day, counts }]) => ({ workspaceId, lineId, day, ...counts }))
      .filter((row) => LINE_SIGNALS.some((name) => row[name]));
    if (rows.length === 0) return;
    const columns = LINE_SIGNALS.map((name) => sql.identifier([name]));
    const comma = sql.fragment`, `;
    await db.query(sql.type(NoRows)`
      insert into line_signals as s (workspace_id, line_id, day, ${sql.join(columns, comma)})
      select workspace_id, line_id, day, ${sql.join(
        columns.map((column) => sql.fragment`coalesce(${column}, 0)`),
        comma,
      )}
      from ${recordset('line_signals', rows)}
      order by line_id, day
      on conflict (workspace_id, line_id, day) do update set ${sql.join(
        columns.map((column) => sql.fragment`${column} = s.${column} + excluded.${column}`),
        comma,
      )}`);
  }
}
