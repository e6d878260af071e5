import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import Router from '@koa/router';

/** A call that takes place. What is told of it, and in which order, is the test's to say. */
export interface TwilioCall {
  sid: string;
  recordingSid: string;
  /** Tells of a status of the call; the answer's status. */
  tell(status: string, more?: Record<string, string>): Promise<number>;
  /** Tells of its recording, which does not name the two parties; the answer's status. */
  tellRecording(status?: string, more?: Record<string, string>): Promise<number>;
}

export interface PlacedCall {
  from: string;
  to: string;
  direction: 'inbound' | 'outbound-api';
  /** When it was asked for. */
  startedAt: Date;
  seconds: number;
  /** Where the number's settings say that calls and recordings are told of. */
  webhook: string;
  /** It is said to be longer than this, and never ends. */
  recordingBytes?: number;
}

export interface TwilioCalls {
  place(call: PlacedCall): TwilioCall;
  /** Below the account's address, where a password is asked for. */
  routes: Router;
}

const RINGING_SECONDS = 4;
const ENDINGS = ['completed', 'busy', 'no-answer', 'failed', 'canceled'];

/** The part of Twilio Programmable Voice that tells of calls, from its documents. */
export function twilioCalls(
  account: { sid: string; url(): string },
  post: (url: string, fields: Record<string, string>) => Promise<Response>,
): TwilioCalls {
  /** What a recording is said to be long; null for one that is as it should be. */
  const recordings = new Map<string, number | null>();
  const routes = new Router();

  // `.wav` is what comes without an ending.
  routes.get('/Recordings/:file', (context) => {
    const [, sid = '', ending = 'wav'] = /^(RE\w+)(?:\.(wav|mp3))?$/.exec(context.params['file'] ?? '') ?? [];
    const bytes = recordings.get(sid);
    if (bytes === undefined) return;
    context.type = ending === 'mp3' ? 'audio/mpeg' : 'audio/x-wav';
    context.body = bytes === null ? SECOND[ending === 'mp3' ? 'mp3' : 'wav'] : endless();
    if (bytes !== null) context.length = bytes;
  });

  function place({ from, to, direction, startedAt, seconds, webhook, recordingBytes }: PlacedCall) {
    const sid = `CA${randomBytes(16).toString('hex')}`;
    const recordingSid = `RE${randomBytes(16).toString('hex')}`;
    recordings.set(recordingSid, recordingBytes ?? null);
    const about = { CallSid: sid, AccountSid: account.sid, ApiVersion: '2010-04-01' };
    const secondsAt = (status: string): number => {
      if (status === 'ringing') return 1;
      if (status === 'in-progress') return 1 + RINGING_SECONDS;
      if (status === 'completed') return 1 + RINGING_SECONDS + seconds;
      return ENDINGS.includes(status) ? 1 + RINGING_SECONDS : 0;
    };
    const tell: TwilioCall['tell'] = async (status, more = {}) => {
      const at = new Date(startedAt.getTime() + secondsAt(status) * 1000);
      const answer = await post(webhook, {
        ...about,
        CallStatus: status,
        From: from,
        Caller: from,
        To: to,
        Called: to,
        Direction: direction,
        Timestamp: at.toUTCString().replace('GMT', '+0000'),
        CallbackSource: 'call-progress-events',
        // `Duration` counts minutes.
        ...(status === 'completed' && {
          CallDuration: String(seconds),
          Duration: String(Math.ceil(seconds / 60)),
        }),
        ...more,
      });
      return answer.status;
    };
    const tellRecording: TwilioCall['tellRecording'] = async (status = 'completed', more = {}) => {
      const answer = await post(webhook, {
        ...about,
        RecordingSid: recordingSid,
        RecordingUrl: `${account.url()}/2010-04-01/Accounts/${account.sid}/Recordings/${recordingSid}`,
        RecordingStatus: status,
        RecordingDuration: String(seconds),
        RecordingChannels: '1',
        RecordingSource: 'OutboundAPI',
        RecordingStartTime: startedAt.toUTCString().replace('GMT', '+0000'),
        ...more,
      });
      return answer.status;
    };
    return { sid, recordingSid, tell, tellRecording };
  }

  return { place, routes };
}

const endless = (): Readable =>
  Readable.from(
    (async function* () {
      yield Buffer.alloc(1024);
      await new Promise(() => {});
    })(),
  );

/** Silence. */
const SECOND = { wav: wav(), mp3: mp3() };

/** 16-bit mono PCM at 8 kHz. */
function wav(): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + 16_000, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(16_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(16_000, 40);
  return Buffer.concat([header, Buffer.alloc(16_000)]);
}

/** MPEG-2 layer III, mono, 22.05 kHz, 32 kbit/s: frames of 576 samples without anything in them. */
function mp3(): Buffer {
  const frame = Buffer.alloc(104);
  frame.set([0xff, 0xf3, 0x40, 0xc0]);
  return Buffer.concat(Array.from({ length: Math.round(22_050 / 576) }, () => frame));
}
