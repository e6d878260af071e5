import { sql } from 'slonik';
import { sendAgain } from '#db/commands/sending/outcomes.ts';
import { IdRow } from '#db/connection/rows.ts';
import { campaignProgress, type CampaignRow, findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findMessage, listMessages, type MessageRow, presentMessage } from '#db/queries/messages/messages.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import type { Message } from '#domain/messages/message.ts';
import { eventually, type TestApp } from './app.ts';
import type { ApiClient } from './client.ts';

/** A first step that is sent immediately, and a second one that is not sent during a test. */
export const now = { message: 'One, {{ firstName }}' };
export const later = { message: 'Two', delay: { days: 2 } };

/** Functions that create campaigns and read the state of their leads and messages. */
export function campaignHelpers(world: () => { app: TestApp; workspace: { id: string }; api: ApiClient }) {
  async function newList(leads: object[]): Promise<{ listId: string; leadIds: string[] }> {
    const listId = (await world().api('POST', '/api/lists', { name: 'Prospects' })).body.list._id;
    const { leadIds } = (await world().api('POST', '/api/leads', { listId, leads })).body;
    return { listId, leadIds };
  }

  async function newCampaign(fields: object = {}): Promise<string> {
    const { status, body } = await world().api('POST', '/api/campaigns', {
      name: 'Spring',
      steps: [now, later],
      ...fields,
    });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.campaign._id;
  }

  // Polls the database instead of the API, which allows 120 reads a minute.
  const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
    withTenant(world().app.pools, world().workspace.id, work);

  async function campaignOf(id: string): Promise<CampaignRow> {
    const row = await tenant((db) => findCampaign(db, id));
    if (!row) throw new Error('no such campaign');
    return row;
  }

  const statusOf = async (id: string) => (await campaignOf(id)).status;
  const progressOf = async (id: string) => tenant(async (db) => campaignProgress(db, await campaignOf(id)));

  const messagesOf = async (campaignId: string): Promise<Message[]> =>
    (await tenant((db) => listMessages(db, { campaignId }, { limit: 1000 }))).map(presentMessage);

  /** The messages of a lead in a campaign, step by step. */
  async function stepsOf(campaignId: string, leadId: string): Promise<Message[]> {
    const messages = await messagesOf(campaignId);
    return messages
      .filter((message) => message.leadId === leadId)
      .toSorted((a, b) => Number(a.stepIndex) - Number(b.stepIndex));
  }

  const step = async (campaignId: string, leadId: string, index: number, ...statuses: string[]) =>
    eventually(async () => {
      const found = (await stepsOf(campaignId, leadId))[index];
      return found && statuses.includes(found.status) && found;
    });

  const hasLeft = (messageId: string) =>
    eventually(async () =>
      ['sent', 'delivered'].includes((await tenant((db) => findMessage(db, messageId)))?.status ?? ''),
    );

  /** The carrier of a message that is `sent` says later that it has not sent it. */
  const takeBack = (messageId: string): Promise<MessageRow | null> =>
    tenant(async (db) => {
      await lockSequences(db, [messageId]);
      const message = await findMessage(db, messageId);
      const attemptId = await db.oneFirst(sql.type(IdRow)`
        select id from attempts where workspace_id = ${db.workspaceId} and message_id = ${messageId}`);
      if (message) await sendAgain(db, message, { attemptId, reason: 'line' }, new Date());
      return findMessage(db, messageId);
    });

  return { newList, newCampaign, tenant, statusOf, progressOf, messagesOf, stepsOf, step, hasLeft, takeBack };
}
