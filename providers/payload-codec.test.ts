import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPayloadCodec, failureConverter } from './payload-codec.ts';

const newKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const [FIRST, SECOND] = [newKey('1'), newKey('2')];
const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"the text"') };

const sealed = (keys: string) => createPayloadCodec(keys).encode([payload]);
const opened = async (keys: string, from: string) => {
  const [found] = await createPayloadCodec(keys).decode(await sealed(from));
  return Buffer.from(found?.data ?? []).toString();
};

describe('the payload codec', () => {
  it('opens with any of its keys what the first one of another process sealed', async () => {
    expect(await opened(FIRST, FIRST)).toBe('"the text"');
    expect(await opened(`${SECOND},${FIRST}`, FIRST)).toBe('"the text"');
    await expect(opened(SECOND, FIRST)).rejects.toThrow(
      'the key 1 of a payload is not in TEMPORAL_CODEC_KEYS',
    );
  });

  it('refuses a payload that was changed, and one whose key id names another key', async () => {
    const [{ metadata = {}, data = null } = {}] = await sealed(FIRST);
    const changed = Buffer.from(data ?? []);
    changed[20] = (changed[20] ?? 0) ^ 1;
    const codec = createPayloadCodec(`${FIRST},${SECOND}`);
    await expect(codec.decode([{ metadata, data: changed }])).rejects.toThrow('it was changed');
    const renamed = { ...metadata, 'encryption-key-id': Buffer.from('2') };
    await expect(codec.decode([{ metadata: renamed, data }])).rejects.toThrow('it was changed');
  });

  it('seals nothing with `plain` in first place, and opens what others seal', async () => {
    expect(await sealed(`plain,${FIRST}`)).toEqual([payload]);
    expect(await opened(`plain,${FIRST}`, FIRST)).toBe('"the text"');
    expect(failureConverter(`plain,${FIRST}`)).toEqual({});
    expect(failureConverter(FIRST).failureConverterPath).toContain('encoded-failures.ts');
  });

  it('refuses what is not encrypted with `only` in last place', async () => {
    const strict = createPayloadCodec(`${SECOND},${FIRST},only`);
    await expect(strict.decode([payload])).rejects.toThrow('is not encrypted');
    const shown = createPayloadCodec(`${FIRST},only`, { showsPlain: true });
    expect(await shown.decode([payload])).toEqual([payload]);
    expect(await opened(`${SECOND},${FIRST},only`, FIRST)).toBe('"the text"');
    expect(await opened(SECOND, `${SECOND},only`)).toBe('"the text"');
    expect(failureConverter(`${FIRST},only`).failureConverterPath).toContain('encoded-failures.ts');
    expect(() => createPayloadCodec(`plain,${FIRST},only`)).toThrow('cannot begin with plain');
    expect(() => createPayloadCodec('only')).toThrow('TEMPORAL_CODEC_KEYS');
  });

  it('names a malformed key without its content', () => {
    expect(() => createPayloadCodec('1:c2hvcnQ=')).toThrow(
      'TEMPORAL_CODEC_KEYS: the key 1 has 5 bytes instead of 32',
    );
    expect(() => createPayloadCodec('plain')).toThrow('TEMPORAL_CODEC_KEYS');
  });
});
