/** How long one piece of work may block the event loop before other work gets a turn, in milliseconds. */
const SLICE_MS = 10;

const waiting: (() => void)[] = [];

/**
 * Resolves in a later turn of the event loop. Each turn admits one waiting task, first come first served, so that
 * many concurrent long requests block the event loop no longer than one does.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(admit);
  });
}

function admit(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(admit);
}

/** Passes items on; others get a turn whenever `SLICE_MS` have passed since the last one. */
export async function* yielding<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item> {
  let begun = performance.now();
  for await (const item of items) {
    if (performance.now() - begun > SLICE_MS) {
      await nextTurn();
      begun = performance.now();
    }
    yield item;
  }
}

/** Like `items.map(work)`; others get a turn whenever it has taken `SLICE_MS`. */
export async function mapInTurns<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let begun = performance.now();
  for (const item of items) {
    if (performance.now() - begun > SLICE_MS) {
      await nextTurn();
      begun = performance.now();
    }
    results.push(work(item, results.length));
  }
  return results;
}

/** Runs a generator to its end; others get a turn whenever it has taken `SLICE_MS`. */
export async function runInTurns<Result>(steps: Generator<void, Result>): Promise<Result> {
  let begun = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - begun > SLICE_MS) {
      await nextTurn();
      begun = performance.now();
    }
  }
}
