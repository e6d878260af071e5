import { sql } from 'slonik';
import { z } from 'zod';
import { FallbackRow } from '../sending/fallback-config.ts';
import { LineRow } from './lines.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

const CallbackLineRow = LineRow.pick({
  id: true,
  workspaceId: true,
  carrier: true,
  carrierConfig: true,
}).extend({
  /** The line may have sent messages for another workspace. */
  hasMoved: z.boolean(),
  provider: FallbackRow.shape.provider.nullable(),
  accountSid: FallbackRow.shape.accountSid,
  authTokenSealed: FallbackRow.shape.authTokenSealed,
  sharedKeySealed: FallbackRow.shape.sharedKeySealed,
  fromNumber: FallbackRow.shape.fromNumber,
  messagingServiceSid: FallbackRow.shape.messagingServiceSid,
});

/** A line that a carrier reports about, with the accounts whose secret may have signed the report. */
export interface CallbackLine {
  line: Pick<LineRow, 'id' | 'workspaceId' | 'carrier' | 'carrierConfig'>;
  hasMoved: boolean;
  fallbackAccount: Pick<
    FallbackRow,
    'provider' | 'accountSid' | 'authTokenSealed' | 'sharedKeySealed' | 'fromNumber' | 'messagingServiceSid'
  > | null;
}

/** Before a callback is authenticated, the workspace of its line is unknown. @returns null if there is no such line. */
export async function findCallbackLine(db: SystemDb, lineId: string): Promise<CallbackLine | null> {
  const row = await db.maybeOne(sql.type(CallbackLineRow)`
    select * from lines_of_callbacks(${sql.array([lineId], 'text')})`);
  if (!row) return null;
  const { hasMoved, provider, accountSid, authTokenSealed, sharedKeySealed, ...rest } = row;
  const { fromNumber, messagingServiceSid, ...line } = rest;
  const secrets = { authTokenSealed, sharedKeySealed };
  const account = provider && { provider, accountSid, ...secrets, fromNumber, messagingServiceSid };
  return { line, hasMoved, fallbackAccount: account };
}
