import { z } from 'zod';
import { FinishBy } from './finish-by.ts';
import { MessageStep } from '../step.ts';
import { Channel } from '#domain/base/channel.ts';
import { Id } from '#domain/base/ids.ts';
import { MessageInput } from '#domain/messages/message.ts';

const { timezone, sendWindowStart, sendWindowEnd, allowedDaysOfWeek, stickinessPolicy } = MessageInput.shape;

/** The body of `POST /api/forecast`. */
export const ForecastInput = z
  .object({
    newConversations: z.int().min(1).max(1_000_000).meta({
      description:
        'The number of contacts who get the sequence. None of them has exchanged messages with a line.',
    }),
    steps: z
      .array(z.object({ delay: MessageStep.shape.delay, messageType: Channel.default('imessage') }))
      .min(1)
      .max(50),
    lineIds: z.array(Id).min(1).max(500).optional().meta({ description: 'Default: all active lines.' }),
    poolId: Id.optional().meta({ description: 'Cannot be combined with `lineIds`.' }),
    stickinessPolicy: stickinessPolicy.meta({
      description: "Default: `sticky`; with a pool, the pool's setting.",
    }),
    timezone,
    sendWindowStart,
    sendWindowEnd,
    allowedDaysOfWeek,
  })
  .meta({ id: 'ForecastInput' });
export type ForecastInput = z.output<typeof ForecastInput>;

/** When a campaign finishes, according to the pacing rules and the messages that wait today. */
export const Forecast = z
  .object({
    success: z.literal(true),
    completesAt: z.iso.datetime().nullable().meta({
      description:
        'null: nothing is left to send, it takes more than three years, or a line that is paused, down, not active or not connected holds some of it; `limitedBy` says which.',
    }),
    firstStepDoneAt: z.iso.datetime().nullable().meta({
      description: 'When the first step has been sent to the last contact who has not entered yet.',
    }),
    byDay: z.array(z.object({ date: z.iso.date(), messages: z.int(), newConversations: z.int() })),
    limitedBy: z
      .array(z.object({ reason: z.string(), share: z.number() }))
      .meta({ description: 'What limited the lines, as a `holdReason`, with the share of their days.' }),
    linesFor: z.array(z.object({ days: z.int(), lines: z.int() })).meta({
      description:
        'The number of days, today included, after which this many lines would finish. New lines warm up.',
    }),
    finishBy: FinishBy.nullable().meta({ description: 'null: the campaign has no deadline.' }),
  })
  .meta({ id: 'Forecast' });
export type Forecast = z.infer<typeof Forecast>;
