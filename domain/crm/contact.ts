import type { LeadInput, NormalizedLead } from '../contacts/lead.ts';

/** A contact of a CRM, in the fields that leads have. Blank: the CRM has nothing there. */
export interface CrmContact {
  id: string;
  /** By the CRM's clock. */
  modifiedAt: Date;
  firstName: string;
  lastName: string;
  companyName: string;
  jobTitle: string;
  emails: readonly string[];
  phones: readonly string[];
  /** null: nobody owns it. */
  ownerEmail: string | null;
  /** Nothing may be sent to its numbers. */
  textsOptedOut: boolean;
  /** Nothing may be sent to its email addresses. */
  emailsOptedOut: boolean;
}

/** Who is to become a contact of a CRM. */
export type NewCrmContact = Omit<CrmContact, 'id' | 'modifiedAt' | 'ownerEmail'>;

const TEXTS = ['firstName', 'lastName', 'companyName', 'jobTitle'] as const;
const ADDRESSES = ['emails', 'phones'] as const;

/** What both sides have, and either may change. */
export interface SharedFields extends Pick<NormalizedLead, (typeof TEXTS)[number]> {
  emails: readonly string[];
  phones: readonly string[];
  /** null: nobody, or nobody of the workspace. */
  contactOwnerEmail: string | null;
}

/** More than a lead may have is cut, and control characters become spaces, as a person would repair them. */
const textOf = (text: string): string =>
  text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
const MAX_TEXT = 200;
const MAX_ADDRESSES = 10;

/** The lead that a contact becomes. */
export const leadOfContact = (contact: CrmContact): LeadInput => ({
  ...Object.fromEntries(TEXTS.map((name) => [name, textOf(contact[name])])),
  emails: contact.emails.slice(0, MAX_ADDRESSES),
  phones: contact.phones.slice(0, MAX_ADDRESSES),
});

export const sharedFields = ({
  firstName,
  lastName,
  companyName,
  jobTitle,
  emails,
  phones,
  contactOwnerEmail,
}: SharedFields): SharedFields => ({
  firstName,
  lastName,
  companyName,
  jobTitle,
  emails,
  phones,
  contactOwnerEmail,
});

export interface Merged {
  fields: SharedFields;
  /** The fields that both sides have changed differently since the last time, of which the later change was kept. */
  conflicts: { field: string; kept: 'crm' | 'here' }[];
}

/**
 * Brings a lead and its contact together. What only one side has changed since the last time is taken from it; of what both have changed,
 * the later change is kept. A CRM that has nothing in a field that it had nothing in before says nothing about it.
 * @param base the fields as the CRM last had them; null: they meet for the first time.
 */
export function mergeContact(
  base: SharedFields | null,
  here: { fields: SharedFields; changedAt: Date },
  crm: { fields: SharedFields; changedAt: Date },
): Merged {
  const isCrmLater = crm.changedAt.getTime() > here.changedAt.getTime();
  const conflicts: Merged['conflicts'] = [];
  function choose<T extends string | null>(field: string, before: T | undefined, ours: T, theirs: T): T {
    if (ours === theirs || theirs === before) return ours;
    // Of whom the CRM knows nothing, it says nothing the first time.
    if (before === undefined && isBlank(theirs)) return ours;
    if (ours === before || (before === undefined && isBlank(ours))) return theirs;
    conflicts.push({ field, kept: isCrmLater ? 'crm' : 'here' });
    return isCrmLater ? theirs : ours;
  }
  const texts = Object.fromEntries(
    TEXTS.map((name) => [name, choose(name, base?.[name], here.fields[name], crm.fields[name])]),
  ) as Pick<SharedFields, (typeof TEXTS)[number]>;
  const [emails = [], phones = []] = ADDRESSES.map((name) =>
    addressesOf(base?.[name] ?? [], here.fields[name], crm.fields[name]),
  );
  // The last address is not taken away, because a lead has one.
  const isReachable = emails.length + phones.length > 0;
  const contactOwnerEmail = choose(
    'contactOwnerEmail',
    base?.contactOwnerEmail,
    here.fields.contactOwnerEmail,
    // Who is not of the workspace owns nothing here.
    crm.fields.contactOwnerEmail ?? here.fields.contactOwnerEmail,
  );
  const { emails: ownEmails, phones: ownPhones } = here.fields;
  return {
    fields: {
      ...texts,
      emails: isReachable ? emails : ownEmails,
      phones: isReachable ? phones : ownPhones,
      contactOwnerEmail,
    },
    conflicts,
  };
}

const isBlank = (value: string | null): boolean => value === null || value === '';

/** Ours, without what the CRM has removed, and with what it has added. */
function addressesOf(
  before: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
): readonly string[] {
  const [known, given] = [new Set(before), new Set(theirs)];
  const kept = ours.filter((address) => !known.has(address) || given.has(address));
  const added = theirs.filter((address) => !known.has(address) && !kept.includes(address));
  return [...kept, ...added].slice(0, MAX_ADDRESSES);
}
