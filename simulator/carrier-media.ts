import type { Inbound } from './carrier-log.ts';

/** Files of contacts and recordings of calls. Their URLs require the carrier's secret. */

const MEDIA = '/carrier/media';
export const RECORDING_URL = `${MEDIA}/recording.wav`;

/** A picture sent by a simulated recipient. */
export const sampleMedia = (number: number) => ({
  name: `photo-${number}.png`,
  contentType: 'image/png',
  url: `${MEDIA}/photo-${number}.png`,
});

export const inboundMediaUrl = (inboundId: string, index: number): string => `${MEDIA}/${inboundId}-${index}`;

/** The file with an id, which is the last segment of its URL; undefined if there is none. */
export function findMedia(
  id: string,
  inbound: (id: string) => Inbound | undefined,
): { contentType: string; content: Buffer } | undefined {
  if (/^photo-\d+\.png$/.test(id)) return { contentType: 'image/png', content: PIXEL };
  if (id === 'recording.wav') return { contentType: 'audio/wav', content: SECOND_OF_SILENCE };
  const [, inboundId = '', index = ''] = /^([0-9a-f]+)-(\d+)$/.exec(id) ?? [];
  const file = inbound(inboundId)?.attachments[Number(index)];
  return file && { contentType: file.contentType, content: Buffer.from(file.base64, 'base64') };
}

/** A transparent picture of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const SECOND_OF_SILENCE = silence(8000);

/** A WAV file: 8-bit mono PCM at 8 kHz. */
function silence(samples: number): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 0x80)]);
}
