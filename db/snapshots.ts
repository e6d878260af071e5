/** A `pg_snapshot`: which transactions had ended when it was taken. */
export interface Snapshot {
  /** No transaction from this one on had ended. */
  readonly end: bigint;
  /** Earlier transactions that had not ended either, ascending. */
  readonly running: readonly bigint[];
}

/** @param text as PostgreSQL writes it: `10:20:10,14,15`. */
export function parseSnapshot(text: string): Snapshot {
  const [, end = '', running = ''] = text.split(':');
  return { end: BigInt(end), running: running === '' ? [] : running.split(',').map(BigInt) };
}

export const formatSnapshot = ({ end, running }: Snapshot): string =>
  `${running[0] ?? end}:${end}:${running.join(',')}`;

/** The snapshot of an earlier moment, when the given transaction and all later ones had not ended. */
export const cutSnapshot = ({ end, running }: Snapshot, before: bigint): Snapshot => ({
  end: before < end ? before : end,
  running: running.filter((transaction) => transaction < before),
});
