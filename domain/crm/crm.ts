import { z } from 'zod';
import { HeaderToken } from '../base/header-token.ts';
import { Id } from '../base/ids.ts';

export const CrmProviderName = z.enum(['hubspot', 'highlevel']);
export type CrmProviderName = z.infer<typeof CrmProviderName>;

export const CrmConnectionInput = z
  .object({
    provider: CrmProviderName,
    token: HeaderToken.min(10).meta({
      description:
        "HubSpot: the access token of a private app. HighLevel: a private integration token of a location, or the code with which the installation's marketplace app was added to one. It is stored encrypted and never returned.",
    }),
    accountId: z.string().trim().min(1).max(100).optional().meta({
      description: 'HighLevel: the id of the location, with a private integration token.',
    }),
    listId: Id.optional().meta({
      description: 'The list in which contacts become leads; default: Quick Sends.',
    }),
    campaignId: Id.optional().meta({ description: 'A campaign that new leads enter.' }),
    createContacts: z.boolean().optional().meta({
      description:
        'Whether new leads, and people whom it does not know and about whom it receives something, become contacts there. Default: false; or as before, if it is connected again.',
    }),
    importExisting: z.boolean().default(true).meta({
      description: 'Whether contacts that the CRM has already become leads, not only those that change.',
    }),
  })
  .meta({ id: 'CrmConnectionInput' });
export type CrmConnectionInput = z.infer<typeof CrmConnectionInput>;

/** A connected CRM, as the API returns it. */
export const CrmConnection = z
  .object({
    _id: Id,
    provider: CrmProviderName,
    accountId: z
      .string()
      .meta({ description: "The provider's, of HubSpot's portal, or of HighLevel's location." }),
    listId: Id.nullable(),
    campaignId: Id.nullable(),
    createContacts: z.boolean(),
    status: z.enum(['active', 'broken']).meta({
      description:
        '`broken`: the provider refuses the token, or it lacks a scope. Connect again with another token; what it is to receive waits.',
    }),
    error: z.string().nullable().meta({
      description: 'Why it is broken, or why the provider does not answer at the moment.',
    }),
    failingSince: z.iso.datetime().nullable(),
    pausedUntil: z.iso.datetime().nullable().meta({
      description: 'Until when the provider wants to be left alone, because of its rate limits.',
    }),
    syncedAt: z.iso.datetime().nullable().meta({
      description: 'When all changes up to then were last taken over.',
    }),
    waiting: z.int().meta({ description: 'How many changes the CRM is still to receive.' }),
    setAside: z.int().meta({
      description:
        'How many changes it has failed to take five times, although it answers otherwise. Each is tried once an hour for a day, and at once when the token is checked.',
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'CrmConnection' });
export type CrmConnection = z.infer<typeof CrmConnection>;

export const CrmSubject = z.enum(['contact', 'message', 'reply', 'call', 'opt_out', 'opt_in']);
export type CrmSubject = z.infer<typeof CrmSubject>;

export const CrmOutcome = z.enum(['synced', 'refused', 'conflict', 'set_aside']);

/** What a CRM fails to take so often, although it answers otherwise, is set aside. */
export const CRM_FAILURES_TO_SET_ASIDE = 5;

/** What a connection has done, or has not. */
export const CrmLogEntry = z
  .object({
    _id: Id,
    at: z.iso.datetime(),
    direction: z.enum(['in', 'out']).meta({ description: '`in`: from the CRM.' }),
    subject: CrmSubject,
    outcome: CrmOutcome.meta({
      description:
        '`conflict`: both sides changed the same since the last time, and one of them was kept, as `reason` says. `set_aside`: the CRM fails to take it; it is tried again later.',
    }),
    reason: z.string().nullable(),
    contactId: z.string().nullable().meta({ description: 'In the CRM.' }),
    leadId: Id.nullable(),
    messageId: Id.nullable(),
  })
  .meta({ id: 'CrmLogEntry' });
export type CrmLogEntry = z.infer<typeof CrmLogEntry>;

/** An entry to be written. */
export type NewCrmLogEntry = Pick<CrmLogEntry, 'direction' | 'subject' | 'outcome'> &
  Partial<Pick<CrmLogEntry, 'reason' | 'contactId' | 'leadId' | 'messageId'>>;

/** A change may be found by the search of a CRM so much later than it was made, in milliseconds. */
const FOUND_LATE_MS = 2 * 60_000;

/**
 * Up to when all changes have been found for sure, so that the next search begins there: what was not found yet is looked for again.
 * @param from where the searches of this round began.
 * @param startedAt when, by the clock of the CRM.
 */
export const surelyRead = (from: Date, startedAt: Date): Date =>
  new Date(Math.max(from.getTime(), startedAt.getTime() - FOUND_LATE_MS));
