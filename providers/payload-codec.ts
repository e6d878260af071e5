import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { mapInTurns } from '#domain/base/turns.ts';
import { readKeyRing } from '#domain/base/key-ring.ts';

/** A payload cannot be decrypted. The message may contain a key id, but never content. */
export class PayloadCodecError extends Error {
  override readonly name = 'PayloadCodecError';
}

const ENCODING = Buffer.from('binary/encrypted');
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The first entry in place of a key: nothing is encrypted until a restart has given all processes the key. */
const PLAIN = 'plain';
/** The last entry in place of a key: what is not encrypted is refused. */
const ONLY = 'only';

/**
 * Encrypts what Temporal stores with AES-256-GCM: the whole payload, with its metadata, as `iv, ciphertext, tag`. The id
 * of the key is in the metadata of the encrypted payload. Payloads in any other encoding are read as they are, or with `only` refused.
 * @param keys `TEMPORAL_CODEC_KEYS`: `id:base64,id2:base64` of 32 bytes each; the first encrypts, all decrypt.
 * @param options.showsPlain also with `only`: nothing acts on what is only shown.
 * @throws with the id of a malformed key.
 */
export function createPayloadCodec(keys: string, { showsPlain = false } = {}): PayloadCodec {
  const { isEncrypting, isStrict, ring } = readKeys(keys);
  const [current] = isEncrypting ? ring : [];
  const readPlain = (payload: Payload): Payload => {
    if (isStrict && !showsPlain)
      throw new PayloadCodecError('a payload is not encrypted, which TEMPORAL_CODEC_KEYS refuses');
    return payload;
  };
  return {
    encode: async (payloads) =>
      current ? mapInTurns(payloads, (payload) => seal(payload, ...current)) : payloads,
    decode: (payloads) =>
      mapInTurns(payloads, (payload) => (isSealed(payload) ? open(payload, ring) : readPlain(payload))),
  };
}

function readKeys(keys: string) {
  const entries = keys.split(',').map((entry) => entry.trim());
  const isEncrypting = encrypts(keys);
  const isStrict = entries.at(-1) === ONLY;
  if (isStrict && !isEncrypting)
    throw new Error(`TEMPORAL_CODEC_KEYS cannot begin with ${PLAIN} and end with ${ONLY}`);
  const named = entries.slice(isEncrypting ? 0 : 1, isStrict ? -1 : undefined);
  return { isEncrypting, isStrict, ring: readKeyRing('TEMPORAL_CODEC_KEYS', named.join(',')) };
}

const encrypts = (keys: string): boolean => keys !== PLAIN && !keys.startsWith(`${PLAIN},`);

function seal(payload: Payload, keyId: string, key: Buffer): Payload {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(keyId));
  const plain = proto.temporal.api.common.v1.Payload.encode(payload).finish();
  return {
    metadata: { encoding: ENCODING, 'encryption-key-id': Buffer.from(keyId) },
    data: Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]),
  };
}

const isSealed = ({ metadata }: Payload): boolean =>
  metadata?.['encoding'] !== undefined && ENCODING.equals(metadata['encoding']);

function open({ metadata, data }: Payload, ring: ReadonlyMap<string, Buffer>): Payload {
  const keyId = Buffer.from(metadata?.['encryption-key-id'] ?? []).toString();
  const key = ring.get(keyId);
  if (!key) throw new PayloadCodecError(`the key ${keyId} of a payload is not in TEMPORAL_CODEC_KEYS`);
  const sealed = Buffer.from(data ?? []);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(keyId))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    return proto.temporal.api.common.v1.Payload.decode(plain);
  } catch {
    throw new PayloadCodecError(`a payload cannot be decrypted with key ${keyId}: it was changed`);
  }
}

/** How clients, workers and replays convert data. @param keys null: payloads and failures are stored as they are. */
export function dataConverter(keys: string | null): DataConverter {
  if (keys === null) return {};
  return { payloadCodecs: [createPayloadCodec(keys)], ...failureConverter(keys) };
}

/**
 * The module that moves the message and stack of a failure into a payload, which the codec encrypts. Workflows need it in
 * their bundle.
 */
export const failureConverter = (keys: string | null): Pick<DataConverter, 'failureConverterPath'> =>
  keys !== null && encrypts(keys)
    ? { failureConverterPath: fileURLToPath(new URL('encoded-failures.ts', import.meta.url)) }
    : {};
