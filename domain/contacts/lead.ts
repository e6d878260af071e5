import { z } from 'zod';
import { normalizeEmail } from '../base/address.ts';
import { Id, WorkspaceId } from '../base/ids.ts';
import { isCallingCode, isLikelyNumber, normalizePhone } from '../base/phone.ts';
import { LINES, oneLine, typedName } from '../base/text.ts';
import { isTimeZone } from '../base/calendar.ts';

const LEAD_STATUSES = ['available', 'unavailable', 'error'] as const;
export const LeadStatus = z.enum(LEAD_STATUSES);

const Text = z.string().max(500).overwrite(oneLine);
const MAX_OF_KIND = 20;
const Addresses = z.array(z.string().max(320)).max(MAX_OF_KIND);
/** Emails and numbers of a lead together. */
export const MAX_ADDRESSES = 2 * MAX_OF_KIND;

/** The maximum size of all custom fields of a lead, in characters, because a list returns hundreds of leads in one response. */
export const MAX_CUSTOM_TEXT = 50_000;

export const CustomFieldName = z.string().max(100).overwrite(typedName).min(1);
export const CustomFieldValue = z
  .string()
  .max(5000)
  .refine(...LINES);

/** Fields that a tenant defines: string keys and values. */
export const CustomFields = z
  .record(CustomFieldName, CustomFieldValue)
  .refine((fields) => Object.keys(fields).length <= 100, 'must have at most 100 fields')
  .refine(
    (fields) => Object.values(fields).reduce((length, text) => length + text.length, 0) <= MAX_CUSTOM_TEXT,
    `must have at most ${MAX_CUSTOM_TEXT} characters in all`,
  );

/** Where the lead is. An empty text means that it is not known. */
const LeadTimeZone = z
  .string()
  .max(100)
  .refine((zone) => zone.trim() === '' || isTimeZone(zone.trim()), 'must be an IANA time zone')
  .meta({
    example: 'America/New_York',
    description: "The lead's time zone, for quiet hours. null: determined by the area of the lead's number.",
  });

/** A lead in a request; further addresses go in `emails` and `phones`. */
export const LeadInput = z
  .object({
    firstName: Text.optional(),
    lastName: Text.optional(),
    email: z.string().max(320).optional(),
    emails: Addresses.optional(),
    phone: z.string().max(40).optional(),
    phones: Addresses.optional(),
    companyName: Text.optional(),
    jobTitle: Text.optional(),
    notes: z
      .string()
      .max(10_000)
      .refine(...LINES)
      .optional(),
    contactOwnerEmail: z.string().max(320).nullish(),
    timezone: LeadTimeZone.nullish(),
    customFields: CustomFields.optional(),
  })
  .meta({ id: 'LeadInput' });
export type LeadInput = z.infer<typeof LeadInput>;

/** The prefix for phone numbers without a country code: `+49`. */
export const DefaultCountryCode = z
  .string()
  .regex(/^\+[1-9]\d{0,3}$/, 'must be a + followed by a country code')
  .refine(isCallingCode, 'must be the calling code of a country')
  .meta({ example: '+1' });

/** The filters of `GET /api/leads`, which all have to match. */
export const LeadFilter = {
  listId: Id.optional(),
  search: z.string().trim().min(1).max(200).optional().meta({
    description:
      'Matches any part of a name, company, email or phone; one or two characters match only the beginning of a word.',
  }),
};

