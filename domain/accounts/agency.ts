import { z } from 'zod';
import { TimeZone } from '../base/time-zone.ts';
import { BillingMode, Plan, SubscriptionStatus } from '../billing/entitlement.ts';
import { WorkspaceId } from '../base/ids.ts';
import { oneLine } from '../base/text.ts';

/** A client of an agency. */
export const SubAccount = z
  .object({
    idpOrgId: WorkspaceId,
    name: z.string(),
    legalName: z.string(),
    timezone: z.string(),
    plan: Plan.nullable(),
    subscriptionStatus: SubscriptionStatus,
    billingMode: BillingMode,
    lineCount: z.int(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'SubAccount' });
export type SubAccount = z.infer<typeof SubAccount>;

export const SubAccountInput = z
  .object({
    name: z.string().trim().min(1).max(200).overwrite(oneLine),
    legalName: z
      .string()
      .trim()
      .max(200)
      .overwrite(oneLine)
      .optional()
      .meta({ description: 'Default: the name.' }),
    timezone: TimeZone.default('UTC'),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, 'must be an ISO 3166 country code')
      .default('US')
      .meta({ description: 'The country assumed for phone numbers without a country code.' }),
  })
  .meta({ id: 'SubAccountInput' });
export type SubAccountInput = z.infer<typeof SubAccountInput>;
