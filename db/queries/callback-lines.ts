import { sql } from 'slonik';
import { z } from 'zod';
import { FallbackRow } from './fallback-config.ts';
import { LineRow } from './lines.ts';
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

/** Before a callback is authenticated, the workspace of its line is unknown. @returns the lines that exist, by id. */
export async function findCallbackLines(
  db: SystemDb,
  lineIds: readonly string[],
): Promise<ReadonlyMap<string, CallbackLine>> {
  const rows = await db.any(sql.type(CallbackLineRow)`
    select l.id, l.workspace_id, l.carrier, l.carrier_config,
      exists (select from line_moves where line_id = l.id) has_moved,
      f.provider, f.account_sid, f.auth_token_sealed, f.from_number, f.messaging_service_sid
    from ${sql.unnest(
      [...new Set(lineIds)].map((id) => [id]),
      ['text'],
    )} as asked (id)
    join lookups o on o.kind = 'line' and o.key = asked.id
    join lines l on l.workspace_id = o.workspace_id and l.id = asked.id
    left join fallback_configs f on f.workspace_id = l.workspace_id`);
  return new Map(
    rows.map((row) => {
      const { hasMoved, provider, accountSid, authTokenSealed, fromNumber, messagingServiceSid, ...line } =
        row;
      const account = provider && { provider, accountSid, authTokenSealed, fromNumber, messagingServiceSid };
      return [line.id, { line, hasMoved, fallbackAccount: account }];
    }),
  );
}
