import { Id } from '../base/ids.ts';
import { Call } from '../inbox/call.ts';
import { eventHead } from './base.ts';

/** A call has ended, or its last attempt has failed. */
export const CallEnded = eventHead('call.ended').extend({
  callId: Id,
  lineId: Id,
  call: Call.omit({ recordingUrl: true, recordingFailure: true }),
});
