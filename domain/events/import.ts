import { LeadImport } from '../contacts/lead-import.ts';
import { eventHead } from './base.ts';

/** A file was imported, up to its end or to what could not be read. The leads have no events of their own. */
export const ImportCompleted = eventHead('import.completed').extend({
  importId: LeadImport.shape.importId,
  listId: LeadImport.shape.listId,
  import: LeadImport,
});
