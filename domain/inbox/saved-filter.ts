import { z } from 'zod';
import { requiredLine } from '../base/required-line.ts';
import { Id } from '../base/ids.ts';
import { oneLine } from '../base/text.ts';

/** The views of the console's inbox. */
export const INBOX_VIEWS = [
  'open',
  'unread',
  'mine',
  'unassigned',
  'unanswered',
  'drafts',
  'snoozed',
  'closed',
  'all',
] as const;

const fields = {
  name: requiredLine(50),
  view: z.enum(INBOX_VIEWS),
  search: z.string().trim().max(200).overwrite(oneLine).meta({
    description: 'A search as in the search box of the inbox: part of a text, and `tag:vip` for a tag.',
  }),
  shared: z.boolean().meta({
    description:
      'Whether all members see and change it. Otherwise only the signed-in user does. A key has no user, and can save only shared filters.',
  }),
};

/** The body of `POST /api/saved-filters`. */
export const SavedFilterInput = z
  .object({ ...fields, search: fields.search.default(''), shared: fields.shared.default(false) })
  .meta({ id: 'SavedFilterInput' });
export type SavedFilterInput = z.output<typeof SavedFilterInput>;

/** The body of `PATCH /api/saved-filters/{id}`. */
export const SavedFilterPatch = z.object(fields).partial().meta({ id: 'SavedFilterPatch' });
export type SavedFilterPatch = z.infer<typeof SavedFilterPatch>;

/** A view of the inbox and a search, by the name that somebody gave them. */
export const SavedFilter = z
  .object({
    _id: Id,
    name: z.string(),
    view: z.enum(INBOX_VIEWS),
    search: z.string(),
    shared: z.boolean(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'SavedFilter' });
export type SavedFilter = z.infer<typeof SavedFilter>;
