import { type FragmentSqlToken, sql } from 'slonik';
import { TEST_DAYS } from '#domain/test-mode/test-mode.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

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
  const twins = await db.anyFirst(
    sql.type(IdRow)`select id from workspaces where live_workspace_id is not null`,
  );
  let trimmed = 0;
  for (const workspaceId of twins) {
    for (const trimBatch of [trimMessages, trimReplies]) {
      let count = BATCH;
      while (count === BATCH && mayContinue()) {
        count = await trimBatch(db, workspaceId);
        trimmed += count;
      }
    }
  }
  return trimmed;
}

async function trimMessages(db: SystemDb, workspaceId: string): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    with old as materialized (
      select id, campaign_id from messages
      where workspace_id = ${workspaceId} and ${isOld(sql.fragment`updated_at`)} limit ${BATCH} for update skip locked
    ), sends as (
      delete from test_sends s using old where s.workspace_id = ${workspaceId} and s.message_id = old.id
    ), responses as (
      delete from campaign_responses r using old
      where r.workspace_id = ${workspaceId} and r.campaign_id = old.campaign_id and r.message_id = old.id
    ), tries as (
      delete from attempts a using old where a.workspace_id = ${workspaceId} and a.message_id = old.id
    )
    delete from messages m using old where m.workspace_id = ${workspaceId} and m.id = old.id`);
  return rowCount;
}

async function trimReplies(db: SystemDb, workspaceId: string): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    with old as materialized (
      select id from inbound_messages
      where workspace_id = ${workspaceId} and ${isOld(sql.fragment`created_at`)} limit ${BATCH} for update skip locked
    )
    delete from inbound_messages i using old where i.workspace_id = ${workspaceId} and i.id = old.id`);
  return rowCount;
}
