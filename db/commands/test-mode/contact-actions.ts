import { Refusal } from '#domain/base/refusal.ts';
import { newId } from '#domain/base/ids.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import type { CapabilitiesOf, Capability } from '#domain/lines/capability.ts';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import type { MessageContactAction } from '#domain/test-mode/contact-action.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { type ActionTarget, findActionTarget } from '#db/queries/messages/message-actions.ts';
import { lastTestAttempt } from '#db/queries/test-mode/test-sends.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

interface Reported {
  lineId: string;
  event: CarrierEvent;
}

/** A message as its carrier knows it. */
interface Known {
  lineId: string;
  carrierMessageId: string;
}

const refused = (text: string): Refusal => new Refusal('INVALID_STATE', null, text);

async function findTarget(db: TenantDb, messageId: string): Promise<ActionTarget> {
  const target = await findActionTarget(db, messageId);
  if (!target) throw new Refusal('NOT_FOUND', null, 'Message not found');
  if (target.unsentAt !== null) throw refused('The message was unsent');
  return target;
}

/** A message of a contact; null: it is none. */
const received = ({ direction, lineId, carrierMessageId }: ActionTarget): Known | null =>
  direction === 'in' && lineId !== null && carrierMessageId !== null ? { lineId, carrierMessageId } : null;

/** @throws Refusal if the contact has not got the message. */
async function knownSend(db: TenantDb, messageId: string): Promise<Known> {
  const attempt = await lastTestAttempt(db, messageId);
  if (!attempt) throw refused('The message has not been sent');
  return attempt;
}

async function requireCapability(
  db: TenantDb,
  lineId: string,
  capability: Capability,
  capabilitiesOf: CapabilitiesOf,
): Promise<void> {
  const line = await findLine(db, lineId);
  if (!line || !capabilitiesOf(line).includes(capability))
    throw new Refusal('UNSUPPORTED_BY_CARRIER', null, null, { capability });
}

/** The message, of the workspace or of a contact, that a contact answers. @throws Refusal */
export async function answeredSend(
  db: TenantDb,
  messageId: string,
  capabilitiesOf: CapabilitiesOf,
): Promise<Known> {
  const target = await findTarget(db, messageId);
  const known = received(target) ?? (await knownSend(db, messageId));
  await requireCapability(db, known.lineId, 'replies', capabilitiesOf);
  return known;
}

/** What a carrier would report of something that a contact does with a message. @throws Refusal */
export async function contactAction(
  db: TenantDb,
  action: MessageContactAction,
  /** Who reacts, if they are named. */
  from: string | undefined,
  { capabilitiesOf, now }: { capabilitiesOf: CapabilitiesOf; now: Date },
): Promise<Reported> {
  const { kind, messageId } = action;
  const target = await findTarget(db, messageId);
  const about = { eventId: newId(), at: now };
  if (kind === 'reaction') {
    const { reaction, emoji, remove: removed = false } = action;
    const { lineId, carrierMessageId } = await reactedTo(db, target);
    const who = from ?? target.address;
    if (isGroupAddress(who)) throw new Refusal('VALIDATION_ERROR', 'from', 'is required in a group');
    const event = { kind, ...about, carrierMessageId, reaction, removed, from: who };
    return { lineId, event: { ...event, ...(emoji !== undefined && { emoji }) } };
  }
  const known = received(target);
  if (!known) throw refused('The message is not of a contact');
  const { lineId, carrierMessageId } = known;
  await requireCapability(db, lineId, kind, capabilitiesOf);
  return {
    lineId,
    event:
      kind === 'edit'
        ? { kind: 'edited', ...about, carrierMessageId, text: action.text }
        : { kind: 'unsent', ...about, carrierMessageId },
  };
}

/** Of those of contacts, only in a group: carriers report a reaction to an own message to nobody. */
async function reactedTo(db: TenantDb, target: ActionTarget): Promise<Known> {
  const known = received(target);
  if (known && !isGroupAddress(target.address))
    throw refused('A contact reacts to messages of the workspace');
  return known ?? knownSend(db, target.id);
}
