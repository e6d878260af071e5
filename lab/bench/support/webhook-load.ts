import { pino } from 'pino';
import { sql } from 'slonik';
import { z } from 'zod';
import { emitEvents } from '../../../db/commands/events/events.ts';
import { createPools, type Pools } from '../../../db/connection/pools.ts';
import { withSystem, withTenant } from '../../../db/connection/transactions.ts';
import { insertWebhooks } from '../../../db/queries/events/webhooks.ts';
import type { Config } from '../../../domain/base/config.ts';
import { EVENT_EXAMPLES } from '../../../domain/events/examples.ts';
import { newId, newUserId, newWorkspaceId } from '../../../domain/base/ids.ts';
import { newWebhookSecret } from '../../../domain/events/webhook-signature.ts';
import { createSecretBox, secretContext } from '../../../providers/secret-box.ts';
import { createTemporalClient, createWaker } from '../../../providers/temporal.ts';

/** Emits webhook events without the sends they report, since sends are not measured. */
export interface WebhookLoad {
  pools: Pools;
  /** Creates a workspace with a webhook for each endpoint. @returns its id. */
  createWorkspace(endpoints: readonly { url: string }[]): Promise<string>;
  /** Commits one event, as a send does. @returns the id of its message and the time of the commit. */
  emit(workspaceId: string): Promise<{ messageId: string; at: number }>;
  /** Commits several events at once. */
  emitMany(workspaceId: string, count: number): Promise<void>;
  close(): Promise<void>;
}

export async function createWebhookLoad(config: Config): Promise<WebhookLoad> {
  const temporal = createTemporalClient(config.temporal);
  const waker = createWaker(temporal, pino({ level: 'error' }));
  const pools = await createPools(config.database, { waker });
  const secrets = createSecretBox(config.encryptionKeys);
  return {
    pools,
    async createWorkspace(endpoints) {
      const id = newWorkspaceId();
      const userId = newUserId();
      await withSystem(pools, async (db) => {
        await db.query(
          sql.type(
            z.unknown(),
          )`insert into users (id, email) values (${userId}, ${`${userId}@example.test`})`,
        );
        await db.query(sql.type(z.unknown())`
          insert into workspaces (id, name, timezone, country, plan, subscription_status, created_by_user_id)
          values (${id}, 'Bench', 'UTC', 'US', 'growth', 'active', ${userId})`);
      });
      await withTenant(pools, id, async (db) => {
        for (const { url } of endpoints) {
          const webhookId = newId();
          const secretSealed = secrets.seal(newWebhookSecret(), secretContext('webhook', id, webhookId));
          const shared = { name: '', url, events: ['message.sent' as const] };
          await insertWebhooks(db, shared, [{ workspaceId: id, id: webhookId, secretSealed }]);
        }
      });
      return id;
    },
    emit: (workspaceId) => emitSent(pools, workspaceId),
    async emitMany(workspaceId, count) {
      const events = Array.from({ length: count }, () => sent(workspaceId));
      await withTenant(pools, workspaceId, (db) => emitEvents(db, events, new Date()));
    },
    async close() {
      await waker.close();
      await Promise.all([pools.close(), temporal.connection.close()]);
    },
  };
}

/** Commits one event, as a send does. @returns the id of its message and the time of the commit. */
export async function emitSent(
  pools: Pools,
  workspaceId: string,
): Promise<{ messageId: string; at: number }> {
  const event = sent(workspaceId);
  await withTenant(pools, workspaceId, (db) => emitEvents(db, [event], new Date()));
  return { messageId: event.messageId, at: performance.now() };
}

const sent = (workspaceId: string) => ({
  ...EVENT_EXAMPLES['message.sent'],
  workspaceId,
  messageId: newId(),
});

export const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? NaN;
