import { z } from 'zod';
import type { CallStatus } from '#domain/inbox/call.ts';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';

/** A call's status callback (www.twilio.com/docs/voice/api/call-resource#statuscallback). */
const StatusForm = z.object({
  CallSid: z.string().min(1),
  CallStatus: z.string().min(1),
  /** Numbers in E.164, client names or SIP addresses; a caller may withhold its number. */
  From: z.string().default(''),
  To: z.string().default(''),
  /** In seconds, for answered calls. */
  CallDuration: z.coerce.number().min(0).optional().catch(undefined),
  /** RFC 2822 */
  Timestamp: z.coerce.date().optional().catch(undefined),
});
/** A recording's status callback, which identifies its call by id. The final callback of a call can have the same fields. */
const RecordingForm = z.object({
  CallSid: z.string().min(1),
  RecordingSid: z.string().min(1),
  RecordingUrl: z.url().optional().catch(undefined),
  RecordingStatus: z.string().default('completed'),
});

const STATUS: Readonly<Record<string, CallStatus>> = {
  queued: 'requested',
  initiated: 'requested',
  ringing: 'ringing',
  'in-progress': 'answered',
  completed: 'billed',
  busy: 'failed',
  'no-answer': 'failed',
  failed: 'failed',
  canceled: 'failed',
};

/** Parses a voice callback: events of the call, its recording, or both. @throws ZodError */
export function readTwilioCall(fields: Record<string, string>, now: Date): CarrierEvent[] {
  const { CallStatus: status, RecordingSid: recording } = fields;
  return [
    ...(status !== undefined || recording === undefined ? statusEvents(StatusForm.parse(fields), now) : []),
    ...(recording === undefined ? [] : recordingEvents(RecordingForm.parse(fields), now)),
  ];
}

function statusEvents(
  { CallSid: callId, CallStatus: told, From, To, CallDuration, Timestamp }: z.infer<typeof StatusForm>,
  now: Date,
): CarrierEvent[] {
  const status = STATUS[told];
  if (!status) return [];
  return [
    {
      kind: 'call',
      eventId: `${callId}:${told}`,
      callId,
      at: Timestamp ?? now,
      from: From,
      to: To,
      status,
      ...(status === 'billed' && CallDuration !== undefined && { durationSec: CallDuration }),
      ...((status === 'billed' || status === 'failed') && { hangupCause: told }),
    },
  ];
}

/** Only completed recordings can be fetched. */
function recordingEvents(
  { CallSid, RecordingSid, RecordingUrl, RecordingStatus }: z.infer<typeof RecordingForm>,
  at: Date,
): CarrierEvent[] {
  if (RecordingStatus !== 'completed' || RecordingUrl === undefined) return [];
  const eventId = `${CallSid}:${RecordingSid}`;
  return [{ kind: 'recording', eventId, callId: CallSid, at, recordingUrl: asMp3(RecordingUrl) }];
}

/** Without an extension the URL returns WAV, which exceeds the size limit for an hour in stereo. */
function asMp3(address: string): string {
  const url = new URL(address);
  if (!/\.\w+$/.test(url.pathname)) url.pathname += '.mp3';
  return url.href;
}
