/**
 * The number of characters to insert, delete, replace or swap with a neighbour that make one text of another (optimal string
 * alignment). Its time is proportional to the product of their lengths, so both are to be short.
 */
export function editDistance(a: string, b: string): number {
  const [from, to] = [Array.from(a), Array.from(b)];
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (const [i, character] of from.entries()) {
    const row = [i + 1];
    rows.push(row);
    for (const [j, other] of to.entries()) {
      const isSwap = i > 0 && j > 0 && character === to[j - 1] && from[i - 1] === other;
      row.push(
        Math.min(
          at(i, j + 1) + 1,
          at(i + 1, j) + 1,
          at(i, j) + (character === other ? 0 : 1),
          isSwap ? at(i - 1, j - 1) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}
