import type { ConnectionLike } from '@temporalio/client';
import type { Logger } from 'pino';
import { LINE_ID, STATE, WORKSPACE_ID } from '#workflows/protocol/search-attributes.ts';

/** `Keyword` in Temporal's `IndexedValueType`. */
const KEYWORD = 2;
const NAMES = [LINE_ID, STATE, WORKSPACE_ID].map(({ name }) => name);

/**
 * Registers the search attributes of the workflows, unless they exist. On a managed Temporal only the owner of the
 * namespace may register them; without them, workflows run and are found by their ids.
 */
export async function ensureSearchAttributes(
  connection: ConnectionLike,
  namespace: string,
  logger: Logger,
): Promise<void> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = NAMES.filter((name) => !(name in (customAttributes ?? {})));
    if (missing.length === 0) return;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    logger.warn(
      { error, namespace, searchAttributes: NAMES },
      'the search attributes could not be registered; register them as Keyword to find workflows by them',
    );
  }
}
