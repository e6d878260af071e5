import { z } from 'zod';
import { normalizeEmail } from '../base/address.ts';
import { Channel } from '../base/channel.ts';
import { Id } from '../base/ids.ts';
import { isCountry } from '../base/phone.ts';
import { LineType, PaymentStatus, ProvisioningStatus } from './line.ts';
import { oneLine } from '../base/text.ts';
import { UsRegistration } from './us-registration.ts';

const Name = z.string().trim().min(1).max(100).overwrite(oneLine);

/** The body of `POST /api/line-requests`. */
export const LineRequestInput = z
  .object({
    channelType: Channel.default('imessage'),
    lineType: LineType.default('purchased'),
    firstName: Name,
    lastName: Name,
    email: z
      .string()
      .max(254)
      .refine((email) => normalizeEmail(email) !== null, 'must be an email address')
      .optional()
      .meta({ description: 'The requested address of an email line.' }),
    areaCode: z
      .string()
      .regex(/^\d{1,5}$/, 'must be 1 to 5 digits')
      .optional(),
    country: z
      .string()
      .refine(isCountry, 'must be an ISO 3166-1 alpha-2 code')
      .optional()
      .meta({ description: "Default: the workspace's country." }),
  })
  .meta({ id: 'LineRequestInput' });
export type LineRequestInput = z.infer<typeof LineRequestInput>;

export const LineRequestAction = z.enum(['payment_link', 'cancel', 'retry']);

/** A line request as the API returns it. Its id is the id of its line. */
export const LineRequest = z
  .object({
    success: z.literal(true),
    status: ProvisioningStatus,
    paymentStatus: PaymentStatus,
    paymentRequired: z.boolean().meta({ description: 'Whether it awaits payment at `paymentUrl`.' }),
    failureReason: z.string().optional().meta({ description: 'Why it failed.' }),
    paymentUrl: z.url().optional().meta({ description: 'The hosted invoice, while it is open.' }),
    line: z.object({
      _id: Id,
      firstName: z.string(),
      lastName: z.string(),
      channelType: Channel,
      lineType: LineType,
      provisioningStatus: ProvisioningStatus,
      paymentStatus: PaymentStatus,
      usRegistration: UsRegistration.optional(),
    }),
  })
  .meta({ id: 'LineRequest' });
export type LineRequest = z.infer<typeof LineRequest>;
