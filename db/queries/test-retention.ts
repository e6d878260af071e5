import { type FragmentSqlToken, sql } from 'slonik';
import { TEST_DAYS } from '#domain/test-mode.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb } from '#db/transactions.ts';

const BATCH = 5000;

/** By columns that have the real time: that of a workspace in test mode may be far ahead. */
const isOld = (updatedAt: FragmentSqlToken): FragmentSqlToken => sql.fragment`
  ${updatedAt} < now() - ${`${TEST_DAYS} days`}::interval`;

/**
 * Deletes old messages of workspaces in test mode, with the attempts to send them, and old replies, until none are left or
 * `mayContinue` returns false.
 * @returns the number of deleted messages and replies.
 */
export async function trimTestMode(db: SystemDb, mayContinue: () => boolean): Promise<number> {
  let trimmed = 0;
  for (const trimBatch of [trimMessages, trimReplies]) {
    let count = BATCH;
    while (count === BATCH && mayContinue()) trimmed += count = await trimBatch(db);
  }
  return trimmed;
}

async function trimMessages(db: SystemDb): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    with old as materialized (
      select m.workspace_id, m.id, m.campaign_id from workspaces w join messages m on m.workspace_id = w.id
      where w.live_workspace_id is not null and ${isOld(sql.fragment`m.updated_at`)} limit ${BATCH} for update of m skip locked
    ), sends as (
      delete from test_sends s using old where s.workspace_id = old.workspace_id and s.message_id = old.id
    ), responses as (
      delete from campaign_responses r using old
      where r.workspace_id = old.workspace_id and r.campaign_id = old.campaign_id and r.message_id = old.id
    ), tries as (
      delete from attempts a using old where a.workspace_id = old.workspace_id and a.message_id = old.id
    )
    delete from messages m using old where m.workspace_id = old.workspace_id and m.id = old.id`);
  return rowCount;
}

async function trimReplies(db: SystemDb): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    with old as materialized (
      select i.workspace_id, i.id from workspaces w join inbound_messages i on i.workspace_id = w.id
      where w.live_workspace_id is not null and ${isOld(sql.fragment`i.created_at`)} limit ${BATCH} for update of i skip locked
    )
    delete from inbound_messages i using old where i.workspace_id = old.workspace_id and i.id = old.id`);
  return rowCount;
}
