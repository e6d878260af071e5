import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import Router from '@koa/router';

/** A simulated call. The test chooses which callbacks are posted, and in which order. */
export interface TwilioCall {
  sid: string;
  recordingSid: string;
  /** Posts a status callback. @returns the status of the response. */
  reportStatus(status: string, more?: Record<string, string>): Promise<number>;
  /** Posts a recording callback, which names neither party. @returns the status of the response. */
  reportRecording(status?: string, more?: Record<string, string>): Promise<number>;
}

export interface PlacedCall {
  from: string;
  to: string;
  direction: 'inbound' | 'outbound-api';
  /** When the call was requested. */
  startedAt: Date;
  seconds: number;
  /** The URL for callbacks in the settings of the number. */
  webhook: string;
  /** The declared length of a recording whose download never ends. */
  recordingBytes?: number;
}

export interface TwilioCalls {
  place(call: PlacedCall): TwilioCall;
  /** To be mounted under the account's URL, which requires authentication. */
  routes: Router;
}

const RINGING_SECONDS = 4;
const ENDINGS = ['completed', 'busy', 'no-response', 'failed', 'canceled'];

/** The callbacks of Twilio Programmable Voice, written from its documentation. */
export function twilioCalls(
  account: { sid: string; url(): string },
  post: (url: string, fields: Record<string, string>) => Promise<Response>,
): TwilioCalls {
  /** Declared lengths of endless recordings; null for a regular one. */
  const recordings = new Map<string, number | null>();
  const routes = new Router();

  // Without an extension, Twilio returns WAV.
  routes.get('/Recordings/:file', (context) => {
    const [, sid = '', extension = 'wav'] =
      /^(RE\w+)(?:\.(wav|mp3))?$/.exec(context.params['file'] ?? '') ?? [];
    const bytes = recordings.get(sid);
    if (bytes === undefined) return;
    context.type = extension === 'mp3' ? 'audio/mpeg' : 'audio/x-wav';
    context.body = bytes === null ? SECOND[extension === 'mp3' ? 'mp3' : 'wav'] : endless();
    if (bytes !== null) context.length = bytes;
  });

  function place({ from, to, direction, startedAt, seconds, webhook, recordingBytes }: PlacedCall) {
    const sid = `CA${randomBytes(16).toString('hex')}`;
    const recordingSid = `RE${randomBytes(16).toString('hex')}`;
    recordings.set(recordingSid, recordingBytes ?? null);
    const common = { CallSid: sid, AccountSid: account.sid, ApiVersion: '2010-04-01' };
    const secondsAt = (status: string): number => {
      if (status === 'ringing') return 1;
      if (status === 'in-progress') return 1 + RINGING_SECONDS;
      if (status === 'completed') return 1 + RINGING_SECONDS + seconds;
      return ENDINGS.includes(status) ? 1 + RINGING_SECONDS : 0;
    };
    const reportStatus: TwilioCall['reportStatus'] = async (status, more = {}) => {
      const at = new Date(startedAt.getTime() + secondsAt(status) * 1000);
      const response = await post(webhook, {
        ...common,
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
      return response.status;
    };
    const reportRecording: TwilioCall['reportRecording'] = async (status = 'completed', more = {}) => {
      const response = await post(webhook, {
        ...common,
        RecordingSid: recordingSid,
        RecordingUrl: `${account.url()}/2010-04-01/Accounts/${account.sid}/Recordings/${recordingSid}`,
        RecordingStatus: status,
        RecordingDuration: String(seconds),
        RecordingChannels: '1',
        RecordingSource: 'OutboundAPI',
        RecordingStartTime: startedAt.toUTCString().replace('GMT', '+0000'),
        ...more,
      });
      return response.status;
    };
    return { sid, recordingSid, reportStatus, reportRecording };
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

/** One second of silence. */
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

/** MPEG-2 layer III, mono, 22.05 kHz, 32 kbit/s: empty frames of 576 samples. */
function mp3(): Buffer {
  const frame = Buffer.alloc(104);
  frame.set([0xff, 0xf3, 0x40, 0xc0]);
  return Buffer.concat(Array.from({ length: Math.round(22_050 / 576) }, () => frame));
}
