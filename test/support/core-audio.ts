import { OpusDecoder } from 'opus-decoder';

/** The decoded audio of a voice note. */
export interface Played {
  codec: string;
  channels: number;
  seconds: number;
  /** The frequency of a tone. */
  hertz: number;
}

const PLAYED_RATE = 48_000;

/** Decodes a Core Audio file of Opus according to its specification, independently of the ffmpeg that made it. */
export async function play(caf: Buffer): Promise<Played> {
  if (caf.toString('latin1', 0, 4) !== 'caff') throw new Error('no Core Audio file');
  const chunks = new Map(chunksOf(caf));
  const chunk = (type: string): Buffer => {
    const found = chunks.get(type);
    if (!found) throw new Error(`no ${type} chunk`);
    return found;
  };
  const description = chunk('desc');
  const channels = description.readUInt32BE(24);
  const packets = packetsOf(chunk('data').subarray(4), chunk('pakt'));
  const decoder = new OpusDecoder({
    channels,
    streamCount: 1,
    coupledStreamCount: channels - 1,
    channelMappingTable: [0, 1].slice(0, channels),
  });
  await decoder.ready;
  const { channelData, samplesDecoded, errors } = decoder.decodeFrames(packets);
  decoder.free();
  if (errors.length > 0) throw new Error(`${errors.length} packets cannot be decoded`);
  const seconds = samplesDecoded / PLAYED_RATE;
  return {
    codec: description.toString('latin1', 8, 12),
    channels,
    seconds,
    hertz: countCycles(channelData[0] ?? new Float32Array()) / seconds,
  };
}

function* chunksOf(caf: Buffer): Generator<[type: string, content: Buffer]> {
  for (let at = 8; at < caf.length;) {
    const size = Number(caf.readBigInt64BE(at + 4));
    yield [caf.toString('latin1', at, at + 4), caf.subarray(at + 12, at + 12 + size)];
    at += 12 + size;
  }
}

/** The packet table lists sizes, seven bits to a byte, the highest bit set in all but the last. */
function packetsOf(data: Buffer, table: Buffer): Buffer[] {
  const count = Number(table.readBigInt64BE(0));
  const packets: Buffer[] = [];
  let [size, start] = [0, 0];
  for (const byte of table.subarray(24)) {
    size = size * 128 + (byte & 127);
    if (byte & 128) continue;
    packets.push(data.subarray(start, start + size));
    start += size;
    size = 0;
  }
  if (packets.length !== count || start !== data.length) throw new Error('the packet table does not fit');
  return packets;
}

/** Counts upward crossings of zero. */
function countCycles(samples: Float32Array): number {
  let count = 0;
  for (let at = 1; at < samples.length; at += 1) {
    if ((samples[at - 1] ?? 0) < 0 && (samples[at] ?? 0) >= 0) count += 1;
  }
  return count;
}
