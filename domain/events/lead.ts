import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { eventHead } from './base.ts';

const leadEvent = <Name extends string>(event: Name) =>
  eventHead(event).extend({ leadId: Id, listId: Id, lead: Lead });

/** A lead was saved, except by an import or for a message. */
export const LeadCreated = leadEvent('lead.created');

/** A lead has new fields. `lead` has all of them. */
export const LeadUpdated = leadEvent('lead.updated');

/** A lead was deleted, except with its list. `lead` is what it was. Erasing a contact tells nothing of them. */
export const LeadDeleted = leadEvent('lead.deleted');
