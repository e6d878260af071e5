interface Page {
  nextCursor: string | null;
}

/** The records in the one array of a page. */
type RecordOf<P> = { [K in keyof P]: P[K] extends readonly (infer T)[] ? T : never }[keyof P];

/**
 * Iterates over the records of all pages:
 *
 *     for await (const message of pages((cursor) => linepace.messages.list({ cursor, status: 'failed' }))) { … }
 *
 * @param load loads a page; without `cursor`, the first one.
 */
export async function* pages<P extends Page>(
  load: (cursor?: string) => Promise<P>,
): AsyncGenerator<RecordOf<P>, void, undefined> {
  let cursor: string | null | undefined;
  do {
    const page: P = await load(cursor ?? undefined);
    const records = Object.values(page).find((value) => Array.isArray(value));
    yield* (records ?? []) as RecordOf<P>[];
    cursor = page.nextCursor;
  } while (cursor !== null);
}