/** A lead in responses and events. */
export const Lead = z
  .object({
    _id: Id,
    workspaceId: WorkspaceId,
    listId: Id,
    firstName: z.string(),
    lastName: z.string(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    emails: z.array(z.string()),
    phones: z.array(z.string()),
    companyName: z.string(),
    jobTitle: z.string(),
    notes: z.string(),
    contactOwnerEmail: z.string().nullable(),
    timezone: z.string().nullable(),
    customFields: z.record(z.string(), z.string()),
    tags: z.array(z.string()),
    status: LeadStatus.nullable(),
    source: z.string().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Lead' });
export type Lead = z.infer<typeof Lead>;

/** A lead with addresses in their canonical form. */
export interface NormalizedLead {
  firstName: string;
  lastName: string;
  emails: string[];
  phones: string[];
  companyName: string;
  jobTitle: string;
  notes: string;
  contactOwnerEmail: string | null;
  timezone: string | null;
  customFields: Record<string, string>;
}

/** A lead without details. */
export const BLANK_LEAD: NormalizedLead = {
  firstName: '',
  lastName: '',
  emails: [],
  phones: [],
  companyName: '',
  jobTitle: '',
  notes: '',
  contactOwnerEmail: null,
  timezone: null,
  customFields: {},
};

/** Its numbers that their countries do not have. */
export const unlikelyNumbers = ({ phones }: Pick<NormalizedLead, 'phones'>): string[] =>
  phones.filter((phone) => !isLikelyNumber(phone));

/** A validation error of one field. */
export interface LeadProblem {
  field: string;
  message: string;
}

/** How to read a phone number without a country code: `callingCode` if given, else `country`. */
export interface PhoneDefaults {
  country: string;
  callingCode?: string | undefined;
}

const NO_ADDRESS: LeadProblem = { field: 'phone', message: 'an email address or a phone number is required' };

/** The lead to store, valid only if there are no problems. */
export function normalizeLead(
  input: LeadInput,
  phoneDefaults: PhoneDefaults,
): { lead: NormalizedLead; problems: LeadProblem[] } {
  const problems: LeadProblem[] = [];
  const emails = addresses(
    input.email,
    input.emails,
    'email',
    normalizeEmail,
    'must be an email address',
    problems,
  );
  const phones = addresses(
    input.phone,
    input.phones,
    'phone',
    (text) => normalizePhone(text, phoneDefaults.country, phoneDefaults.callingCode),
    'must be a phone number',
    problems,
  );
  if (problems.length === 0 && emails.length + phones.length === 0) problems.push(NO_ADDRESS);
  const lead: NormalizedLead = {
    firstName: input.firstName?.trim() ?? '',
    lastName: input.lastName?.trim() ?? '',
    emails,
    phones,
    companyName: input.companyName?.trim() ?? '',
    jobTitle: input.jobTitle?.trim() ?? '',
    notes: input.notes ?? '',
    contactOwnerEmail: input.contactOwnerEmail ?? null,
    timezone: input.timezone?.trim() || null,
    customFields: input.customFields ?? {},
  };
  return { lead, problems };
}

function addresses(
  one: string | undefined,
  several: readonly string[] | undefined,
  field: 'email' | 'phone',
  normalize: (text: string) => string | null,
  message: string,
  problems: LeadProblem[],
): string[] {
  const found = new Set<string>();
  const add = (text: string | undefined, name: string): void => {
    if (text === undefined || text.trim() === '') return;
    const address = normalize(text);
    if (address === null) problems.push({ field: name, message });
    else found.add(address);
  };
  add(one, field);
  several?.forEach((text, index) => add(text, `${field}s.${index}`));
  return [...found];
}

export const LeadPatch = LeadInput.extend({ defaultCountryCode: DefaultCountryCode.optional() }).meta({
  id: 'LeadPatch',
});
export type LeadPatch = z.infer<typeof LeadPatch>;

/** Applies an update: `email` replaces the first of `emails`, and an empty one removes it; likewise for phones. */
export function patchLead(lead: NormalizedLead, patch: LeadPatch): LeadInput {
  const { email, phone, emails, phones, defaultCountryCode: _, ...fields } = patch;
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return {
    ...lead,
    ...given,
    emails: replaceFirst(emails ?? lead.emails, email),
    phones: replaceFirst(phones ?? lead.phones, phone),
  };
}

function replaceFirst(addresses: string[], first: string | undefined): string[] {
  if (first === undefined) return addresses;
  return first.trim() === '' ? addresses.slice(1) : [first, ...addresses.slice(1)];
}
