import { z } from 'zod';
import { Channel } from '../base/channel.ts';
import { Capability } from './capability.ts';
import { ShareContactCard } from './contact-card.ts';
import { Id, WorkspaceId } from '../base/ids.ts';
import { LineReputation, ReputationPolicy } from './reputation.ts';
import { oneLine } from '../base/text.ts';
import { UsRegistration } from './us-registration.ts';

/** Shared by lines and line requests. */
export const ProvisioningStatus = z.enum([
  'awaiting_payment',
  'provisioning',
  'active',
  'failed',
  'canceled',
]);
export const PaymentStatus = z.enum(['not_required', 'pending', 'paid', 'failed', 'canceled', 'invoiced']);
export const HealthStatus = z.enum(['healthy', 'degraded', 'down', 'unknown']);
export const LineType = z.enum(['purchased', 'byo']);
export const RequestSource = z.enum(['api', 'dashboard', 'agency']);
export type RequestSource = z.infer<typeof RequestSource>;

/** When contacts see that their messages were read: never, once a person opens the conversation or answers, or only then. */
export const ReadReceipts = z.enum(['off', 'on_open', 'on_reply']).meta({
  description:
    'When contacts see `Read`: `on_open`, when a member opens the conversation, or answers; `on_reply`, when a member answers. Needs the capability `read_receipts`.',
});
export type ReadReceipts = z.infer<typeof ReadReceipts>;

/** Used in place of a carrier's name while the line is not connected to one. */
export const NO_CARRIER = 'none';

/** A line as the API returns it. */
export const Line = z
  .object({
    _id: Id,
    workspaceId: WorkspaceId,
    firstName: z.string(),
    lastName: z.string(),
    phone: z.string().nullable(),
    email: z.string().nullable(),
    isActive: z.boolean(),
    provisioningStatus: ProvisioningStatus,
    paymentStatus: PaymentStatus,
    requestSource: RequestSource,
    requestedChannelType: Channel,
    requestedLineType: LineType,
    capabilities: z.array(Capability).meta({
      description:
        'What its carrier can do besides sending text. Empty while it is not connected. Anything else is answered with `UNSUPPORTED_BY_CARRIER`, or with the warning `unsupported_effect` if it is a property of a message.',
    }),
    paymentLinkUrl: z.string().nullable(),
    paymentProviderInvoiceId: z.string().nullable(),
    dailyNewConversationsLimit: z.int(),
    dailyTotalMessagesLimit: z.int(),
    hourlyNewConversationsLimit: z
      .int()
      .nullable()
      .meta({ description: 'null: a random limit from 3 to 7 for each hour.' }),
    minGapSeconds: z.int(),
    contactGapSeconds: z.int(),
    lineDownNotifications: z.boolean(),
    readReceipts: ReadReceipts,
    shareContactCard: ShareContactCard,
    isPaused: z
      .boolean()
      .meta({ description: 'It sends nothing until it is resumed, and its messages wait.' }),
    reputationPolicy: ReputationPolicy.nullable().meta({ description: "null: the workspace's." }),
    reputation: LineReputation,
    usage: z.object({
      date: z.iso.date(),
      newMessages: z.int(),
      newMessagesLimit: z.int().meta({
        description:
          'How many new conversations the line may begin today: `dailyNewConversationsLimit`, or fewer because of its warm-up or reputation.',
      }),
      totalMessages: z.int(),
    }),
    blocked: z.object({ since: z.iso.datetime(), reason: z.string().nullable() }).nullable().meta({
      description: "Its carrier takes no messages, with the carrier's reason. They keep their places.",
    }),
    healthCheck: z
      .object({
        status: HealthStatus,
        lastCheckedAt: z.iso.datetime(),
        inbox: z.object({ failingSince: z.iso.datetime(), reason: z.string() }).optional().meta({
          description:
            'Present while the mailbox of the line cannot be read, or its carrier does not report replies to it, which is checked once an hour. After ten minutes the line is `degraded`.',
        }),
        reason: z.string().optional().meta({ description: 'Why the last check failed.' }),
      })
      .optional(),
    usRegistration: UsRegistration.optional(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Line' });
export type Line = z.infer<typeof Line>;

/** Of a cap in messages, and of a gap in seconds. */
export const MAX_LIMIT = 10_000;

const Limit = z.int().min(0).max(MAX_LIMIT);

/** The body of `POST /api/lines/{id}/pause`. */
export const LinePauseInput = z
  .object({
    reason: z
      .string()
      .trim()
      .min(1)
      .max(500)
      .overwrite(oneLine)
      .optional()
      .meta({ description: 'For the audit log and the timelines of the messages that wait.' }),
  })
  .meta({ id: 'LinePauseInput' });

/** The body of `PATCH /api/lines/{id}`. Setting a limit ends the warm-up. */
export const LinePatch = z
  .object({
    firstName: z.string().max(100).overwrite(oneLine),
    lastName: z.string().max(100).overwrite(oneLine),
    isActive: z.boolean(),
    dailyTotalMessagesLimit: Limit,
    dailyNewConversationsLimit: Limit,
    hourlyNewConversationsLimit: Limit.nullable(),
    minGapSeconds: Limit,
    contactGapSeconds: Limit,
    lineDownNotifications: z.boolean(),
    readReceipts: ReadReceipts,
    shareContactCard: ShareContactCard,
    reputationPolicy: ReputationPolicy.nullable().meta({ description: "null: the workspace's." }),
  })
  .partial()
  .meta({ id: 'LinePatch' });
export type LinePatch = z.infer<typeof LinePatch>;
