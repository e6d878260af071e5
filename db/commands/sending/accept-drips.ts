import { SchemaValidationError, sql } from 'slonik';
import { z } from 'zod';
import { MessageDraft } from '#domain/message-draft.ts';
import { acceptMessages } from './accept-messages.ts';
import { emitMessageEvents } from './message-events.ts';
import type { BufferedDrip } from '#db/queries/drip.ts';
import { MessageRow } from '#db/queries/messages.ts';
import { savepoint, type TenantDb } from '#db/transactions.ts';

/** A drip that ended as a failed message, and why. */
export interface RefusedDrip {
  messageId: string;
  reason: string;
}

/**
 * Turns drips that were taken out of the buffer into messages. What was acknowledged is never dropped and never holds
 * up others: one that cannot become a message becomes a failed one that says why. A batch that fails for one of its
 * drips is halved until that one is alone.
 * @throws when the fault is not of a single drip, e.g. a lost connection; the drips are in the buffer again then.
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
        drips.map(({ draft }) => MessageDraft.parse(draft)),
        now,
      ),
    );
    return [];
  } catch (error) {
    const reason = faultOfContent(error);
    if (reason === null) throw error;
    if (drips.length === 1) return [await refuseDrip(db, first, reason, now)];
  }
  const middle = Math.ceil(drips.length / 2);
  const earlier = await acceptDrips(db, drips.slice(0, middle), now);
  return [...earlier, ...(await acceptDrips(db, drips.slice(middle), now))];
}

/** PostgreSQL's classes of errors that come from the values alone: data exceptions, and violated constraints. */
const VALUE_ERRORS = /^2[23]/;

type DatabaseErrorFields = Record<'code' | 'constraint' | 'column', string>;

/** What is wrong with the content that was to be stored; null: the error has another cause, and may pass. */
function faultOfContent(error: unknown): string | null {
  if (error instanceof z.ZodError || error instanceof SchemaValidationError)
    return error.issues[0]?.path?.map(String).join('.') || 'its form';
  if (error instanceof RangeError) return error.message;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, constraint, column, message } = cause as Error & Partial<DatabaseErrorFields>;
    if (typeof code === 'string' && VALUE_ERRORS.test(code)) return constraint ?? column ?? message;
  }
  return null;
}

/** Stores as much of a drip as can be told for certain, as a message that has failed. */
async function refuseDrip(
  db: TenantDb,
  { id, draft }: BufferedDrip,
  reason: string,
  now: Date,
): Promise<RefusedDrip> {
  const error = `invalid_draft: ${reason}`;
  const told = Told.parse(draft);
  const message = await db.one(sql.type(MessageRow)`
    insert into messages (workspace_id, id, channel, status, error_message, address, recipient_phone, recipient_email,
      body, scheduled_at, source, correlation_id, created_at, updated_at)
    values (${db.workspaceId}, ${id}, ${told.channel}, 'failed', ${error}, ${told.address}, ${told.recipientPhone},
      ${told.recipientEmail}, ${told.body}, ${sql.timestamp(now)}, 'crm-drip', ${told.correlationId}, now(), now())
    returning *`);
  const change = { event: 'message.failed' as const, message, data: { error } };
  await emitMessageEvents(db, [change], now);
  return { messageId: id, reason };
}

const { channel, address, recipientPhone, recipientEmail, body, correlationId } = MessageDraft.shape;
/** Of each field what it is meant to be, or nothing. */
const Told = z
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
