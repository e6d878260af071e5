import { z } from 'zod';
import { Id } from '../base/ids.ts';

/** How many contacts a new group has. */
export const MIN_RECIPIENTS = 2;
export const MAX_RECIPIENTS = 20;

/** Further participants of a group are not remembered. */
export const MAX_PARTICIPANTS = 100;

/** The address of a group conversation, which is neither a phone number nor an email address. */
export const groupAddress = (id: string): string => `group:${id}`;

export const isGroupAddress = (address: string): boolean => /^group:[0-9a-f]{24}$/.test(address);

/** The id of the group with an address; null: it is the address of a contact. */
export const groupIdOf = (address: string): string | null =>
  isGroupAddress(address) ? address.slice(-24) : null;

export const Group = z
  .object({
    id: Id,
    name: z.string().nullable().meta({ description: 'Null if it has none.' }),
    participants: z.array(z.string()).meta({
      description: 'The phone numbers and email addresses of the contacts, as far as the carrier told them.',
    }),
  })
  .meta({ id: 'Group', description: 'A conversation of several contacts with a line.' });
export type Group = z.infer<typeof Group>;

/** What a group is called if it has no name. */
export const groupName = ({ name, participants }: Group): string => name ?? participants.join(', ');

/** Who is in a group after somebody wrote to it. @param told whom the carrier names; empty: it does not say. */
export const participantsAfter = (
  known: readonly string[],
  told: readonly string[],
  writer: string | null,
): string[] =>
  [...new Set([...(told.length > 0 ? told : known), ...(writer === null ? [] : [writer])])].slice(
    0,
    MAX_PARTICIPANTS,
  );
