/** The earlier of two times; null: never. */
export function earliest(a: Date, b: Date | null): Date;
export function earliest(a: Date | null, b: Date | null): Date | null;
export function earliest(a: Date | null, b: Date | null): Date | null {
  return a === null || (b !== null && b < a) ? b : a;
}
