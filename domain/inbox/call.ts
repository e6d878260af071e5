import { z } from 'zod';
import { Id } from '../base/ids.ts';

const CallStatus = z.enum(['requested', 'ringing', 'answered', 'billed', 'failed']);
export type CallStatus = z.infer<typeof CallStatus>;

/** The order of the statuses. A call never goes back; of the two final statuses, the first to arrive stays. */
export const CALL_PROGRESS: Record<CallStatus, number> = {
  requested: 0,
  ringing: 1,
  answered: 2,
  billed: 3,
  failed: 3,
};

/** A call as the API returns it. Fields that are not known are omitted. */
export const Call = z.object({
  callId: Id,
  from: z.string().meta({ description: 'The caller ID that was displayed.' }),
  to: z.string(),
  agent: z
    .string()
    .optional()
    .meta({ description: "The rep's number; only for calls placed through the API." }),
  surface: z.string().meta({ description: '`carrier`: a call reported by the carrier.' }),
  status: CallStatus,
  requestedAt: z.iso.datetime(),
  answeredAt: z.iso.datetime().optional(),
  endedAt: z.iso.datetime().optional(),
  durationSec: z.number().optional().meta({ description: 'Talk time in seconds.' }),
  billedSec: z.number().optional(),
  billedCents: z.number().optional(),
  hangupCause: z.string().optional(),
  recordingUrl: z.string().nullable().meta({
    description:
      'A signed link, created for each request and valid for 30 days; null until the call has ended and its recording is stored.',
  }),
  recordingFailure: z
    .string()
    .optional()
    .meta({ description: 'Why the recording could not be stored; it is not retried.' }),
});
export type Call = z.infer<typeof Call>;
