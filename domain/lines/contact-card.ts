import { z } from 'zod';
import { oneLine, truncate } from '../base/text.ts';

export const ShareContactCard = z.enum(['never', 'after_first_reply']).meta({
  description:
    'When a contact gets the contact card of the line, if it has one: `after_first_reply`, once, after their first message to the line.',
});
export type ShareContactCard = z.infer<typeof ShareContactCard>;

const Name = z.string().trim().min(1).max(100).overwrite(oneLine);

/** The body of `PUT /api/lines/{id}/contact-card`. */
export const ContactCardInput = z
  .object({
    firstName: Name,
    lastName: z.string().trim().max(100).overwrite(oneLine),
    organization: Name.optional(),
    photoUrl: z
      .url({ protocol: /^https$/ })
      .max(2000)
      .optional()
      .meta({
        description: 'A picture that phones load. It is not fetched here.',
      }),
  })
  .meta({ id: 'ContactCardInput' });
export type ContactCardInput = z.infer<typeof ContactCardInput>;

export const ContactCard = ContactCardInput.extend({
  phone: z.string().meta({
    description:
      'The number of the line when the card was set. If the line gets another one, nothing is shared until the card is set again.',
  }),
}).meta({ id: 'ContactCard' });

/** As it is stored: with its file, which is an upload of the workspace. */
export const StoredContactCard = ContactCard.extend({ fileId: z.string(), fileName: z.string() });
export type StoredContactCard = z.infer<typeof StoredContactCard>;

export const CARD_TYPE = 'text/vcard';

/** `Dana Line.vcf` */
export const cardFileName = ({ firstName, lastName }: ContactCardInput): string =>
  `${fullName(firstName, lastName).replaceAll(/[/\\:*?"<>|]/g, ' ')}.vcf`;

const fullName = (firstName: string, lastName: string): string => `${firstName} ${lastName}`.trim();

const escaped = (text: string): string => text.replaceAll(/[\\;,]/g, (sign) => `\\${sign}`);

/** In octets, without the line end (RFC 2426, section 2.6). */
const MAX_LINE = 75;

/** A line that is too long continues after a line end and a space. Characters are not split. */
function folded(line: string): string {
  const parts: string[] = [];
  for (let rest = line; rest !== '';) {
    let length = Math.min(rest.length, MAX_LINE);
    while (Buffer.byteLength(truncate(rest, length)) > MAX_LINE - (parts.length > 0 ? 1 : 0)) length -= 1;
    const part = truncate(rest, length);
    parts.push(part);
    rest = rest.slice(part.length);
  }
  return parts.join('\r\n ');
}

/** A vCard of version 3.0 (RFC 2426), which phones read. */
export function vCard(card: ContactCardInput & { phone: string }): string {
  const lines = [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:${escaped(card.lastName)};${escaped(card.firstName)};;;`,
    `FN:${escaped(fullName(card.firstName, card.lastName))}`,
    ...(card.organization === undefined ? [] : [`ORG:${escaped(card.organization)}`]),
    `TEL;TYPE=CELL:${card.phone}`,
    ...(card.photoUrl === undefined ? [] : [`PHOTO;VALUE=URI:${card.photoUrl}`]),
    'END:VCARD',
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}
