import { z } from 'zod';
import type { Channel } from '../base/channel.ts';
import { Id } from '../base/ids.ts';
import { Instant } from '../base/moment.ts';
import type { OptOutSource } from './opt-out.ts';
import { oneLine } from '../base/text.ts';
import { dateOf } from '../base/written-date.ts';

export const ConsentChannel = z.enum(['imessage', 'sms', 'email', 'any']);
export const ConsentStatus = z.enum(['granted', 'revoked']);
export const ConsentSource = z.enum(['form', 'import', 'keyword', 'verbal', 'api']);
export type ConsentSource = z.infer<typeof ConsentSource>;

/** In characters. */
export const MAX_EVIDENCE = 2000;
const Evidence = z.string().max(MAX_EVIDENCE).meta({
  description: 'The evidence, for example the form and its wording, or a witness.',
});

/** The body of `POST /api/consents`. */
export const ConsentInput = z
  .object({
    address: z.string().max(320).meta({ description: 'A phone number or an email address.' }),
    channel: ConsentChannel.default('any'),
    status: ConsentStatus,
    source: ConsentSource.default('api'),
    evidence: Evidence.optional(),
    at: Instant.optional().meta({
      description:
        'When it was given or withdrawn; default: now. Before today, a key needs the scope `manage`.',
    }),
  })
  .meta({ id: 'ConsentInput' });

/** An entry of the ledger. */
export const Consent = z
  .object({
    _id: Id,
    address: z.string(),
    channel: ConsentChannel,
    status: ConsentStatus,
    source: ConsentSource,
    evidence: z.string().nullable(),
    at: z.iso.datetime().meta({ description: 'When it was given or withdrawn, as the caller says.' }),
    recordedAt: z.iso.datetime(),
    recordedBy: z
      .string()
      .nullable()
      .meta({ description: 'The key or person that recorded it; null: the contact themselves, or unknown.' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Consent' });
export type Consent = z.infer<typeof Consent>;

/** How many leads of a list may be sent messages on a channel. Each lead counts once, by its address on the channel. */
export const ConsentCoverage = z
  .object({
    total: z.int().meta({ description: 'Leads of the list.' }),
    unreachable: z.int().meta({ description: 'Leads without an address for the channel.' }),
    optedOut: z.int(),
    suppressed: z.int().meta({ description: 'Suppressed by the agency, and not opted out.' }),
    granted: z.int().meta({ description: 'Other leads whose latest entry is a consent.' }),
    revoked: z.int().meta({ description: 'Other leads whose latest entry is a withdrawal.' }),
    unknown: z.int().meta({ description: 'Other leads without an entry.' }),
  })
  .meta({ id: 'ConsentCoverage' });
export type ConsentCoverage = z.infer<typeof ConsentCoverage>;

/** An entry to be added now. */
export type NewConsent = Pick<Consent, 'address' | 'channel' | 'status' | 'source' | 'evidence'> & {
  at: Date;
  /** Who records it, as the audit log names them; absent: the contact. */
  recordedBy?: string | null;
  /** How the opt-out or opt-in came about that the entry records; absent: it records neither. */
  origin?: OptOutSource;
  /** The reply in which the contact said so. */
  replyId?: string | undefined;
};

/** How an opt-out came about, as a source of consent. */
export const OPT_OUT_SOURCES: Record<OptOutSource, ConsentSource> = {
  reply: 'keyword',
  unsubscribe: 'form',
  carrier: 'keyword',
  complaint: 'keyword',
  api: 'api',
};

/** The key of an address and channel in a set of consents. */
export const consentKey = (address: string, channel: Channel): string => `${channel} ${address}`;

/** The consent in a row of an import. */
export interface RowConsent {
  status: 'granted' | 'revoked';
  source: ConsentSource;
  evidence: string | null;
  /** null: the time of the import. */
  at: Date | null;
}

const Source = z.string().max(500).overwrite(oneLine);

/** What people write as the source when the contact has withdrawn. */
const WITHDRAWN = /^(?:revoked|withdrawn|unsubscribed|opt(?:ed)?[ -]?out|declined|refused|denied)$/i;
/** What they write when nobody has asked. */
const NOT_GIVEN = /^(?:no|false|none|null|unknown|pending|n\/?a|0|[-–—]+)$/i;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** The first time zone is 14 hours ahead of UTC. */
const EAST_MS = 14 * 3_600_000;
/** Whether a day begins later in UTC, but not everywhere. */
const hasBegunInTheEast = (day: Date, now: Date): boolean =>
  day > now && day.getTime() - EAST_MS <= now.getTime();

/**
 * Reads the columns `consentSource` and `consentAt` of a row. An unknown source is stored as evidence.
 * @returns null if there is no consent.
 * @throws RangeError with the reason why the row is rejected.
 */
export function rowConsent(sourceText: string, atText: string, now: Date): RowConsent | null {
  if (NOT_GIVEN.test(sourceText) || (sourceText === '' && atText === '')) return null;
  if (sourceText === '')
    throw new RangeError('consentAt: requires consentSource, the way the consent was given');
  if (!Source.safeParse(sourceText).success)
    throw new RangeError('consentSource: must be a short text of one line');
  const written = atText === '' ? null : dateOf(atText);
  // In `03/02/2026`, nobody knows which number is the month.
  if (atText !== '' && written === null)
    throw new RangeError('consentAt: must be a date as YYYY-MM-DD, or a time of ISO 8601');
  const at = written && DAY.test(atText) && hasBegunInTheEast(written, now) ? null : written;
  if (at && at > now) throw new RangeError('consentAt: must be a past date');
  if (WITHDRAWN.test(sourceText)) return { status: 'revoked', source: 'import', evidence: sourceText, at };
  const known = ConsentSource.safeParse(sourceText.toLowerCase());
  if (known.success) return { status: 'granted', source: known.data, evidence: null, at };
  return { status: 'granted', source: 'import', evidence: sourceText, at };
}
