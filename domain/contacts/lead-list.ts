import { z } from 'zod';
import { Id, UserId, WorkspaceId } from '../base/ids.ts';
import { oneLine } from '../base/text.ts';

/** The list for leads created without one. */
export const QUICK_SENDS = 'Quick Sends';

/** A lead list as the API returns it. */
export const LeadList = z
  .object({
    _id: Id,
    name: z.string(),
    description: z.string(),
    workspaceId: WorkspaceId,
    createdByUserId: UserId.nullable(),
    leadCount: z.int(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'LeadList' });
export type LeadList = z.infer<typeof LeadList>;

const ListName = z.string().trim().min(1, 'must not be empty').max(200).overwrite(oneLine);

export const LeadListInput = z
  .object({ name: ListName, description: z.string().max(2000).optional() })
  .meta({ id: 'LeadListInput' });
export type LeadListInput = z.infer<typeof LeadListInput>;

export const LeadListPatch = LeadListInput.partial().meta({ id: 'LeadListPatch' });
export type LeadListPatch = z.infer<typeof LeadListPatch>;
