import { sql } from 'slonik';
import { z } from 'zod';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import type { TestApp } from './app.ts';

/** @returns the plans of what `work` reads with `any`; it gets no rows. */
export async function explained(
  { pools }: Pick<TestApp, 'pools'>,
  workspaceId: string,
  work: (db: TenantDb) => Promise<unknown>,
): Promise<string[]> {
  const plans: string[] = [];
  await withTenant(pools, workspaceId, async (db) => {
    const query = Object.assign(Object.create(db) as typeof db, {
      any: async ({ sql: text, values }: { sql: string; values: readonly unknown[] }) => {
        const rows = await db.any({
          ...sql.type(z.object({ queryPlan: z.string().optional() }).loose())`select 1`,
          sql: `explain ${text}`,
          values: values as never,
        });
        plans.push(rows.map((row) => Object.values(row)[0]).join('\n'));
        return [];
      },
    });
    await work(query);
  });
  return plans;
}
