import { z } from 'zod';
import { eitherOf, MAX_BULK } from '../base/bulk.ts';
import { Id } from '../base/ids.ts';
import { CustomFields, CustomFieldName, CustomFieldValue, LeadFilter } from './lead.ts';

const ofLists = ['addToListId', 'removeFromListId'] as const;
const ofFields = ['contactOwnerEmail', 'customFields'] as const;

/** What is done with many leads. */
export const LeadsChange = z
  .object({
    addToListId: Id.optional().meta({ description: 'With `removeFromListId`, the leads are moved.' }),
    removeFromListId: Id.optional().meta({
      description:
        'A lead that is in no other list stays; delete it instead. Campaigns that it has entered go on.',
    }),
    contactOwnerEmail: z
      .string()
      .max(320)
      .nullable()
      .optional()
      .meta({ description: 'A member of the workspace. Anyone else, and null: the first member.' }),
    customFields: z
      .record(CustomFieldName, CustomFieldValue.nullable())
      .optional()
      .meta({ description: 'Fields to set, or to remove with null. Others do not change.' }),
    delete: z
      .literal(true)
      .optional()
      .meta({ description: 'Cancels unsent messages, cannot be undone, and needs the scope `manage`.' }),
    optOut: z.literal(true).optional().meta({
      description: "Opts all the leads' addresses out, and fails their unsent messages. Cannot be undone.",
    }),
  })
  .superRefine((change, context) => {
    const given = (names: readonly (keyof typeof change)[]): number =>
      Number(names.some((name) => change[name] !== undefined));
    const kinds = given(ofLists) + given(ofFields) + given(['delete']) + given(['optOut']);
    if (kinds !== 1)
      context.addIssue({
        code: 'custom',
        message: `must be one of: lists (${ofLists.join(', ')}), fields (${ofFields.join(', ')}), delete, optOut`,
      });
    if (change.addToListId !== undefined && change.addToListId === change.removeFromListId)
      context.addIssue({ code: 'custom', path: ['addToListId'], message: 'is the list to remove from' });
  })
  .meta({ id: 'LeadsChange' });
export type LeadsChange = z.infer<typeof LeadsChange>;

export const LeadsBulk = z
  .object({
    leadIds: z
      .array(Id)
      .min(1)
      .max(MAX_BULK)
      .optional()
      .meta({ description: 'Either `leadIds` or `filter` is required.' }),
    filter: z
      .object(LeadFilter)
      .optional()
      .meta({ description: 'The filters of `GET /api/leads`; `{}` is all.' }),
    change: LeadsChange,
    dryRun: z
      .boolean()
      .default(false)
      .meta({ description: 'Only says what would be changed and what left out.' }),
  })
  .superRefine(eitherOf('leadIds', 'filter'))
  .meta({ id: 'LeadsBulk' });

/** What a bulk change of leads changed. */
export interface LeadBulkState {
  /** Whether the lead is in each of the lists that were changed. */
  lists?: Record<string, boolean>;
  contactOwnerEmail?: string | null;
  /** null: it does not have the field. */
  customFields?: Record<string, string | null>;
}

/** Custom fields after some were set and others removed; null if they would exceed their limits. */
export function changedFields(
  fields: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> | null {
  const all = { ...fields, ...changes };
  const left = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  return CustomFields.safeParse(left).success ? left : null;
}
