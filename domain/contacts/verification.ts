import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { normalize } from '../base/text.ts';
import { OptInLink } from './opt-in-link.ts';

/** How long the person may take to send the code. */
export const VERIFICATION_MS = 15 * 60_000;
const DIGITS = 6;
/** Messages with wrong codes that end a verification, so that whoever forges the sender of messages does not guess it. */
export const MAX_TRIES = 10;

/** The body of `POST /api/verifications`. */
export const VerificationInput = z
  .object({
    phone: z.string().max(50).meta({ description: 'The number to verify.' }),
    fromLineId: Id.optional().meta({
      description:
        'The line to which the person sends the code; default: the first active iMessage or SMS line.',
    }),
  })
  .meta({ id: 'VerificationInput' });

export const VerificationStatus = z.enum(['pending', 'verified', 'expired']);

/** A person proves that a number is theirs: they send a code from it. */
export const Verification = z
  .object({
    _id: Id,
    phone: z.string(),
    status: VerificationStatus,
    code: z.string().meta({ description: 'What the person sends, alone or in a sentence.' }),
    lineId: Id,
    to: z.string().meta({ description: 'The number, or the address, of the line.' }),
    sms: OptInLink.shape.sms,
    imessage: OptInLink.shape.imessage,
    expiresAt: z.iso.datetime(),
    verifiedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Verification' });
export type Verification = z.infer<typeof Verification>;

/** @param random returns a number from 0 to `below` - 1. */
export const newVerificationCode = (random: (below: number) => number): string =>
  String(random(10 ** DIGITS)).padStart(DIGITS, '0');

const CODE = new RegExp(String.raw`(?<!\d)(?:\d{${DIGITS}}|\d{3}[ -]\d{3})(?!\d)`, 'g');
/** Codes behind are not read. In UTF-16 code units. */
const MAX_TEXT = 1000;
/** More in one message are not compared. */
const MAX_CODES = 5;

/** What may be codes in a message. Phones offer to write `123 456`. */
export const verificationCodes = (text: string): string[] =>
  (normalize(text, 'NFKC', MAX_TEXT).match(CODE) ?? [])
    .slice(0, MAX_CODES)
    .map((code) => code.replaceAll(/\D/g, ''));

export const verificationStatus = (
  { verifiedAt, expiresAt }: { verifiedAt: Date | null; expiresAt: Date },
  now: Date,
): z.infer<typeof VerificationStatus> =>
  verifiedAt !== null ? 'verified' : expiresAt <= now ? 'expired' : 'pending';
