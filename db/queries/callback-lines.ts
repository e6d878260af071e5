import { sql } from 'slonik';
import { z } from 'zod';
import { FallbackRow } from './fallback-config.ts';
import { LineRow } from './lines.ts';
import { readWhereItIs } from './lookups.ts';
import type { SystemDb } from '#db/transactions.ts';

const CallbackLineRow = LineRow.pick({
  id: true,
  workspaceId: true,
  carrier: true,
  carrierConfig: true,
}).extend({
  /** It may have sent messages for another workspace. */
  hasMoved: z.boolean(),
  provider: FallbackRow.shape.provider.nullable(),
  accountSid: FallbackRow.shape.accountSid,
  authTokenSealed: FallbackRow.shape.authTokenSealed,
  fromNumber: FallbackRow.shape.fromNumber,
  messagingServiceSid: FallbackRow.shape.messagingServiceSid,
});

/** A line that a carrier reports about, with the accounts whose secret may have signed the report. */
export interface CallbackLine {
  line: Pick<LineRow, 'id' | 'workspaceId' | 'carrier' | 'carrierConfig'>;
  hasMoved: boolean;
  fallbackAccount: Pick<
    FallbackRow,
    'provider' | 'accountSid' | 'authTokenSealed' | 'fromNumber' | 'messagingServiceSid'
  > | null;
}

/** Before the callback is authenticated, its workspace is unknown. */
export async function findCallbackLine(db: SystemDb, lineId: string): Promise<CallbackLine | null> {
  const row = await readWhereItIs(db, 'line', lineId, (workspaceId) =>
    db.maybeOne(sql.type(CallbackLineRow)`
      select l.id, l.workspace_id, l.carrier, l.carrier_config,
        exists (select from line_moves where line_id = l.id) has_moved,
        f.provider, f.account_sid, f.auth_token_sealed, f.from_number, f.messaging_service_sid
      from lines l left join fallback_configs f on f.workspace_id = l.workspace_id
      where l.workspace_id = ${workspaceId} and l.id = ${lineId}`),
  );
  if (!row) return null;
  const { hasMoved, provider, accountSid, authTokenSealed, fromNumber, messagingServiceSid, ...line } = row;
  const account = provider && { provider, accountSid, authTokenSealed, fromNumber, messagingServiceSid };
  return { line, hasMoved, fallbackAccount: account };
}
