import { createHash } from 'node:crypto';
import { Refusal } from '#domain/base/refusal.ts';
import { newId } from '#domain/base/ids.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { normalizeAddress } from '#domain/base/address.ts';
import { MIN_RECIPIENTS } from '#domain/inbox/group.ts';
import type { InboundGroup } from '#domain/lines/carrier-event.ts';
import type { CapabilitiesOf } from '#domain/lines/capability.ts';
import type { AddressedGroup } from '#domain/messages/accepted-message.ts';
import { optedOutAmong } from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import {
  findGroup,
  findGroupWith,
  type GroupRow,
  insertGroup,
  lockParticipants,
  lockPeople,
} from '#db/queries/inbox/groups.ts';
import { findLine, type LineRow, lockLinesShared } from '#db/queries/lines/lines.ts';
import { placeOfPeople } from '#db/queries/messages/group-places.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** A group that a message may be sent to. Its line and the conversations with its participants are locked. */
export interface WritableGroup {
  group: GroupRow;
  line: LineRow;
  addressed: AddressedGroup;
}

/**
 * Finds the group of a line with these contacts, or creates it. The carrier creates it with its first message.
 * @param recipients as the caller wrote them.
 * @throws Refusal if the line can write to no groups, or somebody may not be written to.
 */
export async function openGroup(
  db: TenantDb,
  { lineId, recipients, country }: { lineId: string; recipients: readonly string[]; country: string },
  capabilitiesOf: CapabilitiesOf,
  now: Date,
): Promise<WritableGroup> {
  const line = await lineWithGroups(db, lineId, 'fromLineId', capabilitiesOf);
  const named = recipientsOf(recipients, line, country);
  await lockParticipants(db, named);
  await checkWelcome(db, named);
  const people = [...new Set(named)];
  const group = (await findGroupWith(db, lineId, people)) ?? (await createGroup(db, lineId, people, now));
  return { group, line, addressed: { id: group.id, place: await placeOfPeople(db, people) } };
}

/** Creates a group, unless another request did meanwhile. */
async function createGroup(
  db: TenantDb,
  lineId: string,
  participants: string[],
  now: Date,
): Promise<GroupRow> {
  await lockPeople(db, lineId, participants);
  const created = await findGroupWith(db, lineId, participants);
  return (
    created ?? insertGroup(db, { id: newId(now), lineId, carrierGroupId: null, name: null, participants })
  );
}

/**
 * A group that is to be answered.
 * @throws Refusal if there is none, or its line has left or cannot write to it.
 */
export async function groupToAnswer(
  db: TenantDb,
  id: string,
  capabilitiesOf: CapabilitiesOf,
): Promise<WritableGroup> {
  const group = await findGroup(db, id);
  if (!group) throw new Refusal('NOT_FOUND', 'groupId', 'no such group in this workspace');
  const line = await lineWithGroups(db, group.lineId, 'groupId', capabilitiesOf);
  await lockParticipants(db, group.participants);
  return { group, line, addressed: { id, place: await placeOfPeople(db, group.participants) } };
}

/**
 * A group as a carrier would tell of it, in test mode. The same contacts are the same group.
 * @param people their canonical addresses.
 * @throws Refusal if the line can have no groups.
 */
export async function groupInTestMode(
  db: TenantDb,
  { lineId, people, name }: { lineId: string; people: readonly string[]; name: string | undefined },
  capabilitiesOf: CapabilitiesOf,
): Promise<InboundGroup> {
  await lineWithGroups(db, lineId, 'fromLineId', capabilitiesOf);
  const participants = [...new Set(people.map(contactKey))].toSorted();
  const known = await findGroupWith(db, lineId, participants);
  const id =
    known?.carrierGroupId ?? `test:${createHash('sha256').update(participants.join(' ')).digest('hex')}`;
  return { id, participants, ...(name !== undefined && { name }) };
}

/** Locks the line in share mode, before conversations. */
async function lineWithGroups(
  db: TenantDb,
  lineId: string,
  field: 'fromLineId' | 'groupId',
  capabilitiesOf: CapabilitiesOf,
): Promise<LineRow> {
  await lockLinesShared(db, [lineId]);
  const line = await findLine(db, lineId);
  if (!line && field === 'groupId')
    throw new Refusal('NO_ACTIVE_LINE', field, 'the line of the group has left the workspace');
  if (!line) throw new Refusal('NOT_FOUND', field, 'no such line in this workspace');
  if (!capabilitiesOf(line).includes('groups'))
    throw new Refusal('UNSUPPORTED_BY_CARRIER', null, null, { capability: 'groups' });
  return line;
}

/** The addresses of the recipients, in order. At least two are different. */
function recipientsOf(
  recipients: readonly string[],
  { phone, email }: Pick<LineRow, 'phone' | 'email'>,
  country: string,
): string[] {
  const refuse = (index: number, text: string) =>
    new Refusal('VALIDATION_ERROR', `recipients.${index}`, text);
  const ours = new Set([phone, email].flatMap((own) => (own === null ? [] : contactKey(own))));
  const people = recipients.map((recipient, index) => {
    const address = normalizeAddress(recipient, country);
    if (address === null) throw refuse(index, 'must be a phone number or an email address');
    if (ours.has(address)) throw refuse(index, 'must not be the line itself');
    return address;
  });
  if (new Set(people).size < MIN_RECIPIENTS)
    throw new Refusal('VALIDATION_ERROR', 'recipients', `must name ${MIN_RECIPIENTS} different contacts`);
  return people;
}

/** In a group, nobody can be left out. */
async function checkWelcome(db: TenantDb, people: readonly string[]): Promise<void> {
  const optedOut = await optedOutAmong(db, people);
  const suppressed = await suppressedAmong(db, people);
  const index = people.findIndex((address) => optedOut.has(address) || suppressed.has(address));
  const address = people[index];
  if (address === undefined) return;
  const text = optedOut.has(address) ? 'has opted out of messages' : 'is suppressed by the agency';
  throw new Refusal('VALIDATION_ERROR', `recipients.${index}`, text);
}
