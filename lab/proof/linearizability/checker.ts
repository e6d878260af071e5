/** One request as its client saw it. Times are in the client's clock. */
export interface Operation<I, O> {
  input: I;
  /** undefined: no response came, so it may have taken effect at any time since, or never. */
  output: O | undefined;
  from: number;
  /** Infinity without a response. */
  to: number;
}

/** What one object does when requests come one after the other. */
export interface Model<S, I, O> {
  initial: S;
  /**
   * @returns the states in which the object may be after a request with this response, [] if it never responds so.
   * Without a response: the state after the request.
   */
  step(state: S, input: I, output: O | undefined): S[];
}

/**
 * Whether the requests of concurrent clients to one object can be put in an order, each between its start and its end, in
 * which the model gives the same responses (Wing and Gong, with Lowe's memory of what was tried).
 */
export function isLinearizable<S, I, O>(model: Model<S, I, O>, history: readonly Operation<I, O>[]): boolean {
  const tried = new Set<string>();
  const everything = (1n << BigInt(history.length)) - 1n;

  function canContinue(left: bigint, state: S): boolean {
    const waiting = history.flatMap((operation, index) =>
      left & (1n << BigInt(index)) ? [{ operation, bit: 1n << BigInt(index) }] : [],
    );
    if (waiting.every(({ operation }) => operation.output === undefined)) return true;
    const known = `${left} ${JSON.stringify(state)}`;
    if (tried.has(known)) return false;
    tried.add(known);
    // Nothing that started after another one had ended comes before it.
    const firstEnd = Math.min(...waiting.map(({ operation }) => operation.to));
    return waiting
      .filter(({ operation }) => operation.from <= firstEnd)
      .some(({ operation: { input, output }, bit }) =>
        model.step(state, input, output).some((next) => canContinue(left & ~bit, next)),
      );
  }
  return canContinue(everything, model.initial);
}
