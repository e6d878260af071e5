import { z } from 'zod';
import { Id } from './ids.ts';

const CallStatus = z.enum(['requested', 'ringing', 'answered', 'billed', 'failed']);
export type CallStatus = z.infer<typeof CallStatus>;

/** How far a call is: it never goes back. The last two are both its end, and the first to come stays. */
export const CALL_PROGRESS: Record<CallStatus, number> = {
  requested: 0,
  ringing: 1,
  answered: 2,
  billed: 3,
  failed: 3,
};

/** A call as the API shows it. What is not known yet, or never will be, is left out. */
export const Call = z.object({
  callId: Id,
  from: z.string().meta({ description: 'The caller id that was shown.' }),
  to: z.string(),
  agent: z
    .string()
    .optional()
    .meta({ description: "The rep's number, of calls placed through the API only." }),
  surface: z.string().meta({ description: '`carrier`: a call that the carrier told of.' }),
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
      'A signed link, made anew by each request and valid for 30 days; null until the call has ended and its recording is stored.',
  }),
  recordingFailure: z
    .string()
    .optional()
    .meta({ description: 'Why the recording could not be stored, and will not be.' }),
});
export type Call = z.infer<typeof Call>;
