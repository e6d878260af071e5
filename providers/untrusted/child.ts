/*
 * The process that runs jobs, one at a time. It has no environment variables, and can read only our code.
 */
import { z } from 'zod';
import { JsonTooComplex } from '#domain/base/untrusted-json.ts';
import { jobs } from './jobs.ts';
import type { Answer, Order } from './processes.ts';

// Terminals and some service managers signal all processes; this one exits with its parent.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => void perform(order).then(answer));
answer('ready');

function answer(message: Answer | 'ready'): void {
  process.send?.(message);
}

async function perform({ job, input }: Order): Promise<Answer> {
  try {
    return { value: await (jobs[job] as (given: unknown) => unknown)(input) };
  } catch (error) {
    if (error instanceof z.ZodError)
      return {
        refused: 'it is not in the expected form',
        issues: error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
      };
    if (error instanceof JsonTooComplex) return { refused: `it ${error.message}`, issues: [] };
    if (error instanceof SyntaxError) return { refused: 'it is not valid JSON', issues: [] };
    // Messages of other errors may quote the content.
    return { refused: `reading it failed: ${error instanceof Error ? error.name : 'Error'}`, issues: [] };
  }
}
