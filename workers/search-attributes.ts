import type { ConnectionLike } from '@temporalio/client';
import { KIND, LINE_ID, WORKSPACE_ID } from '#workflows/messages/search-attributes.ts';

/** `Keyword` in Temporal's `IndexedValueType`. */
const KEYWORD = 2;

/** Registers the search attributes that workflows are started with; those that exist stay. */
export async function ensureSearchAttributes(connection: ConnectionLike, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = [KIND, LINE_ID, WORKSPACE_ID].filter(({ name }) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map(({ name }) => [name, KEYWORD])),
  });
}
