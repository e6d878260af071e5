import { findLead } from '#db/queries/contacts/leads.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { writtenAddress } from '#domain/base/address.ts';
import type { CallerWorkspace } from '#domain/accounts/caller.ts';
import { ApiError, invalid } from '#api/http/errors.ts';

/** How a request names a contact: an address, or else a lead with all of theirs. */
interface NamedContact {
  leadId?: string | undefined;
  phone?: string | undefined;
  email?: string | undefined;
}

/**
 * The addresses of a contact as they were written, at least one. `contactKey` gives those by which it is known.
 * @throws VALIDATION_ERROR, NOT_FOUND
 */
export async function writtenAddressesOf(
  db: TenantDb,
  { country }: Pick<CallerWorkspace, 'country'>,
  { leadId, phone, email }: NamedContact,
): Promise<[string, ...string[]]> {
  const given = phone ?? email;
  if (given !== undefined) {
    const address = writtenAddress(given, country);
    if (address === null)
      throw invalid(phone === undefined ? 'email' : 'phone', 'must be a phone number or an email address');
    return [address];
  }
  if (leadId === undefined) throw invalid('leadId', 'leadId, phone or email is required');
  const lead = await findLead(db, leadId);
  if (!lead) throw new ApiError('NOT_FOUND', 'leadId: no such lead in this workspace');
  const [first, ...others] = [...lead.phones, ...lead.emails];
  if (first === undefined) throw invalid('leadId', 'the lead has no phone number or email address');
  return [first, ...others];
}
