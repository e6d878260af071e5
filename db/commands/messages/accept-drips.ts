import { SchemaValidationError, sql } from 'slonik';
import { z } from 'zod';
import { DRIP_SOURCE, AcceptedMessage } from '#domain/messages/accepted-message.ts';
import { unbuffered } from '#domain/messages/buffered-message.ts';
import { acceptMessages } from './accept-messages.ts';
import { emitMessageEvents } from './message-events.ts';
import type { BufferedDrip } from '#db/queries/messages/drip.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { savepoint, type TenantDb } from '#db/connection/transactions.ts';

/** A drip that became a failed message. */
export interface RefusedDrip {
  messageId: string;
  reason: string;
}

/**
 * Turns buffered drips into messages. A drip that cannot be stored becomes a failed message with the reason. If a batch
 * fails because of one drip, it is split in halves until that drip is alone.
 * @throws if the cause is not a drip, for example a lost connection; the drips stay in the buffer then.
 */
export async function acceptDrips(
  db: TenantDb,
  drips: readonly BufferedDrip[],
  now: Date,
): Promise<RefusedDrip[]> {
  const [first] = drips;
  if (!first) return [];
  try {
    await savepoint(db, (inner) =>
      acceptMessages(
        inner,
        drips.map(({ id, draft }) => unbuffered(id, draft)),
        now,
      ),
    );
    return [];
  } catch (error) {
    const reason = contentError(error);
    if (reason === null) throw error;
    if (drips.length === 1) return [await refuseDrip(db, first, reason, now)];
  }
  const middle = Math.ceil(drips.length / 2);
  const earlier = await acceptDrips(db, drips.slice(0, middle), now);
  return [...earlier, ...(await acceptDrips(db, drips.slice(middle), now))];
}

/** PostgreSQL's error classes 22 (data exception) and 23 (integrity constraint violation). */
const VALUE_ERRORS = /^2[23]/;

type DatabaseErrorFields = Record<'code' | 'constraint' | 'column', string>;

/** The problem with the content; null if the error has another cause. */
function contentError(error: unknown): string | null {
  if (error instanceof z.ZodError || error instanceof SchemaValidationError)
    return error.issues[0]?.path?.map(String).join('.') || 'its form';
  if (error instanceof RangeError) return error.message;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, constraint, column, message } = cause as Error & Partial<DatabaseErrorFields>;
    if (typeof code === 'string' && VALUE_ERRORS.test(code)) return constraint ?? column ?? message;
  }
  return null;
}

/** Stores the valid fields of a drip as a failed message. */
async function refuseDrip(
  db: TenantDb,
  { id, draft }: BufferedDrip,
  reason: string,
  now: Date,
): Promise<RefusedDrip> {
  const error = `invalid_draft: ${reason}`;
  const fields = ValidFields.parse(draft);
  const message = await db.one(sql.type(MessageRow)`
    insert into messages (workspace_id, id, channel, status, error_message, address, recipient_phone, recipient_email,
      body, scheduled_at, source, correlation_id, created_at, updated_at)
    values (${db.workspaceId}, ${id}, ${fields.channel}, 'failed', ${error}, ${fields.address}, ${fields.recipientPhone},
      ${fields.recipientEmail}, ${fields.body}, ${sql.timestamp(now)}, ${DRIP_SOURCE}, ${fields.correlationId}, now(), now())
    returning *`);
  const change = { event: 'message.failed' as const, message, data: { error } };
  await emitMessageEvents(db, [change], now);
  return { messageId: id, reason };
}

const { channel, address, recipientPhone, recipientEmail, body, correlationId } = AcceptedMessage.shape;
/** Invalid fields are replaced by defaults. */
const ValidFields = z
  .object({
    channel: channel.catch('imessage'),
    address: address.catch(''),
    recipientPhone: recipientPhone.catch(null),
    recipientEmail: recipientEmail.catch(null),
    body: body.catch(''),
    correlationId: correlationId.catch(null),
  })
  .catch({
    channel: 'imessage',
    address: '',
    recipientPhone: null,
    recipientEmail: null,
    body: '',
    correlationId: null,
  });
