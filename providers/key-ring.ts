/**
 * The keys of an environment variable by their ids: `id:base64,id2:base64`, 32 bytes each. The first is used for
 * what is made from now on, all for what was made before.
 * @param variable names it in errors.
 * @throws with the id of the key that is malformed, never with its content.
 */
export function readKeyRing(variable: string, text: string): Map<string, Buffer> {
  const ring = new Map<string, Buffer>();
  for (const [index, entry] of text.split(',').entries()) {
    const [, id = '', base64 = ''] = /^([\w-]+):([A-Za-z0-9+/_-]+=*)$/.exec(entry.trim()) ?? [];
    if (id === '') throw new Error(`${variable}: entry ${index + 1} is not of the form id:base64`);
    const key = Buffer.from(base64, 'base64');
    if (key.length !== 32)
      throw new Error(`${variable}: the key ${id} has ${key.length} bytes instead of 32`);
    if (ring.has(id)) throw new Error(`${variable}: the id ${id} occurs twice`);
    ring.set(id, key);
  }
  return ring;
}
